"""Token files as samples of a loader: mapped, never copied, shuffled without a list of places.

The data set numbers its sequences; the sampler says which come to which rank in which order, and a ``DataLoader`` hands
each batch to one of its workers. So every sequence comes once an epoch whatever the number of workers, and a position
is one number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from whyidle.feed.permutation import Permutation
from whyidle.feed.token_files import TokenFile, TokenFileError

__all__ = ["TokenDataset", "TokenSampler"]

#: Places whose order is computed at once, and tokens that are looked through at once.
_BLOCK = 8192
_SCAN = 1 << 22


class TokenDataset(Dataset[Any]):
    """Sequences of a file of tokens (see :mod:`whyidle.feed.token_files` for the formats).

    A sample is a tensor of shape ``(sequence_length + 1,)`` in the file's type: inputs are all but the last token,
    targets all but the first. It is a view of the mapped file; the ids become int64 on the device (``batch.long()``),
    where that costs nothing and a quarter of the bytes is copied. Neighbouring sequences share one token, so every
    token but the first is predicted once.

    Args:
        path: A raw file, or either file of a Megatron pair, or what their names have in common; or the folder that
            ``whyidle tokenize`` wrote, where it wrote one file.
        sequence_length: Tokens that a sequence predicts.
        dtype: Type of a raw file's ids; by default what ``tokens.json`` beside it says, else uint16.
        documents: ``ignore``: sequences run on from document to document. ``separate``: none crosses a document's end;
            what is left of a document and fills no sequence is left out (see ``left_out``). ``boundaries``: they run
            on, and a sample is a dictionary of ``tokens`` (as above), ``position_ids`` (int64, ``(sequence_length,)``,
            from 0 in each document) and ``cu_seqlens`` (int32, where each document starts among the inputs, the last
            ``sequence_length``).
        eos: Id that ends every document; needed for documents in a raw file, which has no index, unless
            ``tokens.json`` names it.
        vocabulary: Number of ids. A sample with one beyond is an error, instead of a failure on the device.

    Raises:
        TokenFileError: Where the file cannot be used, or holds no sequence.
        ValueError: Where the arguments do not fit together.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        sequence_length: int,
        *,
        dtype: Any = None,
        documents: Literal["ignore", "separate", "boundaries"] = "ignore",
        eos: int | None = None,
        vocabulary: int | None = None,
    ) -> None:
        if sequence_length < 1:
            raise ValueError(f"a sequence has at least one token, not {sequence_length}")
        if documents not in ("ignore", "separate", "boundaries"):
            raise ValueError(f"documents is ignore, separate or boundaries, not {documents!r}")
        self._file = TokenFile(path, dtype)
        eos = self._file.eos if eos is None else eos
        self._length, self._documents, self._eos, self._vocabulary = sequence_length, documents, eos, vocabulary
        if documents != "ignore" and self._file.starts is None and eos is None:
            raise ValueError(f"{self._file.path} has no index of documents: give eos, the id that ends each")
        self._starts = self._ends = None
        total = len(self._file)
        self._count = (total - 1) // sequence_length
        #: Tokens that no sequence predicts, of those that could be.
        self.left_out = total - 1 - self._count * sequence_length
        if documents == "separate":
            bounds = self._bounds()
            sizes = np.diff(bounds)
            counts = np.maximum(sizes - 1, 0) // sequence_length
            self._starts, self._ends = bounds[:-1], np.cumsum(counts)
            self._count = int(self._ends[-1])
            self.left_out = int(np.maximum(sizes - 1, 0).sum()) - self._count * sequence_length
        if not self._count:
            raise TokenFileError(
                f"{self._file.path}: {total} tokens hold no sequence of {sequence_length + 1}"
                f"{' within a document' if documents == 'separate' else ''}: take a shorter sequence_length"
            )

    def __len__(self) -> int:
        """Number of sequences."""
        return self._count

    @property
    def tokens(self) -> int:
        """Number of tokens of the file."""
        return len(self._file)

    def __getitem__(self, sequence: int) -> Any:
        if not -self._count <= sequence < self._count:
            raise IndexError(f"sequence {sequence} of {self._count}")
        start = self._start(sequence % self._count)
        ids = self._file.tokens[start : start + self._length + 1]
        if self._vocabulary is not None:
            self._in_vocabulary(ids, start)
        tokens = torch.from_numpy(ids)
        if self._documents != "boundaries":
            return tokens
        inside = self._inside(start, ids)
        bounds = np.concatenate([[0], inside, [self._length]])
        positions = np.arange(self._length) - np.repeat(bounds[:-1], np.diff(bounds))
        return {
            "tokens": tokens,
            "position_ids": torch.from_numpy(positions),
            "cu_seqlens": torch.from_numpy(bounds.astype(np.int32)),
        }

    def verify(self) -> None:
        """Look at every token, at the speed of the disk.

        Raises:
            TokenFileError: For an id that is negative or beyond the vocabulary, with its place.
        """
        for at in range(0, len(self._file), _SCAN):
            self._in_vocabulary(self._file.tokens[at : at + _SCAN], at)

    def _start(self, sequence: int) -> int:
        if self._starts is None or self._ends is None:
            return sequence * self._length
        document = int(np.searchsorted(self._ends, sequence, side="right"))
        before = int(self._ends[document - 1]) if document else 0
        return int(self._starts[document]) + (sequence - before) * self._length

    def _in_vocabulary(self, ids: np.ndarray, start: int) -> None:
        wrong = ids < 0
        if self._vocabulary is not None:
            wrong |= ids >= self._vocabulary
        if wrong.any():
            at = int(np.argmax(wrong))
            allowed = "not be negative" if self._vocabulary is None else f"be below {self._vocabulary}"
            raise TokenFileError(
                f"{self._file.path}: token {start + at} has id {int(ids[at])}, which must {allowed}: the file is of "
                f"another tokenizer, or its type is not {self._file.dtype}"
            )

    def _bounds(self) -> np.ndarray:
        """Where documents start, and the end of the last; found by looking through the file where it has no index."""
        if self._file.starts is not None:
            return self._file.starts
        tokens = self._file.tokens
        found = [np.flatnonzero(tokens[at : at + _SCAN] == self._eos) + at + 1 for at in range(0, len(tokens), _SCAN)]
        ends = np.concatenate(found)
        if not len(ends) or ends[-1] != len(tokens):
            ends = np.append(ends, len(tokens))
        return np.concatenate([[0], ends])

    def _inside(self, start: int, ids: np.ndarray) -> np.ndarray:
        """Starts of documents after the first of a sequence's inputs, from the sequence's start."""
        if self._file.starts is None:
            return np.flatnonzero(ids[: self._length - 1] == self._eos) + 1
        starts = self._file.starts
        first = np.searchsorted(starts, start, side="right")
        last = np.searchsorted(starts, start + self._length, side="left")
        return np.unique(starts[first:last]) - start


class TokenSampler(Sampler[int]):
    """Which sequences come to a rank, in an order that needs no memory (:mod:`whyidle.feed.permutation`).

    The sequences of an epoch stand in one order for all ranks, which take turns. Those that do not go round are
    dropped, fewer than ``world``; without ``drop_last``, the first of the epoch come again instead. A position counts
    over all ranks, so that a run can go on with another number of them.

    Args:
        size: Number of sequences, ``len(dataset)``.
        shuffle: Whether their order changes from epoch to epoch.
        seed: Of the order; the same on all ranks.
        rank: This process, 0 … ``world - 1``.
        world: Number of processes.
        drop_last: See above.

    Raises:
        ValueError: Where the arguments do not fit together.
    """

    def __init__(
        self,
        size: int,
        *,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        drop_last: bool = True,
    ) -> None:
        if not 0 <= rank < world:
            raise ValueError(f"rank {rank} is not one of {world}: it counts from 0")
        if size < 1:
            raise ValueError("there must be at least one sequence")
        self._size, self._shuffle, self._seed = size, shuffle, seed
        self._rank, self._world, self._drop_last = rank, world, drop_last
        self._epoch = 0
        #: Sequences of this epoch that all ranks had before this iteration, and those this rank had in it.
        self._base = self._start = self._taken = 0

    def __len__(self) -> int:
        """Sequences of this rank from where the next iteration starts to the end of the epoch."""
        left = self._size - self._start
        return left // self._world if self._drop_last else -(-left // self._world)

    def __iter__(self) -> Iterator[int]:
        count = len(self)
        self._base, self._start, self._taken = self._start, 0, 0
        order = Permutation(self._size, self._seed, self._epoch) if self._shuffle else None
        for first in range(0, count, _BLOCK):
            turns = np.arange(first, min(first + _BLOCK, count), dtype=np.int64)
            places = (self._base + turns * self._world + self._rank) % self._size
            for sequence in (places if order is None else order(places)).tolist():
                self._taken += 1
                yield sequence

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch. The epoch of a state that was just loaded keeps its position."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._base = self._start = self._taken = 0

    def state_dict(self, taken: int | None = None) -> dict[str, int]:
        """Where the epoch stands.

        Args:
            taken: Sequences that this rank trained on in this iteration, e.g. steps × batch size. A loader with workers
                takes them ahead, so give it there; by default, those that were handed out.
        """
        taken = self._taken if taken is None else taken
        return {
            "epoch": self._epoch,
            "position": min(self._base + taken * self._world, self._size),
            "seed": self._seed,
            "size": self._size,
        }

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from a state, with the same or another number of ranks.

        Raises:
            ValueError: Where the state is of another number of sequences.
        """
        if not {"size", "position", "seed", "epoch"} <= state.keys():
            raise ValueError("this is no state of a TokenSampler")
        if state["size"] != self._size:
            raise ValueError(f"the state is of {state['size']} sequences, and there are {self._size}: the data changed")
        if not 0 <= state["position"] <= self._size:
            raise ValueError(f"position {state['position']} is not in this epoch of {self._size}")
        self._seed, self._epoch = state["seed"], state["epoch"]
        self._base = self._start = state["position"]
        self._taken = 0
