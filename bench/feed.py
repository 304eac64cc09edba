#!/usr/bin/env python3
"""What the parts that feed a GPU cost and save, as one table. Needs PyTorch; no GPU, nor the `whyidle` program.

    nice python bench/feed.py            # about two minutes, 0.7 GB of disk
    python bench/feed.py --small         # a try

Times are wall times; of repeated ones the median is printed, with the least and the most. The exit status is 1 where a
checkpoint was lost, or an index of 10^8 tokens took 10 ms or more to open.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

from whyidle import AsyncCheckpointer, BucketSampler, Prefetcher, TokenDataset, TokenSampler, TokenWriter, pack  # noqa: E402

LENGTH = 1024


def times(run: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of each of several runs."""
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return took


def ms(took: list[float]) -> str:
    return f"{statistics.median(took) * 1e3:.2f} ms ({min(took) * 1e3:.2f}–{max(took) * 1e3:.2f})"


def row(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


def imports(repeats: int) -> None:
    """`import whyidle` in a new interpreter, without the interpreter's own start."""
    code = "import time; t = time.perf_counter(); import whyidle; print(time.perf_counter() - t)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}

    def one() -> float:
        return float(
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment).stdout
        )

    row("`import whyidle`", ms([one() for _ in range(repeats)]))


def tokens(folder: Path, count: int, repeats: int) -> bool:
    rng = np.random.default_rng(0)
    path = folder / "tokens.bin"
    with TokenWriter(path, format="megatron") as writer:
        left = count
        while left:
            length = min(left, int(rng.lognormal(6, 1)) + 1)
            writer.add(rng.integers(0, 50_257, size=length, dtype=np.uint16))
            left -= length
    opened = times(lambda: TokenDataset(path, LENGTH), repeats)
    row(f"open a Megatron index: {count:.0e} tokens", ms(opened))
    row(
        'the same, `documents="separate"`', ms(times(lambda: TokenDataset(path, LENGTH, documents="separate"), repeats))
    )
    data = TokenDataset(path, LENGTH)
    items = min(len(data), 20_000)

    def ours() -> None:
        for at, sequence in enumerate(TokenSampler(len(data))):
            if at == items:
                break
            data[sequence].sum()

    lines = folder / "tokens.jsonl"
    parsed = min(2000, items)
    with open(lines, "w") as file:
        for at in range(parsed):
            file.write(json.dumps({"tokens": data[at].tolist()}) + "\n")

    def theirs() -> None:
        with open(lines) as file:
            for line in file:
                torch.tensor(json.loads(line)["tokens"]).sum()

    fast, slow = [items / took for took in times(ours, 5)], [parsed / took for took in times(theirs, 5)]
    row(f"`TokenDataset`, shuffled, {LENGTH} tokens, each read once", f"{statistics.median(fast):,.0f} items/s")
    row("JSON lines of the same tokens, parsed", f"{statistics.median(slow):,.0f} items/s")
    row("ratio", f"{statistics.median(fast) / statistics.median(slow):.1f}×")
    large = TokenSampler(10**8, seed=1)
    row("first of 10^8 sequences in shuffled order", ms(times(lambda: next(iter(large)), repeats)))
    return statistics.median(opened) < 0.01 or count < 10**8


def padding() -> None:
    lengths = np.clip(np.random.default_rng(0).lognormal(6, 1, 200_000).astype(int), 1, 8192)
    report = BucketSampler(lengths, 16).report()
    row(
        "padding, 200 000 samples, log-normal, batches of 16",
        f"{report.waste_before:.1%} random, {report.waste_after:.1%} bucketed",
    )
    took = times(lambda: pack(lengths, 8192), 3)
    packing = pack(lengths, 8192)
    row(
        "the same packed into rows of 8192",
        f"{packing.waste:.2%} empty, {len(packing)} rows (no fewer than {packing.fewest_rows}), {ms(took)}",
    )


def prefetching() -> None:
    batches = [torch.ones(1)] * 5000
    plain, ahead = times(lambda: list(batches), 3), times(lambda: list(Prefetcher(batches, "cpu")), 3)
    row(
        "`Prefetcher`, cost of a batch on the CPU",
        f"{(statistics.median(ahead) - statistics.median(plain)) / 5000 * 1e6:.1f} µs",
    )


def checkpoints(folder: Path, megabytes: int, repeats: int) -> None:
    state = {f"layer{at}": torch.randn(megabytes * 1_000_000 // 4 // 8) for at in range(8)}
    target = folder / "plain.pt"

    def plain() -> None:
        with open(target, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    unsynced = times(lambda: torch.save(state, target), repeats)
    synced = times(plain, repeats)
    row(f"`torch.save`, {megabytes} MB: the training is blocked", ms(unsynced))
    row("`torch.save` and fsync", ms(synced))
    for format in ("torch", "safetensors"):
        blocked, whole = [], []
        with AsyncCheckpointer(folder / format, keep=1, format=format) as saver:
            saver.save(state, 0)
            saver.wait()
            for step in range(1, repeats + 1):
                start = time.perf_counter()
                saver.save(state, step)
                blocked.append(time.perf_counter() - start)
                saver.wait()
                whole.append(time.perf_counter() - start)
        row(f"`AsyncCheckpointer`, {format}: blocked", ms(blocked))
        row(f"`AsyncCheckpointer`, {format}: until on the disk", ms(whole))
        row("`torch.save` over blocked", f"{statistics.median(unsynced) / statistics.median(blocked):.1f}×")


def kills(folder: Path, count: int) -> bool:
    script = ROOT / "python" / "tests" / "kill_checkpoints.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    good = True
    for format in ("torch", "safetensors"):
        for more in ([], ["--outside"]):
            place = folder / f"kills-{format}-{len(more)}"
            command = [sys.executable, script, place, format, str(count // 4), *more]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if not done.stdout:
                raise SystemExit(done.stderr)
            found = json.loads(done.stdout)
            good &= not found["wrong"]
            how = "from outside, after a random time" if more else "by itself, before a random line"
            row(
                f"killed {how}: {format}",
                f"{found['kills']} kills in {found['runs']} runs, {found['partial']} within a write, "
                f"{len(found['wrong'])} lost",
            )
    return good


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--small", action="store_true", help="a try: less data, fewer kills")
    arguments.add_argument("--tokens", type=int, help="tokens of the file, 10^8 by default")
    arguments.add_argument("--megabytes", type=int, help="size of a checkpoint, 200 MB by default")
    arguments.add_argument("--kills", type=int, help="200 by default")
    arguments.add_argument("--folder", help="where the files lie for the time of the run; a disk, not memory")
    options = arguments.parse_args()
    count = options.tokens or (10**6 if options.small else 10**8)
    megabytes = options.megabytes or (20 if options.small else 200)
    killed = options.kills or (12 if options.small else 200)
    print("| what | figure |\n| --- | --- |")
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-", dir=options.folder) as name:
        folder = Path(name)
        imports(5)
        opened = tokens(folder, count, 20)
        padding()
        prefetching()
        checkpoints(folder, megabytes, 5)
        lost_none = kills(folder, killed)
    return 0 if opened and lost_none else 1


if __name__ == "__main__":
    sys.exit(main())
