"""Ranks trace the same steps, without a word on the network: rank 0 writes which into the shared directory."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter_ns

from whyidle.loop.ranks import Ranks

__all__ = ["Meeting"]

_NAME = "trace-at"
#: How long others have to notice: on one host, and where the directory lies on a network.
_NOTICE_NS = 500_000_000
_NOTICE_FAR_NS = 10 * 10**9
_FEWEST = 4
#: How often others look.
_LOOK_NS = 50_000_000
_LONGEST = 32


class Meeting:
    """Agrees on the step at which all ranks start their trace.

    Ranks of a job are in step, a collective keeps them so: the same number is the same step. A rank that learns of it
    too late takes no trace.
    """

    def __init__(self, place: Path, ranks: Ranks) -> None:
        self._file, self._ranks = place / _NAME, ranks
        self._at: int | None = None
        self._looked_ns = 0
        #: The step had passed when it was noticed.
        self.is_late = False

    def propose(self, step: int, typical_ns: int) -> None:
        """Rank 0 is ready at ``step``; steps take so long."""
        if self._at is not None:
            return
        if self._ranks.world == 1:
            self._at = step
            return
        notice = _NOTICE_NS if self._ranks.world == self._ranks.local_world else _NOTICE_FAR_NS
        self._at = step + max(_FEWEST, -(-notice // max(1, typical_ns)))
        draft = self._file.with_name(f".{_NAME}")
        draft.write_text(f"{self._at}\n")
        os.replace(draft, self._file)

    def is_now(self, step: int) -> bool:
        """All start their trace at this step."""
        if self._at is None and self._ranks.rank > 0:
            self._look()
        if self._at is None or step < self._at:
            return False
        if step > self._at:
            self.is_late = True
            return False
        return True

    def _look(self) -> None:
        now = perf_counter_ns()
        if now - self._looked_ns < _LOOK_NS:
            return
        self._looked_ns = now
        try:
            with self._file.open() as file:
                # Others may write there too: no more than a step's number is read.
                self._at = int(file.read(_LONGEST))
        except (OSError, ValueError):
            return

    def end(self) -> None:
        """Take the note away; rank 0 does."""
        if self._ranks.rank == 0:
            self._file.unlink(missing_ok=True)
