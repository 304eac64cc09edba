"""When the time of a step has become steady."""

from __future__ import annotations

from collections import deque
from statistics import median

__all__ = ["Steady"]


class Steady:
    """Whether steps take the same time again and again.

    They do once the medians of the last eight and of the eight before differ by at most 10 %. A step that never settles
    – lengths that vary, a loader that comes in bursts – counts as steady after 100 steps, or after a minute and six
    steps.
    """

    WINDOW = 8
    APART = 0.10
    MOST_STEPS = 100
    MOST_NS = 60 * 10**9
    FEWEST_STEPS = 6

    def __init__(self) -> None:
        self._recent: deque[int] = deque(maxlen=2 * self.WINDOW)
        self._steps = 0
        self._total_ns = 0
        self.reached = False

    def add(self, ns: int) -> bool:
        """Add the time of a step, ns; true for the one with which it became steady."""
        if self.reached:
            return False
        self._recent.append(ns)
        self._steps += 1
        self._total_ns += ns
        self.reached = self._is_steady()
        return self.reached

    @property
    def recent(self) -> list[int]:
        """The steps that showed it, ns."""
        return list(self._recent)

    def _is_steady(self) -> bool:
        if self._steps >= self.MOST_STEPS:
            return True
        if self._total_ns >= self.MOST_NS and self._steps >= self.FEWEST_STEPS:
            return True
        if len(self._recent) < 2 * self.WINDOW:
            return False
        values = list(self._recent)
        before, after = median(values[: self.WINDOW]), median(values[self.WINDOW :])
        return abs(after - before) <= self.APART * max(before, after)
