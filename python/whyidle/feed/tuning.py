"""Which settings of a ``DataLoader`` pay, measured in a minute.

Two settings are measured in turn, several times, and judged by the median of the ratios of each turn: what disturbs the
machine for a while disturbs both. Workers are doubled while that pays, also beyond the number of cores: workers that
wait for a disk or a network need none.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler

from whyidle.feed.prefetch import map_tensors

__all__ = ["LoaderSetting", "Point", "TuneError", "TuneResult", "search", "tune_loader"]


class TuneError(RuntimeError):
    """The loader failed while it was measured; the message says with which settings."""


@dataclass(frozen=True)
class LoaderSetting:
    """Arguments of a ``DataLoader`` that are searched."""

    workers: int = 0
    prefetch: int = 2
    """Batches ahead a worker; without workers it means nothing."""
    pin: bool = False

    @property
    def kwargs(self) -> dict[str, Any]:
        """As ``DataLoader`` takes them."""
        kwargs: dict[str, Any] = {"num_workers": self.workers, "pin_memory": self.pin}
        if self.workers:
            kwargs |= {"prefetch_factor": self.prefetch, "persistent_workers": True}
        return kwargs


@dataclass
class Point:
    """What was measured of one setting."""

    setting: LoaderSetting
    seconds: list[float] = field(default_factory=list)
    """Time a batch in seconds, wall, once for each measurement; workers' start is not in it."""
    memory: int | None = None
    """Most bytes that its workers held together, shared pages split among them (PSS); ``None`` where unknown."""
    outcome: str = ""
    """``taken``, ``no gain``, or ``memory``."""


@dataclass(frozen=True)
class TuneResult:
    """The settings that paid, and what they were chosen from."""

    kwargs: dict[str, Any]
    """For ``DataLoader(dataset, batch_size=…, **kwargs)``."""
    curve: list[Point]
    """Every setting that was tried, in order."""
    seconds: float
    """Median time a batch with the chosen settings, in seconds."""
    reason: str
    """Why the search for workers ended."""

    def __str__(self) -> str:
        rows = ["workers  prefetch  pin    ms a batch  memory MB  outcome"]
        for point in self.curve:
            setting = point.setting
            took = f"{statistics.median(point.seconds) * 1e3:10.2f}" if point.seconds else " " * 9 + "-"
            memory = "-" if point.memory is None else f"{point.memory / 1e6:.0f}"
            prefetch = str(setting.prefetch) if setting.workers else "-"
            rows.append(f"{setting.workers:7}  {prefetch:>8}  {setting.pin!s:5}  {took}  {memory:>9}  {point.outcome}")
        return "\n".join([*rows, f"{self.kwargs}: {self.reason}"])


#: Measures one setting: seconds a batch, and bytes or ``None``.
Measure = Callable[[LoaderSetting], tuple[float, "int | None"]]


def tune_loader(
    dataset: Any,
    batch_size: int,
    *,
    step_seconds: float | None = None,
    max_workers: int | None = None,
    batches: int = 16,
    seconds: float = 3.0,
    rounds: int = 3,
    gain: float = 0.05,
    memory_limit: int | None = None,
    seed: int = 0,
    **loader: Any,
) -> TuneResult:
    """Find the workers, the prefetch factor and the pinning with which a loader is fast, by short measurements.

    Where there is a CUDA device, each batch is copied to it, so that pinning shows what it saves.

    Args:
        dataset: As for ``DataLoader``.
        batch_size: Samples a batch.
        step_seconds: Time of a training step without its wait for data. The search ends once a batch takes at most 80 %
            of it: more brings nothing.
        max_workers: Most workers that are tried; by default four times the cores this process may use.
        batches: Batches of one measurement; at least two for each worker.
        seconds: No measurement is begun anew with another batch after this time, once each worker gave one.
        rounds: How often each pair of settings is measured.
        gain: Share of the time a batch that a setting must save to be taken.
        memory_limit: Most bytes that workers may hold together; by default 80 % of what is available. A number of
            workers that would go beyond, by what half of them held, is not tried.
        seed: Of the samples that are read.
        loader: Further arguments of ``DataLoader`` (``collate_fn``, ``worker_init_fn``, …).

    Raises:
        TuneError: Where the data set fails or a worker dies. No process is left behind, then or after Ctrl-C.
        ValueError: For arguments that mean nothing.
    """
    if batch_size < 1 or batches < 1 or rounds < 1:
        raise ValueError("batch_size, batches and rounds are at least 1")
    searched = {"num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "batch_sampler", "sampler"}
    if searched & loader.keys():
        raise ValueError(f"{', '.join(sorted(searched & loader.keys()))}: this is what is searched or measured with")
    if not isinstance(dataset, IterableDataset) and not len(dataset):
        raise ValueError("the data set is empty")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cuda = torch.cuda.is_available()

    def measure(setting: LoaderSetting) -> tuple[float, int | None]:
        return _measured(dataset, batch_size, setting, loader, batches, seconds, seed, cuda)

    return search(
        measure,
        max_workers=4 * cores if max_workers is None else max_workers,
        rounds=rounds,
        gain=gain,
        step_seconds=step_seconds,
        memory_limit=_available() if memory_limit is None else memory_limit,
        pin=cuda,
    )


def search(
    measure: Measure,
    *,
    max_workers: int,
    rounds: int = 3,
    gain: float = 0.05,
    step_seconds: float | None = None,
    memory_limit: int | None = None,
    pin: bool = False,
) -> TuneResult:
    """The search itself, which depends on nothing but what ``measure`` says; see :func:`tune_loader`."""
    best = Point(LoaderSetting(), outcome="taken")
    curve = [best]
    reason = f"{max_workers} workers are the most that were to be tried"
    before: Point | None = None
    missed, workers = 0, 1
    while workers <= max_workers:
        if step_seconds is not None and best.seconds and statistics.median(best.seconds) <= 0.8 * step_seconds:
            reason = "the loader is faster than the step"
            break
        point = Point(LoaderSetting(workers))
        curve.append(point)
        held = None if before is None or before.memory is None else before.memory / before.setting.workers
        if memory_limit is not None and held is not None and held * workers > memory_limit:
            point.outcome, reason = "memory", "more workers would need more memory than the limit"
            break
        better = _is_better(measure, best, point, rounds, gain)
        before = point
        if memory_limit is not None and point.memory is not None and point.memory > memory_limit:
            point.outcome, reason = "memory", "more workers need more memory than the limit"
            break
        if better:
            point.outcome, best, missed = "taken", point, 0
        else:
            point.outcome, missed = "no gain", missed + 1
            # One doubling without a gain may be a start that has to pay first: one worker costs a copy.
            if missed == 2:
                reason = "two doublings brought nothing"
                break
        workers *= 2
    for prefetch in (4, 8) if best.setting.workers else ():
        point = Point(LoaderSetting(best.setting.workers, prefetch))
        curve.append(point)
        better = _is_better(measure, best, point, rounds, gain)
        over = memory_limit is not None and point.memory is not None and point.memory > memory_limit
        point.outcome = "memory" if over else "taken" if better else "no gain"
        if point.outcome != "taken":
            break
        best = point
    if pin:
        point = Point(LoaderSetting(best.setting.workers, best.setting.prefetch, pin=True))
        curve.append(point)
        point.outcome = "taken" if _is_better(measure, best, point, rounds, gain) else "no gain"
        best = point if point.outcome == "taken" else best
    if not best.seconds:
        best.seconds.append(measure(best.setting)[0])
    return TuneResult(best.setting.kwargs, curve, statistics.median(best.seconds), reason)


def _is_better(measure: Measure, best: Point, other: Point, rounds: int, gain: float) -> bool:
    """Whether the other setting saves at least ``gain``, by the median over rounds in which the two take turns."""
    ratios = []
    for turn in range(rounds):
        took = {}
        for point in (best, other) if turn % 2 == 0 else (other, best):
            took[id(point)], memory = measure(point.setting)
            point.seconds.append(took[id(point)])
            if memory is not None:
                point.memory = max(memory, point.memory or 0)
        ratios.append(took[id(other)] / took[id(best)])
    return statistics.median(ratios) <= 1 - gain


class _Endless(Sampler[list[int]]):
    """Random batches without an end, the same for every setting."""

    def __init__(self, size: int, batch_size: int, seed: int) -> None:
        self._size, self._batch_size, self._seed = size, batch_size, seed

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng(self._seed)
        while True:
            yield rng.integers(self._size, size=self._batch_size).tolist()


def _measured(
    dataset: Any,
    batch_size: int,
    setting: LoaderSetting,
    more: dict[str, Any],
    batches: int,
    seconds: float,
    seed: int,
    cuda: bool,
) -> tuple[float, int | None]:
    """Seconds a batch once every worker gave one, and the memory of the workers in bytes.

    The consumer takes each batch at once, so no store of batches builds up that would flatter the next measurement.
    """
    kwargs: dict[str, Any] = {**more, **setting.kwargs}
    if isinstance(dataset, IterableDataset):
        kwargs["batch_size"] = batch_size
    else:
        kwargs["batch_sampler"] = _Endless(len(dataset), batch_size, seed)
    others = set(multiprocessing.active_children())
    iterator: Any = None
    try:
        loader = DataLoader(dataset, **kwargs)
        iterator = iter(loader)
        taken, start = -max(1, setting.workers), 0.0
        wanted = max(batches, 2 * setting.workers)
        while taken < wanted:
            try:
                batch = next(iterator)
            except StopIteration:
                iterator = iter(loader)  # A stream that ended: workers are kept.
                batch = next(iterator, None)
                if batch is None:
                    raise ValueError("the data set gives no batch") from None
            _consumed(batch, setting.pin, cuda)
            taken += 1
            if taken == 0:
                start = time.perf_counter()
            if taken >= max(1, setting.workers) and time.perf_counter() - start > seconds:
                break
        took = (time.perf_counter() - start) / taken
        workers = set(multiprocessing.active_children()) - others
        return took, _held([worker.pid for worker in workers if worker.pid is not None])
    except Exception as error:
        raise TuneError(f"the loader failed with {setting.kwargs}: {error}") from error
    finally:
        if iterator is not None and hasattr(iterator, "_shutdown_workers"):
            iterator._shutdown_workers()
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
            worker.join()


def _consumed(batch: Any, pinned: bool, cuda: bool) -> None:
    if cuda:
        map_tensors(batch, lambda tensor: tensor.to("cuda", non_blocking=pinned))
        torch.cuda.current_stream().synchronize()


def _held(processes: list[int]) -> int | None:
    """Bytes that processes hold, shared pages split among all that share them; ``None`` off Linux."""
    total = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            return None
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def _available() -> int | None:
    """80 % of the bytes that the machine, or the group this process is confined to, has left; ``None`` off Linux."""
    left = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                left.append(int(line.split()[1]) * 1024)
        group = Path("/sys/fs/cgroup")
        left.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # No such file, or `max`: no limit.
        pass
    return int(0.8 * min(left)) if left else None
