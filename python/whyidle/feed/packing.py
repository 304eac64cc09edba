"""Which samples share a row, so that rows of a fixed length hold almost no padding.

Best fit on descending lengths: each sample, the longest first, goes to the fullest row that still has room for it. That
needs at most 11/9 of the fewest rows possible, plus 6/9 (D. S. Johnson, 1973, for best fit as for first fit; the last
constant by Dósa, 2007, for first fit).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Packing", "pack", "whole_numbers"]


@dataclass(frozen=True)
class Packing:
    """Rows of samples. Row ``i`` holds ``packing[i]``, the numbers of its samples."""

    capacity: int
    """Tokens of a row."""
    lengths: np.ndarray
    """Tokens of each sample, shape ``(samples,)``, int64."""
    order: np.ndarray
    """Numbers of the samples row by row, shape ``(samples,)``, int64."""
    offsets: np.ndarray
    """Where each row starts in ``order``, shape ``(rows + 1,)``, int64."""

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        """The samples of a row, shape ``(samples of the row,)``."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        return self.order[self.offsets[row] : self.offsets[row + 1]]

    @property
    def waste(self) -> float:
        """Share of the rows' tokens that holds no sample, 0–1."""
        return 1 - int(self.lengths.sum()) / (len(self) * self.capacity) if len(self) else 0.0

    @property
    def waste_unpacked(self) -> float:
        """The same share with one sample a row."""
        return 1 - int(self.lengths.sum()) / (len(self.lengths) * self.capacity) if len(self.lengths) else 0.0

    @property
    def fewest_rows(self) -> int:
        """No packing has fewer rows: all tokens divided by the capacity, rounded up."""
        return -(-int(self.lengths.sum()) // self.capacity)

    def __str__(self) -> str:
        alone = f"{self.waste_unpacked:.1%} with one sample a row"
        return f"{len(self)} rows of {self.capacity}: {self.waste:.1%} empty, {alone}"


def pack(lengths: Sequence[int] | np.ndarray, capacity: int) -> Packing:
    """Put samples into rows of ``capacity`` tokens; none is split. The same lengths give the same rows.

    Takes O(n log n) for the sort and O(1) machine words a sample beyond it, for any capacity in use.

    Args:
        lengths: Tokens of each sample, shape ``(samples,)``; each from 1 to ``capacity``.
        capacity: Tokens of a row.

    Raises:
        ValueError: Where a sample is empty or longer than a row.
    """
    sizes = whole_numbers(lengths, "lengths")
    if operator.index(capacity) < 1:
        raise ValueError(f"the capacity is at least 1, not {capacity}")
    wrong = (sizes < 1) | (sizes > capacity)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"sample {at} has {int(sizes[at])} tokens, and a row holds 1 to {capacity}: cut or leave it out"
        )
    descending = np.argsort(-sizes, kind="stable")
    row_of = np.empty(len(sizes), dtype=np.int64)
    room = _Room(capacity)
    rows = 0
    for sample, size in zip(descending.tolist(), sizes[descending].tolist(), strict=True):
        found = room.take(size)
        if found is None:
            found = (rows, capacity)
            rows += 1
        row, free = found
        row_of[sample] = row
        if free > size:
            room.put(row, free - size)
    # Within a row, samples keep the order they came in.
    order = np.argsort(row_of, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=rows))]).astype(np.int64)
    return Packing(capacity, sizes, order, offsets)


def whole_numbers(values: Any, what: str) -> np.ndarray:
    """Numbers as int64, shape ``(numbers,)``; none is rounded.

    Raises:
        ValueError: Where they are no row of whole numbers.
    """
    found = np.asarray(values)
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        raise ValueError(f"{what} must be one row of whole numbers, not {found.dtype} of shape {found.shape}")
    return found.astype(np.int64)


class _Room:
    """Rows by their free tokens. Two levels of bit sets find the least that suffices."""

    def __init__(self, capacity: int) -> None:
        self._shift = max(1, capacity.bit_length() // 2)
        self._blocks = [0] * ((capacity >> self._shift) + 1)
        self._filled = 0
        self._rows: dict[int, list[int]] = {}

    def put(self, row: int, free: int) -> None:
        self._rows.setdefault(free, []).append(row)
        block = free >> self._shift
        self._blocks[block] |= 1 << (free & ((1 << self._shift) - 1))
        self._filled |= 1 << block

    def take(self, size: int) -> tuple[int, int] | None:
        """A row with the fewest free tokens that are at least ``size``, and these."""
        block = size >> self._shift
        low = size & ((1 << self._shift) - 1)
        bits = self._blocks[block] >> low << low
        if not bits:
            later = self._filled >> (block + 1)
            if not later:
                return None
            block += 1 + _lowest(later)
            bits = self._blocks[block]
        free = (block << self._shift) + _lowest(bits)
        rows = self._rows[free]
        row = rows.pop()
        if not rows:
            self._blocks[block] &= ~(1 << (free & ((1 << self._shift) - 1)))
            if not self._blocks[block]:
                self._filled &= ~(1 << block)
        return row, free


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
