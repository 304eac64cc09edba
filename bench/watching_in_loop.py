#!/usr/bin/env python3
"""Measures what `whyidle.watch()` costs a training loop: step time with it against step time without, in one process.

A small transformer trains without a pause. Blocks of steps with a watch and without alternate, and so does their
order within a pair, so that a drift of the machine hits both alike. Each pair gives one ratio of step times; their
mean is printed with its 95 % interval (Student's t), and their median with its own, which order statistics give (the
sign test turned round) and which asks nothing of the ratios' spread: the host's hiccups give a loop that launches
bind heavy tails, to which a mean is no guide. `--json` keeps every pair's ratio. What is measured is a watch in its
everyday state: it has begun, samples from outside and has no trace to take; the trace is measured by itself, once, as
the time that it takes from the program. A block's clock is stopped by one synchronisation, of this script, not of the
watch.

    PYTHONPATH=python python bench/watching_in_loop.py --device cuda

`whyidle` must be on PATH, for the samples; --no-samples leaves them out: the difference is the sampler's part.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import platform
import statistics
import sys
import tempfile
import time
from typing import Any

import torch

import whyidle

GOAL = 0.005
#: Two-sided 95 % points of Student's t, by degrees of freedom; beyond, the normal's.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--pairs", type=int, default=24, help="pairs of blocks")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a block")
    parser.add_argument("--width", type=int, help="width of the model; sets the length of a step")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--no-samples", action="store_true", help="no `whyidle attach` beside it")
    parser.add_argument("--launch-bound", action="store_true", help="many small steps: the host is the limit")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    found = parser.parse_args()
    on_gpu = found.device == "cuda"
    small = (
        {"width": 256, "layers": 4, "batch": 4, "length": 128}
        if on_gpu
        else {"width": 64, "layers": 2, "batch": 4, "length": 32}
    )
    usual = (
        {"width": 1024, "layers": 12, "batch": 16, "length": 1024}
        if on_gpu
        else {"width": 128, "layers": 2, "batch": 4, "length": 32}
    )
    for name, value in (small if found.launch_bound else usual).items():
        if getattr(found, name) is None:
            setattr(found, name, value)
    return found


class Loop:
    """A loop that trains, with a loader in the process."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.device = torch.device(options.device)
        width = options.width
        self.words = 8192 if options.device == "cuda" else 256
        layer = torch.nn.TransformerEncoderLayer(width, max(1, width // 64), 4 * width, batch_first=True, dropout=0.0)
        self.embed = torch.nn.Embedding(self.words, width).to(self.device)
        self.net = torch.nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False).to(self.device)
        parameters = [*self.embed.parameters(), *self.net.parameters()]
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-5)
        ids = torch.randint(0, self.words, (64 * options.batch, options.length))
        rows = torch.utils.data.TensorDataset(ids)
        self.loader = torch.utils.data.DataLoader(rows, batch_size=options.batch)
        self.batches = iter(self.loader)

    def step(self) -> None:
        try:
            (ids,) = next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            (ids,) = next(self.batches)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self.net(self.embed(ids.to(self.device))).float().square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        whyidle.step()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def block(self, steps: int) -> float:
        """ms per step of so many."""
        self.wait()
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.wait()
        return 1e3 * (time.perf_counter() - begin) / steps


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half its 95 % interval."""
    at = len(values) - 2
    t = STUDENT[at] if at < len(STUDENT) else 1.96 + 2.4 / (at + 1)
    return statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def median_interval(values: list[float]) -> tuple[float, float, float] | None:
    """The median and the two values around it that hold it at 95 % or more, whatever the values' distribution.

    The k-th value from either end, with the largest k for which a fair coin thrown once per value falls k - 1 times
    or fewer on one side in 2.5 % of all tries at most. None under six values: no such k.
    """
    ordered, count = sorted(values), len(values)
    k, below = 0, 0
    while 40 * (below + math.comb(count, k)) <= 2**count:
        below += math.comb(count, k)
        k += 1
    return (statistics.median(ordered), ordered[k - 1], ordered[count - k]) if k else None


def paused(watch: Any, is_paused: bool) -> None:
    """Takes the watch's hands off the loop and the sampler off the machine, or puts them back."""
    from whyidle.loop import current

    current.put(None if is_paused else watch)
    for part, module in ((watch._optimizers, "torch.optim.optimizer"), (watch._loaders, "torch.utils.data.dataloader")):
        part.disarm() if is_paused else part.arm(sys.modules[module])


def sampler(watch: Any, is_stopped: bool) -> None:
    import signal

    child = watch._sampler._child
    if child is not None and child.poll() is None:
        child.send_signal(signal.SIGSTOP if is_stopped else signal.SIGCONT)


def overhead(loop: Loop, options: argparse.Namespace, folder: str) -> dict[str, Any]:
    watch = whyidle.watch(
        f"{folder}/steps", sample=not options.no_samples, sample_s=3600, trace_steps=0, report=False
    ).start()
    for _ in range(20):
        loop.step()
    steps = max(5, round(1e3 * options.seconds / loop.block(20)))
    ratios, with_it, without = [], [], []
    for pair in range(options.pairs):
        found = {}
        for watched in (True, False) if pair % 2 == 0 else (False, True):
            paused(watch, not watched)
            sampler(watch, not watched)
            loop.block(max(2, steps // 20))
            found[watched] = loop.block(steps)
        with_it.append(found[True])
        without.append(found[False])
        ratios.append(found[True] / found[False] - 1)
        print(f"\r{pair + 1}/{options.pairs}", end="", file=sys.stderr)
    print(file=sys.stderr)
    paused(watch, False)
    sampler(watch, False)
    watch.close()
    mean, half = interval(ratios)
    middle = median_interval(ratios)
    return {
        "ms_without": statistics.median(without),
        "ms_with": statistics.median(with_it),
        "cost": mean,
        "cost_low": mean - half,
        "cost_high": mean + half,
        "cost_median": middle and middle[0],
        "cost_median_low": middle and middle[1],
        "cost_median_high": middle and middle[2],
        "ratios": ratios,
        "steps_per_block": steps,
        "recorded": json.loads(pathlib.Path(folder, "steps", "recording.json").read_text())["in_loop"]["steps"],
        "faults": watch.faults.first,
    }


def hands(loop: Loop, calls: int = 20_000) -> float:
    """µs that a call of `whyidle.step()` takes from the host, by itself and with the GPU idle."""
    watch = whyidle.watch(tempfile.mkdtemp(), sample=False, trace_steps=0, report=False).start()
    for _ in range(100):
        whyidle.step()
    begin = time.perf_counter()
    for _ in range(calls):
        whyidle.step()
    took = 1e6 * (time.perf_counter() - begin) / calls
    watch.close()
    return took


def trace(loop: Loop, options: argparse.Namespace, folder: str, step_ms: float) -> dict[str, Any]:
    """What one trace takes from the program: the time of the steps around it beyond so many usual ones."""
    steps_each = max(5, round(1e3 * options.seconds / step_ms))
    before = statistics.median(loop.block(steps_each) for _ in range(5))
    watch = whyidle.watch(f"{folder}/trace", sample=False, trace_steps=6, trace_after_s=0, report=False).start()
    most = 400
    taken, begin, steps = None, 0.0, 0
    for _ in range(most):
        was = watch._tracer.trace
        if was is None:
            loop.wait()
            begin, steps = time.perf_counter(), 0
        loop.step()
        steps += 1
        if was is not None and watch._tracer.trace is None:
            loop.wait()
            taken = 1e3 * (time.perf_counter() - begin) - step_ms * steps
            break
    watch.close()
    after = statistics.median(loop.block(steps_each) for _ in range(5))
    file = pathlib.Path(folder, "trace", "trace_rank0.json.gz")
    return {
        "trace_ms": taken,
        "trace_bytes": file.stat().st_size if file.exists() else None,
        "later": after / before - 1,
    }


def main() -> None:
    options = arguments()
    torch.manual_seed(0)
    loop = Loop(options)
    for _ in range(10):
        loop.step()
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-") as folder:
        figures = overhead(loop, options, folder)
        figures["step_us"] = hands(loop)
        figures.update(trace(loop, options, folder, figures["ms_without"]))
    figures.update(
        device=torch.cuda.get_device_name() if options.device == "cuda" else platform.machine(),
        torch=torch.__version__,
        pairs=options.pairs,
        samples=not options.no_samples,
    )
    print(
        f"{figures['device']} · torch {figures['torch']} · {options.pairs} pairs of {figures['steps_per_block']} steps"
    )
    print(f"a step without the watch  {figures['ms_without']:8.3f} ms")
    print(f"a step with it            {figures['ms_with']:8.3f} ms")
    low, high = 100 * figures["cost_low"], 100 * figures["cost_high"]
    print(
        f"cost, mean of the pairs   {100 * figures['cost']:+8.3f} %   "
        f"95 %: {low:+.3f} to {high:+.3f}   goal: ≤ {100 * GOAL:g} %"
    )
    if figures["cost_median"] is not None:
        low, high = 100 * figures["cost_median_low"], 100 * figures["cost_median_high"]
        print(f"cost, median of the pairs {100 * figures['cost_median']:+8.3f} %   95 %: {low:+.3f} to {high:+.3f}")
    print(f"whyidle.step() alone      {figures['step_us']:8.2f} µs")
    if figures["trace_ms"] is not None:
        print(
            f"one trace of 6 steps      {figures['trace_ms']:8.0f} ms more than those steps, "
            f"{figures['trace_bytes'] / 1e6:.1f} MB"
        )
        print(f"steps after it            {100 * figures['later']:+8.2f} %    of those before, not paired")
    if figures["faults"]:
        print(f"the watch failed: {figures['faults']}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
