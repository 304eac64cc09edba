"""Being called when a process ends, also one that multiprocessing started: those never come to ``atexit``."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable

__all__ = ["at_exit"]

#: Before multiprocessing's own endings, which join threads and queues.
_PRIORITY = 100


def at_exit(then: Callable[[], None]) -> Callable[[], None]:
    """Call ``then`` at the end of this process; what is returned takes that back."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        from multiprocessing.util import Finalize

        ending = Finalize(None, then, exitpriority=_PRIORITY)
        return lambda: ending.cancel()
    atexit.register(then)
    return lambda: atexit.unregister(then)
