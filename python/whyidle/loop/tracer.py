"""When the trace is taken, and what becomes of it: once, when steps are steady, on all ranks at the same step."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from whyidle.loop.boundaries import Boundaries
from whyidle.loop.faults import Faults
from whyidle.loop.meeting import Meeting
from whyidle.loop.profilers import Profilers
from whyidle.loop.ranks import Ranks
from whyidle.loop.tracing import Trace

__all__ = ["Tracer"]

#: Steps of a trace, unless the program asks for another number.
_TRACED = 6
#: A trace that was spoilt is tried again so many steps later, so often.
_AGAIN_STEPS, _TRIES = 50, 3
#: How long its file may take at the end, s.
_WRITTEN_S = 120.0


class Tracer:
    """Decides at each boundary.

    Args:
        steps: Steps to trace; ``None``: six where the program uses a GPU, else none.
        after_ns: Not before so long after the first boundary.
        faults: Where failures are counted.
    """

    def __init__(self, steps: int | None, after_ns: int, faults: Faults) -> None:
        self._steps, self._after_ns, self._faults = steps, after_ns, faults
        self.profilers = Profilers()
        #: The trace that is being taken.
        self.trace: Trace | None = None
        #: Steps in the trace that was taken.
        self.traced = 0
        #: Why there is none, a stable code.
        self.untraced: str | None = "off" if steps == 0 else None
        #: The step from which on it is time; ``None``: it is no more.
        self._at: int | None = None if steps == 0 else 0
        self._tries = 0
        self._place: Path | None = None
        self._ranks = Ranks()
        self._meeting: Meeting | None = None
        self._first_ns = 0

    def begin(self, place: Path, ranks: Ranks, now_ns: int) -> None:
        """The first boundary: the recording lies there."""
        self._place, self._ranks, self._first_ns = place, ranks, now_ns
        if ranks.world > 1:
            self._meeting = Meeting(place, ranks)

    def is_time(self, boundaries: Boundaries, now_ns: int) -> bool:
        """A trace begins at this boundary; to be asked at each. No trace is being taken."""
        if self._at is None or self._place is None:
            return False
        steps = boundaries.steps
        is_ready = boundaries.steady.reached and now_ns - self._first_ns >= self._after_ns
        if self._meeting is None:
            return is_ready and steps >= self._at
        if self._ranks.rank == 0 and is_ready:
            self._meeting.propose(steps, boundaries.typical_ns)
        is_now = self._meeting.is_now(steps)
        if self._meeting.is_late:
            self._give_up("noticed-late")
        return is_now

    def take(self, boundaries: Boundaries) -> None:
        """Begin the trace, unless something speaks against it."""
        if self._place is None:
            return
        if threading.current_thread() is not threading.main_thread():
            self._give_up("not-main-thread")
            return
        steps = self._steps
        if steps is None:
            if not sys.modules["torch"].cuda.is_initialized():
                self._give_up("no-gpu")
                return
            steps = _TRACED
        self._tries += 1
        why = self.profilers.waiting()
        if why is not None:
            self._spoilt(boundaries, why)
            return
        path = self._place / f"trace_rank{self._ranks.rank}.json.gz"
        self.trace = trace = Trace(path, steps, boundaries.typical_ns, self._faults, self._written)
        self.profilers.beginning = trace.give_way
        trace.begin()

    def boundary(self, boundaries: Boundaries) -> None:
        """A step ended while a trace is being taken."""
        trace = self.trace
        if trace is None:
            return
        trace.boundary()
        if trace.disturbs:
            return
        self.trace = self.profilers.beginning = None
        if trace.failed is None:
            self._at = None
        else:
            self._spoilt(boundaries, trace.failed)

    def spoil(self) -> None:
        """Something else than a step happens: a trace that records now is none."""
        if self.trace is not None and self.trace.records:
            self.trace.drop("outside")

    def finish(self, saw_profiler: bool) -> None:
        """The watch ends: wait for the file that is being written; say why there is none."""
        trace = self.trace
        if trace is not None:
            trace.finish(_WRITTEN_S)
            if trace.failed is not None:
                self.untraced = trace.failed
        if self.traced:
            self.untraced = None
        elif self.untraced is None:
            self.untraced = "program-profiles" if saw_profiler else "too-short"

    def tidy(self) -> None:
        """Take away what ranks agreed by; once all have."""
        if self._meeting is not None:
            self._meeting.end()

    def _written(self, path: Path) -> None:
        if self.trace is not None:
            self.traced = self.trace.steps

    def _spoilt(self, boundaries: Boundaries, why: str) -> None:
        """This try gave no trace; ranks that agreed on a step do not agree again."""
        if self._meeting is None and self._tries < _TRIES:
            self.untraced = why
            self._at = boundaries.steps + _AGAIN_STEPS
        else:
            self._give_up(why)

    def _give_up(self, why: str) -> None:
        self._at, self.untraced = None, why
