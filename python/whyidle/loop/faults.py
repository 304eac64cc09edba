"""What goes wrong in the watch: counted, said at the end, and never the program's."""

from __future__ import annotations

__all__ = ["Faults"]


class Faults:
    """A count of failures, and the first of them in words."""

    def __init__(self) -> None:
        self.count = 0
        self.first: str | None = None

    def note(self, error: BaseException) -> None:
        """Count a failure."""
        self.count += 1
        if self.first is None:
            self.first = f"{type(error).__name__}: {error}"[:300]
