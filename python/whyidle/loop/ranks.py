"""Which rank of which job this process is. Nothing is asked of other ranks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

__all__ = ["Ranks"]


@dataclass(frozen=True)
class Ranks:
    """A process's place in its job."""

    #: Its number, from 0.
    rank: int = 0
    #: Ranks in the job.
    world: int = 1
    #: Its number on this host.
    local: int = 0
    #: Ranks on this host; where nothing says so, all of them.
    local_world: int = 1

    @property
    def node(self) -> int:
        """Number of the host, from 0, where hosts have as many ranks each."""
        return self.rank // self.local_world if self.local_world else 0

    @staticmethod
    def here() -> Ranks:
        """From the environment that launchers set, else from PyTorch once the job is joined."""
        rank, world = _number("RANK"), _number("WORLD_SIZE")
        if rank is None or world is None or world <= 1:
            rank, world = _joined() or (0, 1)
        local_world = min(world, _number("LOCAL_WORLD_SIZE") or world)
        local = _number("LOCAL_RANK")
        return Ranks(rank, world, rank % local_world if local is None else local, local_world)


def _number(name: str) -> int | None:
    text = os.environ.get(name, "").strip()
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _joined() -> tuple[int, int] | None:
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank()), int(distributed.get_world_size())
