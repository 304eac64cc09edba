"""Time that goes into something else than a step: evaluation, saves, waiting for a batch."""

from __future__ import annotations

import threading
from time import perf_counter_ns

__all__ = ["DATA", "Phases"]

#: The phase of waiting for the loader's next batch; it is part of a step.
DATA = "data"
#: What is left of the run; to name it is to name nothing.
_REST = "training"
#: Names that are told apart, and the letters of each; the rest is one phase.
_MOST, _LONGEST, _OTHER = 64, 100, "other"


class Phases:
    """For each phase the time in which it was open anywhere: the union over threads and nesting, in ns.

    ``outside_ns`` is the union over all phases but :data:`DATA`: what is left of the run is training.
    """

    def __init__(self) -> None:
        # A handler of a signal that saves and says so may come while this thread is in here.
        self._lock = threading.RLock()
        # By name: how often it is open, since when, and the time so far.
        self._open: dict[str, list[int]] = {}
        self._outside = [0, 0, 0]

    def enter(self, name: str, now_ns: int | None = None) -> None:
        """Open a phase."""
        now = perf_counter_ns() if now_ns is None else now_ns
        with self._lock:
            name = self._known(name)
            if name == _REST:
                return
            _enter(self._open.setdefault(name, [0, 0, 0]), now)
            if name != DATA:
                _enter(self._outside, now)

    def leave(self, name: str, now_ns: int | None = None) -> None:
        """Close it; without being open nothing happens."""
        now = perf_counter_ns() if now_ns is None else now_ns
        with self._lock:
            name = self._known(name)
            phase = self._open.get(name)
            if phase is None or phase[0] == 0:
                return
            _leave(phase, now)
            if name != DATA:
                _leave(self._outside, now)

    def is_open(self, name: str) -> bool:
        """That phase is open now."""
        phase = self._open.get(self._known(name))
        return phase is not None and phase[0] > 0

    def forked(self) -> None:
        """In the child after a fork: a thread that held the lock is not here to give it back."""
        self._lock = threading.RLock()

    def _known(self, name: str) -> str:
        if name in self._open or name is DATA:
            return name
        text = str(name)[:_LONGEST]
        return text if text in self._open or text in (DATA, _REST) or len(self._open) < _MOST else _OTHER

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
