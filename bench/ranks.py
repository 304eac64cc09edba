#!/usr/bin/env python3
"""How the verdict on many ranks grows: digests of thousands of ranks are made from those of two real ones.

One rank is late (its loader cannot keep up), every rank comes a few microseconds earlier or later than the next, and
the clocks of the second half are 7 ms ahead. Printed are the CPU seconds and the peak memory of `whyidle merge`, and
whether the late rank was named.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "testdata" / "straggler_data"


def digests(program: Path, folder: Path) -> list[dict]:
    out = folder / "real.gz"
    subprocess.run([program, "digest", RUN, "-o", out], check=True, stderr=subprocess.DEVNULL)
    return [json.loads(line) for line in gzip.open(out, "rt")]


def variant(digest: dict, rank: int, ranks: int, late: bool) -> dict:
    """The digest as that of `rank` of `ranks`; columns are differences from row to row."""
    ahead = 7_000_000 if rank >= ranks // 2 else 0
    early = 0 if late else rank * 2_654_435_761 % 5_000
    facts = json.loads(json.dumps(digest["facts"]))
    facts["rank"], facts["world_size"] = rank, ranks
    facts["groups"][0]["ranks"] = [[0, ranks]]
    rows = facts["rows"]
    rows["start"][0] += ahead - early
    rows["length"][0] += early
    return {**digest, "facts": facts}


def measured(command: list[str]) -> tuple[float, float, bytes]:
    """CPU seconds, peak memory in MB, and the output."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "whyidle")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[64, 1024, 4096])
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-") as name:
        folder = Path(name)
        fast, slow = digests(options.program, folder)
        wrong = False
        for ranks in options.ranks:
            late = ranks * 3 // 5
            path = folder / f"{ranks}.gz"
            with gzip.open(path, "wt", compresslevel=1) as file:
                for rank in range(ranks):
                    one = slow if rank == late else fast
                    file.write(json.dumps(variant(one, rank, ranks, rank == late), separators=(",", ":")) + "\n")
            cpu, memory, output = measured([options.program, "merge", path, "--format", "json"])
            verdict = json.loads(output)
            named = [finding["rank"] for finding in verdict["findings"] if finding["cause"] == "rank.straggler"]
            right = named == [late] and verdict["verdict"]["primary"] == "rank.straggler"
            wrong |= not right
            size = path.stat().st_size / ranks / 1024
            print(f"{ranks:5} ranks  {cpu:6.2f} CPU-s  {memory:6.0f} MB  {size:5.1f} KB a digest  "
                  f"late rank {'named' if right else f'WRONG: {named}'}")
        return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
