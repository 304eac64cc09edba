"""What goes wrong in the watch: counted, said at the end, and never the program's."""

from __future__ import annotations

import signal

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
            self.first = f"{type(error).__name__}: {error}"[:300]


def _is_of_a_signal(error: Exception) -> bool:
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {code for handler in handlers if (code := getattr(handler, "__code__", None)) is not None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False
