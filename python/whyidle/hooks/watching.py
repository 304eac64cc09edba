"""What the hooks share: a watch of their own, or the one that runs already."""

from __future__ import annotations

from typing import Any

from whyidle.loop.current import current
from whyidle.loop.watch import Watch

__all__ = ["EVALUATION", "SAVE", "Watching"]

EVALUATION = "evaluation"
SAVE = "checkpoint"


class Watching:
    """Starts a watch with these options when training begins, unless one runs, and ends what it started.

    One that a hook of the same framework started is of a training that failed, for the framework said nothing of its
    end: it gets its verdict, and this training a watch of its own.

    Args:
        options: Those of :func:`whyidle.watch`.
        framework: Whose hook it is.
    """

    #: The watch that a hook started last, and of which framework.
    _started: tuple[Watch, str] | None = None

    def __init__(self, options: dict[str, Any], framework: str) -> None:
        self._options, self._framework = options, framework
        self._is_own = False
        #: The watch, from the beginning of training on; it stays when training has ended.
        self.watch: Watch | None = None

    def begin(self) -> Watch:
        """Training begins."""
        running = current()
        if running is not None and Watching._started == (running, self._framework):
            running.close()
            running = None
        self._is_own = running is None
        self.watch = running or Watch(**self._options).start()
        if self._is_own:
            Watching._started = self.watch, self._framework
        return self.watch

    def end(self) -> None:
        """Training ended, well or not."""
        if self.watch is not None and self._is_own:
            Watching._started = None
            self.watch.close()

    def enter(self, phase: str) -> None:
        """A phase begins, unless it is open."""
        if self.watch is not None and not self.watch.is_in_phase(phase):
            self.watch.enter_phase(phase)

    def leave(self, phase: str) -> None:
        """A phase ends, if it is open."""
        if self.watch is not None and self.watch.is_in_phase(phase):
            self.watch.leave_phase(phase)
