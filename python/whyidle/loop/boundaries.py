"""The boundaries of steps: how long each step took on the host's clock and on the GPU's, without the profiler."""

from __future__ import annotations

from collections import deque
from typing import Any

from whyidle.loop.durations import Durations, Summary
from whyidle.loop.events import GpuClock
from whyidle.loop.steady import Steady

__all__ = ["Boundaries"]

#: Single step times that are kept, the latest.
_KEPT = 4096
#: Steps whose time on the GPU is awaited.
_AWAITED = 256
#: With fewer steps on the GPU's clock the host's counts.
_FEWEST = 3


class Boundaries:
    """The steps of a process.

    A step is clean if neither a profiler nor a phase of another kind – evaluation, a save – fell into it. Only clean
    steps count, from the sixteen on with which the step became steady; where it never did, all but the first.
    """

    def __init__(self) -> None:
        #: Steps that ended, clean or not.
        self.steps = 0
        #: Steps that were not clean.
        self.disturbed = 0
        self.steady = Steady()
        self._host = Durations()
        self._gpu = Durations()
        self._latest: deque[int] = deque(maxlen=_KEPT)
        self._at_ns: int | None = None
        self._clock = GpuClock(self._on_gpu)
        self._clean: deque[int] = deque(maxlen=_AWAITED)

    @property
    def is_first(self) -> bool:
        """No boundary yet."""
        return self._at_ns is None

    def mark(self, now_ns: int, is_clean: bool) -> bool:
        """A step ends now; true if it is the one with which steps became steady."""
        last, self._at_ns = self._at_ns, now_ns
        became_steady = False
        if last is not None:
            self.steps += 1
            if is_clean:
                took = now_ns - last
                self._clean.append(self.steps)
                became_steady = self._add(took)
            else:
                self.disturbed += 1
        self._clock.mark(self.steps)
        return became_steady

    def skip(self, now_ns: int) -> None:
        """A step ends now that a profiler saw: it counts for nothing, and no event is placed."""
        if self._at_ns is not None:
            self.steps += 1
            self.disturbed += 1
        self._at_ns = now_ns

    def _add(self, took: int) -> bool:
        self._latest.append(took)
        self._host.add(took)
        if not self.steady.add(took):
            return False
        # What came before was the start.
        self._host, self._gpu = Durations(), Durations()
        for ns in self.steady.recent:
            self._host.add(ns)
        self._latest = deque(self.steady.recent, maxlen=_KEPT)
        return True

    def _on_gpu(self, number: int, ns: int) -> None:
        clean = self._clean
        while clean and clean[0] < number:
            clean.popleft()
        if clean and clean[0] == number:
            clean.popleft()
            # The first step holds what is done once.
            if number > 1:
                self._gpu.add(ns)

    @property
    def typical_ns(self) -> int:
        """The median step so far on the host's clock, ns; 0 before the first."""
        return self._host.quantile(0.5)

    def summary(self) -> tuple[str, Summary]:
        """Which clock counts, ``gpu`` or ``host``, and what its steps come to."""
        self._clock.read()
        if self._gpu.count >= _FEWEST:
            return "gpu", self._gpu.summary()
        if self.steady.reached or len(self._latest) < 2:
            return "host", self._host.summary()
        later = Durations()
        for ns in list(self._latest)[1:]:
            later.add(ns)
        return "host", later.summary()

    def members(self) -> dict[str, Any]:
        """What a recording says of steps; nothing where none was clean."""
        clock, summary = self.summary()
        found: dict[str, Any] = {"steps_host_ms": [round(ns / 1e6, 4) for ns in self._latest]}
        if summary.count:
            found["step_ms_mean"] = round(summary.mean_ns / 1e6, 6)
            found["timed_steps"] = summary.count
        found["steps"] = {
            "clock": clock,
            "all": self.steps,
            "disturbed": self.disturbed,
            "median_ns": summary.median_ns,
            "pauses": summary.pauses,
            "pauses_ns": summary.pauses_ns,
            "steady": self.steady.reached,
        }
        return found
