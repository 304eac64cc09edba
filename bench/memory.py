#!/usr/bin/env python3
"""What reading a large CUDA memory snapshot costs: CPU seconds and peak memory of `whyidle diagnose`.

Snapshots of about `--bytes` are made with stacks of different depths: the shallower, the more events in as many bytes. The
exit status is 1 where the peak memory is above `--most` MB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAKE = ROOT / "crates" / "whyidle-readers" / "testdata" / "memory" / "make.py"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "whyidle")
    arguments.add_argument("--bytes", type=float, default=1.02e9)
    arguments.add_argument("--depths", type=int, nargs="+", default=[40, 6])
    arguments.add_argument("--most", type=float, default=400, help="MB of 10^6 bytes")
    options = arguments.parse_args()
    wrong = False
    print("| frames a stack | bytes | events | CPU s | peak MB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-") as folder:
        path = Path(folder) / "snapshot.pickle"
        for depth in options.depths:
            made = subprocess.run(
                [sys.executable, MAKE, "large", str(options.bytes), path, str(depth)],
                check=True, capture_output=True, text=True,
            )
            events = made.stdout.split()[0]
            process = subprocess.Popen([options.program, "diagnose", path], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            peak = usage.ru_maxrss * 1024 / 1e6
            wrong |= status != 0 or peak > options.most
            print(f"| {depth} | {path.stat().st_size:,} | {int(events):,} | {usage.ru_utime + usage.ru_stime:.1f} | {peak:.0f} |")
            path.unlink()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
