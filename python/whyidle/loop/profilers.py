"""The program's own profilers: there can be one at a time, and theirs goes first."""

from __future__ import annotations

import functools
import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Profilers", "is_profiling"]


#: Profilers that were seen to end, in this watch or one before.
_ended: weakref.WeakSet[Any] = weakref.WeakSet()


def is_profiling() -> bool:
    """A profiler records in this thread; some 100 ns."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.autograd._profiler_enabled())


class Profilers:
    """Knows of PyTorch's profilers that have begun and not ended, and says when one begins."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        #: Called with a profiler that is about to begin.
        self.beginning: Callable[[Any], None] | None = None

    def arm(self, module: Any) -> None:
        """Notice from now on. ``module`` is ``torch.profiler.profiler``."""
        if not self._undo:
            self._before(module.profile, "start", self._begins)
            self._before(module.profile, "stop", _ended.add)
            self._before(sys.modules["torch.autograd.profiler"].profile, "__enter__", self._begins)

    def disarm(self) -> None:
        """Undo :meth:`arm`."""
        while self._undo:
            # Done before it is forgotten: Ctrl-C may come between the two.
            self._undo[-1]()
            self._undo.pop()

    def waiting(self) -> str | None:
        """Why no trace can be taken now: a profiler that records, or has begun and waits for its turn.

        Goes through all objects: some tens of milliseconds in a large program.
        """
        if is_profiling():
            return "program-profiles"
        if os.environ.get("KINETO_USE_DAEMON") or any(name.startswith("NSYS_PROFILING") for name in os.environ):
            return "program-profiles"
        kind = getattr(sys.modules.get("torch.profiler"), "profile", None)
        for thing in gc.get_objects():
            # Once it has begun it marks steps; whether it records now or later is its schedule's.
            if type(thing) is kind and getattr(thing, "step_rec_fn", None) is not None and thing not in _ended:
                return "program-profiles"
        return None

    def _begins(self, profiler: Any) -> None:
        _ended.discard(profiler)
        if self.beginning is not None:
            self.beginning(profiler)

    def _before(self, owner: Any, name: str, act: Callable[[Any], None]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapped(profiler: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if undo in self._undo:
                    act(profiler)
            except Exception:  # noqa: BLE001, S110 – the profiler is the program's
                pass
            return original(profiler, *args, **kwargs)

        def undo() -> None:
            # Unless somebody has put something else there since.
            if getattr(owner, name) is wrapped:
                setattr(owner, name, original)

        self._undo.append(undo)
        setattr(owner, name, wrapped)
