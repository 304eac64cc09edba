"""The one watch of this process, and the end of a step for whoever watches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyidle.loop.watch import Watch

__all__ = ["current", "step"]

_current: Any = None


def step() -> None:
    """A training step ends here. Without a watch it does nothing, in some 50 ns.

    From the first call on, calls are the boundaries of steps, and optimizer steps no longer are.
    """
    watch = _current
    if watch is not None:
        watch.step()


def current() -> Watch | None:
    """The watch of this process that has started and not ended."""
    found: Watch | None = _current
    return found


def put(watch: Watch | None) -> None:
    """Make it the one of this process."""
    global _current
    _current = watch


def _forget() -> None:
    """A process that was forked, as a loader's worker is, has no watch: that of its parent is not its own."""
    watch = _current
    if watch is not None and not watch._forked():
        put(None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
