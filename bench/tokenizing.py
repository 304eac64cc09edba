#!/usr/bin/env python3
"""What `whyidle tokenize` costs against `datasets.map` with the same fast tokenizer, and what reading tokens costs.

    make bench-tokenize                  # some minutes
    make bench-tokenize ARGS=--small     # a try

Needs the packages tokenizers, datasets, pyarrow, numpy and torch. The corpus is the source text of Python's library and
of the installed packages in documents of some two thousand characters, repeated until it is large enough; the tokenizer is a byte-level BPE with
32 000 tokens, trained on a part of it. All ways start from the same JSON lines and have the same number of processes or
threads. Memory is the largest sum of the processes' own shares (PSS), looked at every 20 ms. The exit status is 1 where a
goal is missed: no slower than the batched form, a quarter of its memory, three times as fast as the unbatched form.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

LENGTH = 1024
#: Characters of a document, as of a page of the web.
DOCUMENT = 2000
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}

MAP = """
import json, os, sys, time
import datasets
from tokenizers import Tokenizer
source, model, folder, form, cores = *sys.argv[1:5], int(sys.argv[5])
os.environ["TOKENIZERS_PARALLELISM"] = "false"
datasets.disable_progress_bars()
tokenizer = Tokenizer.from_file(model)
start = time.perf_counter()
data = datasets.load_dataset("json", data_files=source, split="train", cache_dir=folder)
loaded = time.perf_counter() - start
def batched(rows):
    return {"ids": [row.ids for row in tokenizer.encode_batch_fast(rows["text"], add_special_tokens=False)]}
def single(row):
    return {"ids": tokenizer.encode(row["text"], add_special_tokens=False).ids}
start = time.perf_counter()
done = data.map(batched if form == "batched" else single, batched=form == "batched", num_proc=cores, remove_columns=["text"])
mapped = time.perf_counter() - start
tokens = sum(len(chunk.values) for chunk in done.data.column("ids").chunks)
print(json.dumps({"load": loaded, "map": mapped, "tokens": tokens}))
"""


def texts() -> Iterator[str]:
    """Real text that every machine with Python has."""
    for place in dict.fromkeys((sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"])):
        for path in sorted(Path(place).rglob("*.py")):
            try:
                text = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if 200 < len(text) < 1_000_000:
                yield from (text[at : at + DOCUMENT] for at in range(0, len(text), DOCUMENT))


def corpus(path: Path, megabytes: int) -> list[str]:
    some, total = [], 0
    for text in texts():
        some.append(text)
        total += len(text)
        if total > 60_000_000:
            break
    size, at = 0, 0
    with open(path, "w") as file:
        while size < megabytes * 1_000_000:
            line = json.dumps({"text": some[at % len(some)]}) + "\n"
            size, at = size + len(line), at + 1
            file.write(line)
    return some


def train(path: Path, some: list[str]) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=32_000, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(some[:: max(1, len(some) // 6000)], trainer)
    tokenizer.save(str(path))


def tree(pid: int) -> list[int]:
    """A process and all that it started."""
    found, new = [], [pid]
    while new:
        found += new
        below = []
        for one in new:
            try:
                below += Path(f"/proc/{one}/task/{one}/children").read_text().split()
                for task in Path(f"/proc/{one}/task").iterdir():
                    if task.name != str(one):
                        below += (task / "children").read_text().split()
            except OSError:
                continue
        new = [int(child) for child in dict.fromkeys(below)]
    return found


def pss(pid: int) -> int:
    total = 0
    for one in tree(pid):
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


def measured(command: list[str]) -> tuple[float, float, int, str]:
    """Seconds on the clock, seconds of the processors, bytes at the peak, and what was printed."""
    before, start, peak = os.times(), time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, env={**os.environ, **OFFLINE})
        while process.poll() is None:
            peak = max(peak, pss(process.pid))
            time.sleep(0.02)
        took = time.perf_counter() - start
        after = os.times()
        if process.returncode:
            raise SystemExit(process.stderr.read() if process.stderr else "")
        out.seek(0)
        said = out.read()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return took, cpu, peak, said


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def against_datasets(options: argparse.Namespace, folder: Path, source: Path, model: Path) -> bool:
    size, cores = source.stat().st_size, options.cores
    print(f"{size / 1e6:.0f} MB of JSON lines, {cores} threads or processes, {options.rounds} rounds; medians\n")
    row("way", "wall s", "MB/s", "CPU s", "peak MB", "tokens")
    row(*["---"] * 6)
    found: dict[str, list[tuple[float, float, int, int]]] = {}
    script = folder / "map.py"
    script.write_text(MAP)
    for turn in range(options.rounds):
        ways = [
            ("whyidle tokenize", [options.program, "tokenize", str(source), "--tokenizer", str(model), "-o", str(folder / f"w{turn}"), "--threads", str(cores)]),
            ("map(batched=True)", [sys.executable, str(script), str(source), str(model), str(folder / f"b{turn}"), "batched", str(cores)]),
            ("map, one at a time", [sys.executable, str(script), str(source), str(model), str(folder / f"s{turn}"), "single", str(cores)]),
        ]  # fmt: skip
        # Who comes first alternates, so that a machine that warms or slows is fair to all.
        for name, command in ways[turn % 3 :] + ways[: turn % 3]:
            took, cpu, peak, said = measured(command)
            if name == "whyidle tokenize":
                tokens = json.loads((folder / f"w{turn}" / "tokens.json").read_text())["tokens"]
            else:
                about = json.loads(said.splitlines()[-1])
                tokens = about["tokens"]
                found.setdefault(f"{name}: the map alone", []).append((about["map"], float("nan"), 0, tokens))
            found.setdefault(name, []).append((took, cpu, peak, tokens))
    for name, rounds in found.items():
        took, cpu, peak, tokens = (statistics.median(one[at] for one in rounds) for at in range(4))
        more = [f"{cpu:.1f}", f"{peak / 1e6:.0f}"] if peak else ["", ""]
        row(name, f"{took:.1f}", f"{size / took / 1e6:.1f}", *more, f"{tokens:,.0f}")
    ours, batched, single = (found[name] for name in ("whyidle tokenize", "map(batched=True)", "map, one at a time"))
    same = len({one[3] for one in [*ours, *batched, *single]}) == 1
    alone = {name: statistics.median(one[0] for one in found[f"{name}: the map alone"]) for name in ("map(batched=True)", "map, one at a time")}
    wall = statistics.median(one[0] for one in ours)
    speed = alone["map(batched=True)"] / wall
    memory = statistics.median(one[2] for one in batched) / statistics.median(one[2] for one in ours)
    gain = alone["map, one at a time"] / wall
    print(
        f"\nThe map alone over whyidle from file to file: batched {speed:.2f}×, one at a time {gain:.2f}×; memory of the "
        f"batched form over whyidle's {memory:.1f}×; {'the same' if same else 'DIFFERENT'} number of tokens\n"
    )
    return same and speed >= 1 and memory >= 4 and gain >= 3


def reading(folder: Path, tokens: Path, rows: int) -> None:
    """Sequences of 1024 tokens as tensors, each read once in order and summed. Those of TokenDataset have one more, which
    the next begins with."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    from whyidle import TokenDataset, TokenWriter

    ids = np.fromfile(tokens, dtype=np.uint16)
    rows = min(rows, len(ids) // LENGTH)
    parts = ids[: rows * LENGTH].reshape(rows, LENGTH)
    with open(folder / "r.jsonl", "w") as file:
        file.writelines(json.dumps({"ids": part.tolist()}) + "\n" for part in parts)
    table = pa.table({"ids": pa.array(list(parts), type=pa.list_(pa.uint16()))})
    pq.write_table(table, folder / "r.parquet", row_group_size=1000)
    with pa.OSFile(str(folder / "r.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    parts.tofile(folder / "r.bin")
    with TokenWriter(folder / "m.bin", format="megatron") as writer:
        for part in parts:
            writer.add(part)

    def lines() -> int:
        with open(folder / "r.jsonl") as file:
            return sum(int(torch.tensor(json.loads(line)["ids"]).sum()) for line in file)

    def batches(read: Callable[[], Iterator[pa.RecordBatch]]) -> Callable[[], int]:
        def tensors() -> Iterator[torch.Tensor]:
            for batch in read():
                for one in batch.column("ids"):
                    # What Arrow holds cannot be written to, which torch warns of.
                    yield torch.from_numpy(one.values.to_numpy().copy())

        return lambda: sum(int(tensor.sum()) for tensor in tensors())

    def arrow() -> Iterator[pa.RecordBatch]:
        reader = pa.ipc.open_file(pa.memory_map(str(folder / "r.arrow")))
        return (reader.get_batch(at) for at in range(reader.num_record_batches))

    def mapped(path: str) -> Callable[[], int]:
        def read() -> int:
            data = TokenDataset(folder / path, LENGTH)
            return sum(int(data[at].sum()) for at in range(len(data)))

        return read

    row("form", "bytes per token", "sequences/s", "× JSON lines")
    row(*["---"] * 4)
    wanted, base = int(parts.sum(dtype=np.int64)), 0.0
    for name, files, read in [
        ("JSON lines of ids", ["r.jsonl"], lines),
        ("Parquet, a list of ids per row", ["r.parquet"], batches(lambda: pq.ParquetFile(folder / "r.parquet").iter_batches(1000))),
        ("Arrow, mapped, a list of ids per row", ["r.arrow"], batches(arrow)),
        ("`.bin`, TokenDataset", ["r.bin"], mapped("r.bin")),
        ("`.bin` and `.idx`, TokenDataset", ["m.bin", "m.idx"], mapped("m.bin")),
    ]:  # fmt: skip
        took = []
        for _ in range(5):
            start = time.perf_counter()
            assert abs(read() - wanted) < 0.01 * wanted, name
            took.append(time.perf_counter() - start)
        speed = rows / statistics.median(took)
        base = base or speed
        size = sum((folder / file).stat().st_size for file in files)
        row(name, f"{size / rows / LENGTH:.2f}", f"{speed:,.0f}", f"{speed / base:.1f}")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default="whyidle", help="the whyidle program, with its feature `feed`")
    arguments.add_argument("--small", action="store_true", help="a try: less text, one round")
    arguments.add_argument("--megabytes", type=int, help="of the corpus, 200 by default")
    arguments.add_argument("--rounds", type=int, help="3 by default")
    arguments.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="all by default")
    arguments.add_argument("--folder", help="where the files lie for the time of the run; a disk, not memory")
    options = arguments.parse_args()
    options.rounds = options.rounds or (1 if options.small else 3)
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-", dir=options.folder) as name:
        folder = Path(name)
        source, model = folder / "corpus.jsonl", folder / "tokenizer.json"
        some = corpus(source, options.megabytes or (20 if options.small else 200))
        train(model, some)
        del some
        good = against_datasets(options, folder, source, model)
        reading(folder, folder / "w0" / "tokens.bin", 2000 if options.small else 20_000)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
