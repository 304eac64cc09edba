#!/usr/bin/env python3
"""The parts that feed a GPU, each beside what it replaces, in one training loop on this machine's GPU.

    python bench/feed_gpu.py --program target/release/whyidle     # about five minutes; needs torch and tokenizers
    python bench/feed_gpu.py --program … --device cpu --small     # a try without a GPU

Each row trains the same GPT twice in blocks of steps that take turns (A B, B A, …). A block makes its loader anew, warms
up, and is timed from one synchronisation to the next. The difference is the mean of the pairs' differences, with its 95 %
interval by Student's t. Text is the Python library's own sources.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from whyidle import AsyncCheckpointer, BucketSampler, Prefetcher, TokenDataset, TokenSampler  # noqa: E402

VOCABULARY = 16_000
#: 97.5 % quantiles of Student's t, by degrees of freedom.
T975 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def documents() -> list[str]:
    """Sources of the Python library, at least 4 000 characters each, 12 million in all."""
    found: list[str] = []
    for path in sorted(Path(os.__file__).parent.rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) >= 4000:
            found.append(text)
        if sum(map(len, found)) > 12_000_000:
            break
    return found


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, width // 64, 64).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.second(x))))


class Training:
    """A GPT of ``width`` and ``layers``, with AdamW in bfloat16 autocast."""

    def __init__(self, device: str, width: int, layers: int) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(
            nn.Embedding(VOCABULARY, width), *[Block(width) for _ in range(layers)], nn.Linear(width, VOCABULARY)
        ).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=device == "cuda")

    def step(self, ids: torch.Tensor) -> None:
        """One step on token ids, shape ``(batch, length + 1)``, on the device or not."""
        ids = ids.to(self.device, non_blocking=True)
        with torch.autocast(self.device, torch.bfloat16):
            logits = self.model(ids[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def state(self) -> dict[str, Any]:
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}


Batches = Callable[[], Iterator[torch.Tensor]]


def block(training: Training, batches: Batches, warm: int, steps: int) -> float:
    """Milliseconds of a step."""
    source = batches()
    for _ in range(warm):
        training.step(next(source))
    training.wait()
    start = time.perf_counter()
    for _ in range(steps):
        training.step(next(source))
    training.wait()
    took = (time.perf_counter() - start) / steps * 1e3
    del source
    return took


def paired(a: Callable[[], float], b: Callable[[], float], pairs: int) -> tuple[list[float], list[float]]:
    first, second = [], []
    for pair in range(pairs):
        for one, into in ((a, first), (b, second)) if pair % 2 == 0 else ((b, second), (a, first)):
            into.append(one())
    return first, second


def compared(what: str, unit: str, a: list[float], b: list[float], more: str = "") -> dict[str, Any]:
    """A row: medians, and the relative difference of the pairs."""
    changes = [(after / before - 1) * 100 for before, after in zip(a, b, strict=True)]
    mean = statistics.mean(changes)
    half = T975[len(changes) - 1] * statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else math.inf
    print(
        f"| {what} | {statistics.median(a):.2f} {unit} | {statistics.median(b):.2f} {unit} "
        f"| {mean:+.1f} % ({mean - half:+.1f} … {mean + half:+.1f}) | {more} |",
        flush=True,
    )
    return {"what": what, "unit": unit, "before": a, "after": b, "change_percent": [mean, mean - half, mean + half]}


class OnTheFly(torch.utils.data.Dataset[torch.Tensor]):
    """Tokenises in the loader, as programs do that never did it ahead: item ``i`` is a window of a document."""

    def __init__(self, texts: list[str], tokenizer: str, length: int) -> None:
        self.texts, self.path, self.length, self.tokenizer = texts, tokenizer, length, None

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, item: int) -> torch.Tensor:
        if self.tokenizer is None:
            from tokenizers import Tokenizer

            self.tokenizer = Tokenizer.from_file(self.path)
        text = self.texts[item % len(self.texts)]
        ids = self.tokenizer.encode(text[: 40 * self.length]).ids
        ids = (ids * (self.length // max(1, len(ids)) + 2))[: self.length + 1]
        return torch.tensor(ids)


def tokenising(training: Training, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    texts = documents()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<eos>"], show_progress=False)
    tokenizer.train_from_iterator(texts[:200], trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    with open(folder / "texts.jsonl", "w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    start = time.perf_counter()
    subprocess.run(
        [options.program, "tokenize", folder / "texts.jsonl", "--tokenizer", folder / "tokenizer.json", "--out",
         folder / "tokens"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    ahead = time.perf_counter() - start
    data = TokenDataset(folder / "tokens", options.length + 1)

    def loader(dataset: Any, workers: int, **more: Any) -> Any:
        return iter(
            torch.utils.data.DataLoader(
                dataset, options.batch, num_workers=workers, pin_memory=options.device == "cuda", drop_last=True, **more
            )
        )

    slow = OnTheFly(texts, str(folder / "tokenizer.json"), options.length)

    def before() -> float:
        return block(training, lambda: loader(slow, 2), options.warm, options.steps)

    def after() -> float:
        sampler = TokenSampler(len(data))
        return block(
            training, lambda: (ids.long() for ids in loader(data, 2, sampler=sampler)), options.warm, options.steps
        )

    a, b = paired(before, after, options.pairs)
    more = f"tokenised ahead once: {len(data) * (options.length + 1):,} tokens in {ahead:.1f} s"
    return compared("tokenised in two workers → `whyidle tokenize`, `TokenDataset`", "ms a step", a, b, more)


def bucketing(training: Training, options: argparse.Namespace) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    longest = options.length
    rungs = [longest // 16, longest // 8, longest // 4, longest // 2, longest]
    count = options.batch * options.steps * 4
    lengths = np.clip(rng.lognormal(math.log(longest / 6), 0.9, count).astype(int), 8, longest)
    samples = [torch.randint(1, VOCABULARY, (int(length) + 1,)) for length in lengths]
    sampler = BucketSampler(lengths, options.batch, rungs=rungs)
    real = int(lengths.sum())

    def padded(batch: list[int], length: int) -> torch.Tensor:
        out = torch.zeros(len(batch), length + 1, dtype=torch.long)
        for row, sample in enumerate(batch):
            out[row, : len(samples[sample])] = samples[sample]
        return out.pin_memory() if options.device == "cuda" else out

    def random_batches() -> list[torch.Tensor]:
        order = np.random.default_rng(1).permutation(count).tolist()
        batches = [order[at : at + options.batch] for at in range(0, count, options.batch)]
        return [padded(batch, max(int(lengths[sample]) for sample in batch)) for batch in batches]

    def bucketed() -> list[torch.Tensor]:
        return [padded(batch, sampler.rung_of(batch[0])) for batch in sampler]

    sets = {"random": random_batches(), "bucketed": bucketed()}

    def epoch(which: str) -> float:
        training.wait()
        start = time.perf_counter()
        for batch in sets[which]:
            training.step(batch)
        training.wait()
        return (time.perf_counter() - start) / real * 1e9

    for which in sets:  # Each shape once: kernels are chosen at their first use.
        epoch(which)
    report = sampler.report()
    a, b = paired(lambda: epoch("random"), lambda: epoch("bucketed"), options.pairs)
    more = f"padding {report.waste_before:.0%} → {report.waste_after:.0%}, log-normal lengths up to {longest}, an epoch"
    return compared("padded to the longest of a random batch → `BucketSampler`", "ns a real token", a, b, more)


def prefetching(training: Training, options: argparse.Namespace) -> dict[str, Any]:
    class Wide(torch.utils.data.Dataset[torch.Tensor]):
        """4 MiB of features a sample beside the ids, as vision and speech have."""

        def __len__(self) -> int:
            return 1 << 20

        def __getitem__(self, item: int) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
            return torch.full((options.length + 1,), item % VOCABULARY), torch.zeros(1 << 20 if big else 1 << 16)

    big = options.device == "cuda"

    def batches(ahead: bool) -> Iterator[torch.Tensor]:
        loader = torch.utils.data.DataLoader(Wide(), options.batch, num_workers=4, prefetch_factor=2)
        source = Prefetcher(loader, options.device) if ahead else loader
        for ids, wide in source:
            wide = wide.to(options.device)
            yield ids
            del wide

    a, b = paired(
        lambda: block(training, lambda: batches(False), options.warm, options.steps // 2),
        lambda: block(training, lambda: batches(True), options.warm, options.steps // 2),
        options.pairs,
    )
    return compared("pageable copies in the loop → `Prefetcher`", "ms a step", a, b, f"{options.batch * 4} MiB a batch")


def checkpointing(training: Training, folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What a save costs the loop: a block with one in its middle, less the same block without."""
    ids = torch.randint(1, VOCABULARY, (options.batch, options.length + 1), device=options.device)
    steps = options.checkpoint_steps

    def run(save: Callable[[], object] | None) -> tuple[float, float]:
        """Seconds of the whole, and those within the call."""
        training.wait()
        start, called = time.perf_counter(), 0.0
        for step in range(steps):
            training.step(ids)
            if save and step == 2:
                training.wait()  # So that the call is charged with the copy alone, not with the steps before it.
                before = time.perf_counter()
                save()
                called = time.perf_counter() - before
        training.wait()
        return time.perf_counter() - start, called

    target = folder / "plain.pt"

    def plain() -> None:
        with open(target, "wb") as file:
            torch.save(training.state(), file)
            file.flush()
            os.fsync(file.fileno())

    size = sum(
        value.nbytes for group in (training.model.parameters(),) for value in group
    ) + sum(value.nbytes for state in training.optimizer.state.values() for value in state.values() if torch.is_tensor(value))  # fmt: skip
    saver = AsyncCheckpointer(folder / "async", keep=1)
    saver.save(training.state(), 0)
    saver.wait()
    run(plain)
    unsynced, whole_plain, calls_plain, whole_ours, calls_ours, writes = [], [], [], [], [], []
    for pair in range(options.pairs):
        quiet, _ = run(None)
        whole, called = run(plain)
        whole_plain.append(whole - quiet)
        calls_plain.append(called)
        unsynced.append(run(lambda: torch.save(training.state(), target))[1])
        quiet, _ = run(None)
        begun = time.perf_counter()
        whole, called = run(lambda at=pair: saver.save(training.state(), at + 1))
        whole_ours.append(whole - quiet)
        calls_ours.append(called)
        saver.wait()
        writes.append(time.perf_counter() - begun)
    saver.close()
    found = saver.load()
    assert found is not None and found[0] == options.pairs
    for name, value in found[1]["model"].items():
        assert value.shape == training.model.state_dict()[name].shape
    more = f"{size / 1e9:.2f} GB; on the disk after {statistics.median(writes):.1f} s"
    blocked = statistics.median(calls_ours) / statistics.median(calls_plain)
    against = statistics.median(calls_ours) / statistics.median(unsynced)
    rows = [
        compared("`torch.save` and fsync → `AsyncCheckpointer`: the call", "s", calls_plain, calls_ours, more),
        compared("… what it costs the loop in all", "s", whole_plain, whole_ours, f"{steps} steps a block"),
        compared("`torch.save` alone → `AsyncCheckpointer`: the call", "s", unsynced, calls_ours),
    ]
    print(f"\nblocked: {blocked:.1%} of a synchronous save with fsync, {against:.1%} of `torch.save` alone")
    return rows


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default=shutil.which("whyidle"), help="whyidle, built with feature `feed`")
    arguments.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments.add_argument("--only", action="append", choices=["tokenise", "bucket", "prefetch", "checkpoint"])
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--folder", help="where files lie for the time of the run")
    arguments.add_argument("--json", type=Path, help="keep every figure here")
    arguments.add_argument("--small", action="store_true", help="a try: a small model, few steps")
    options = arguments.parse_args()
    if options.small:
        width, layers, options.batch, options.length, options.warm, options.steps = 64, 2, 4, 64, 1, 4
        options.checkpoint_steps, options.pairs = 4, min(options.pairs, 2)
    else:
        width, layers, options.batch, options.length, options.warm, options.steps = 1024, 12, 16, 1024, 10, 40
        options.checkpoint_steps = 60
    wanted = options.only or ["tokenise", "bucket", "prefetch", "checkpoint"]
    torch.set_float32_matmul_precision("high")
    name = torch.cuda.get_device_name() if options.device == "cuda" else "no GPU"
    print(f"{name}, {len(os.sched_getaffinity(0))} cores, torch {torch.__version__}, {options.pairs} pairs\n")
    print("| what | before | after | change (95 %) | |\n| --- | --- | --- | --- | --- |")
    rows = []
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-", dir=options.folder) as folder:
        training = Training(options.device, width, layers)
        if "tokenise" in wanted:
            rows.append(tokenising(training, Path(folder), options))
        if "bucket" in wanted:
            rows.append(bucketing(training, options))
        if "prefetch" in wanted:
            rows.append(prefetching(training, options))
        if "checkpoint" in wanted:
            rows += checkpointing(training, Path(folder), options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
