"""Batches of samples of like length, so that little of a batch is padding and few shapes occur.

Each sample belongs to the shortest rung that holds it, and every batch to one rung, to which it is padded: a model sees
``len(rungs)`` shapes, whatever the lengths. All ranks take the same rung at the same step, so none waits for another's
longer batch.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from whyidle.feed.packing import whole_numbers

__all__ = ["RUNGS", "BucketSampler", "PaddingReport"]

#: Lengths to which batches are padded unless told otherwise, in tokens.
RUNGS = (512, 1024, 2048, 4096, 8192, 16384, 32768)


@dataclass(frozen=True)
class PaddingReport:
    """What padding costs in one epoch over all ranks, in tokens.

    ``before`` is for random batches of the same samples, each padded to its own longest sample; with ``max_tokens``,
    they have as many samples as the longest sample of all leaves room for. ``after`` is for the sampler's batches, each
    padded to its rung.
    """

    tokens: int
    """Tokens of the samples, none of them padding. Samples that are repeated or dropped count as often as they come."""
    padded_before: int
    """Tokens of the random batches with their padding."""
    padded_after: int
    """Tokens of the sampler's batches with their padding."""
    tokens_before: int
    """Tokens of the random batches without it: of every sample that is kept."""

    @property
    def waste_before(self) -> float:
        """Share of the random batches' tokens that is padding, 0–1."""
        return 1 - self.tokens_before / self.padded_before if self.padded_before else 0.0

    @property
    def waste_after(self) -> float:
        """Share of the sampler's batches' tokens that is padding, 0–1."""
        return 1 - self.tokens / self.padded_after if self.padded_after else 0.0

    def __str__(self) -> str:
        return f"padding: {self.waste_before:.1%} of random batches, {self.waste_after:.1%} of bucketed ones"


class BucketSampler:
    """Give the batches of an epoch as lists of sample numbers: a ``batch_sampler`` for a ``DataLoader``.

    In an epoch every sample comes once over all ranks, but: what fills no step of a rung for all ranks is dropped with
    ``drop_last`` (fewer than ``world × batch`` samples a rung); without it, the ranks share it in smaller batches, and
    where it has fewer samples than there are ranks, some come twice (fewer than ``world`` a rung).

    Args:
        lengths: Length of each sample in tokens, shape ``(samples,)``; all ≥ 1.
        batch_size: Samples a batch of one rank. Give this or ``max_tokens``.
        max_tokens: Most tokens of a batch with its padding: ``max_tokens // rung`` samples.
        rungs: Lengths to which batches are padded, ascending.
        shuffle: Whether samples and batches come in another order each epoch.
        seed: Of the order; the same on all ranks.
        rank: This process, 0 … ``world - 1``.
        world: Number of processes.
        drop_last: See above.
        too_long: What is done with samples beyond the last rung: ``error``, ``drop``, or ``clip`` (they come on the
            last rung, and whoever collates them cuts them).

    Raises:
        ValueError: Where the arguments do not fit together, or a sample is longer than the last rung.
    """

    def __init__(
        self,
        lengths: Sequence[int] | np.ndarray,
        batch_size: int | None = None,
        *,
        max_tokens: int | None = None,
        rungs: Sequence[int] = RUNGS,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        drop_last: bool = False,
        too_long: Literal["error", "drop", "clip"] = "error",
    ) -> None:
        self._lengths = whole_numbers(lengths, "lengths")
        self._rungs = whole_numbers(rungs, "rungs")
        if (self._lengths < 1).any():
            raise ValueError("lengths must be one row of whole numbers, each at least 1")
        if not len(self._rungs) or (np.diff(self._rungs, prepend=0) <= 0).any():
            raise ValueError(f"rungs must ascend from above 0, not {tuple(rungs)}")
        if (batch_size is None) == (max_tokens is None):
            raise ValueError("give either batch_size or max_tokens")
        if operator.index(batch_size or max_tokens or 0) < 1:
            raise ValueError("batch_size and max_tokens are at least 1")
        if operator.index(seed) < 0:
            raise ValueError(f"a seed is at least 0, not {seed}")
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} is not one of {world}: it counts from 0")
        if too_long not in ("error", "drop", "clip"):
            raise ValueError(f"too_long is error, drop or clip, not {too_long!r}")
        longest = int(self._rungs[-1])
        over = self._lengths > longest
        if too_long == "error" and over.any():
            at = int(np.argmax(over))
            raise ValueError(
                f"{int(over.sum())} samples are longer than the last rung of {longest} tokens, the first is sample "
                f"{at} with {int(self._lengths[at])}: add a rung, or give too_long='drop' or 'clip'"
            )
        if too_long == "clip":
            self._lengths = np.minimum(self._lengths, longest)
        #: Rung of each sample by number; `len(rungs)` where it is dropped.
        self._rung_of = np.searchsorted(self._rungs, self._lengths)
        used = np.unique(self._rung_of[self._rung_of < len(self._rungs)])
        if batch_size is not None:
            self._sizes = np.full(len(self._rungs), batch_size)
        else:
            self._sizes = int(max_tokens or 0) // self._rungs
        if len(used) and self._sizes[used].min() < 1:
            raise ValueError(
                f"a batch would hold no sample: raise {'batch_size' if max_tokens is None else 'max_tokens'}"
            )
        self._members = {int(rung): np.flatnonzero(self._rung_of == rung) for rung in used}
        self._shuffle, self._seed, self._rank, self._world = shuffle, seed, rank, world
        self._drop_last, self._max_tokens = drop_last, max_tokens
        self._epoch = 0
        #: Batches of this epoch that were handed out, and where the next iteration starts.
        self._next = self._start = 0
        self._steps = sum(self._steps_of(rung) for rung in self._members)

    def _steps_of(self, rung: int) -> int:
        whole, left = divmod(len(self._members[rung]), int(self._sizes[rung]) * self._world)
        return whole + int(left > 0 and not self._drop_last)

    def __len__(self) -> int:
        """Batches of a whole epoch, the same for every rank."""
        return self._steps

    def __iter__(self) -> Iterator[list[int]]:
        """The batches of this epoch; after :meth:`load_state_dict`, once from its batch on."""
        self._next, self._start = self._start, 0
        steps, members = self._order()
        for rung, step in steps[self._next :]:
            self._next += 1
            yield self._batch(members[rung], rung, step, self._rank)

    def rung_of(self, sample: int) -> int:
        """The length to which the batch of a sample is padded, in tokens.

        Raises:
            IndexError: Where there is no such sample, or it is dropped as too long.
        """
        return int(self._rungs[self._rung_of[sample]])

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch. That of a state that was just loaded keeps its position."""
        if epoch != self._epoch:
            self._epoch, self._next, self._start = epoch, 0, 0

    def state_dict(self, batch: int | None = None) -> dict[str, int]:
        """Where the sampler stands.

        Args:
            batch: Batches of this epoch that were trained on. A loader with workers takes batches ahead, so give it
                there; by default, the batches that were handed out.
        """
        return {
            "epoch": self._epoch,
            "batch": self._next if batch is None else batch,
            "seed": self._seed,
            "plan": self._plan(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; the next iteration starts at its batch, any from 0 to ``len(self)``.

        Raises:
            ValueError: Where the state is of other samples, batches, rungs or another number of ranks.
        """
        if not {"plan", "batch", "seed", "epoch"} <= state.keys():
            raise ValueError("this is no state of a BucketSampler")
        if state["plan"] != self._plan():
            raise ValueError("the state is of other lengths, batch sizes, rungs or another number of ranks")
        if not 0 <= state["batch"] <= len(self):
            raise ValueError(f"batch {state['batch']} is not in this epoch of {len(self)}")
        self._seed, self._epoch = state["seed"], state["epoch"]
        self._next = self._start = state["batch"]

    def report(self) -> PaddingReport:
        """What padding costs in this epoch."""
        kept = np.flatnonzero(self._rung_of < len(self._rungs))
        shuffled = np.random.default_rng([self._seed, self._epoch, 1]).permutation(kept)
        before = tokens = after = 0
        if len(kept):
            lengths = self._lengths[shuffled]
            size = int(self._sizes[0]) if self._max_tokens is None else self._max_tokens // int(lengths.max())
            starts = np.arange(0, len(lengths), size)
            counts = np.diff(starts, append=len(lengths))
            before = int((np.maximum.reduceat(lengths, starts) * counts).sum())
        steps, members = self._order()
        for rung, step in steps:
            for rank in range(self._world):
                batch = self._batch(members[rung], rung, step, rank)
                tokens += int(self._lengths[batch].sum())
                after += len(batch) * int(self._rungs[rung])
        return PaddingReport(
            tokens=tokens, padded_before=before, padded_after=after, tokens_before=int(self._lengths[kept].sum())
        )

    def _plan(self) -> int:
        """A number that differs where the batches of an epoch would."""
        parts = [self._lengths, self._rungs, self._sizes, np.array([self._world, self._drop_last, self._shuffle])]
        return zlib.crc32(b"".join(part.astype("<i8").tobytes() for part in parts))

    def _order(self) -> tuple[list[tuple[int, int]], dict[int, np.ndarray]]:
        """Rung and number of each step of this epoch, in order; and the samples of each rung, in order."""
        steps = [(rung, step) for rung in self._members for step in range(self._steps_of(rung))]
        if not self._shuffle:
            return steps, self._members
        rng = np.random.default_rng([self._seed, self._epoch])
        members = {rung: rng.permutation(samples) for rung, samples in self._members.items()}
        return [steps[at] for at in rng.permutation(len(steps))], members

    def _batch(self, members: np.ndarray, rung: int, step: int, rank: int) -> list[int]:
        size = int(self._sizes[rung]) * self._world
        samples = members[step * size : (step + 1) * size]
        if len(samples) < self._world:
            samples = np.resize(samples, self._world)
        share, more = divmod(len(samples), self._world)
        start = rank * share + min(rank, more)
        batch: list[int] = samples[start : start + share + (rank < more)].tolist()
        return batch
