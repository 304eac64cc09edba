"""Time that goes into something else than a step: evaluation, saves, waiting for a batch."""

from __future__ import annotations

import threading
from time import perf_counter_ns

__all__ = ["DATA", "Phases"]

#: The phase of waiting for the loader's next batch; it is part of a step.
DATA = "data"


class Phases:
    """For each phase the time in which it was open anywhere: the union over threads and nesting, in ns.

    ``outside_ns`` is the union over all phases but :data:`DATA`: what is left of the run is training.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By name: how often it is open, since when, and the time so far.
        self._open: dict[str, list[int]] = {}
        self._outside = [0, 0, 0]

    def enter(self, name: str, now_ns: int | None = None) -> None:
        """Open a phase."""
        now = perf_counter_ns() if now_ns is None else now_ns
        with self._lock:
            _enter(self._open.setdefault(name, [0, 0, 0]), now)
            if name != DATA:
                _enter(self._outside, now)

    def leave(self, name: str, now_ns: int | None = None) -> None:
        """Close it; without being open nothing happens."""
        now = perf_counter_ns() if now_ns is None else now_ns
        with self._lock:
            phase = self._open.get(name)
            if phase is None or phase[0] == 0:
                return
            _leave(phase, now)
            if name != DATA:
                _leave(self._outside, now)

    def is_open(self, name: str) -> bool:
        """That phase is open now."""
        phase = self._open.get(name)
        return phase is not None and phase[0] > 0

    @property
    def is_outside(self) -> bool:
        """A phase other than :data:`DATA` is open now."""
        return self._outside[0] > 0

    def totals(self, now_ns: int | None = None) -> tuple[dict[str, int], int]:
        """The time of each phase, and of all but :data:`DATA` together; what is open counts until now. ns."""
        now = perf_counter_ns() if now_ns is None else now_ns
        with self._lock:
            return {name: _total(phase, now) for name, phase in self._open.items()}, _total(self._outside, now)


def _enter(phase: list[int], now: int) -> None:
    if phase[0] == 0:
        phase[1] = now
    phase[0] += 1


def _leave(phase: list[int], now: int) -> None:
    phase[0] -= 1
    if phase[0] == 0:
        phase[2] += max(0, now - phase[1])


def _total(phase: list[int], now: int) -> int:
    return phase[2] + (max(0, now - phase[1]) if phase[0] else 0)
