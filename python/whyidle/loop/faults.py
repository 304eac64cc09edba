"""What goes wrong in the watch: counted, said at the end, and never the program's."""

from __future__ import annotations

import signal
from typing import Any

__all__ = ["Faults"]


class Faults:
    """A count of failures, and the first of them in words."""

    def __init__(self) -> None:
        self.count = 0
        self.first: str | None = None

    def note(self, error: Exception) -> None:
        """Count a failure.

        Raises:
            Exception: ``error`` itself, where a handler of a signal raised it: it is the program's, and only happened
                to arrive here, as PyTorch's word of a loader worker that died.
        """
        if _is_of_a_signal(error):
            raise error
        self.count += 1
        if self.first is None:
            try:
                self.first = f"{type(error).__name__}: {error}"[:300]
            except Exception:  # noqa: BLE001 – an error that cannot say what it is
                self.first = type(error).__name__


def _code(handler: Any) -> Any:
    """What a handler runs: that of a function, a method, a partial, or an object that can be called."""
    while hasattr(handler, "func"):
        handler = handler.func
    code = getattr(handler, "__code__", None)
    return getattr(getattr(type(handler), "__call__", None), "__code__", None) if code is None else code


def _is_of_a_signal(error: Exception) -> bool:
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {code for handler in handlers if (code := _code(handler)) is not None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False
