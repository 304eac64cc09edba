"""Packed rows as samples of a loader, with the boundaries that attention must not cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from whyidle.feed.packing import Packing, pack

__all__ = ["IGNORED", "PackedDataset"]

#: The label that ``torch.nn.functional.cross_entropy`` leaves out.
IGNORED = -100


class PackedDataset(Dataset[dict[str, Any]]):
    """Rows of ``capacity`` tokens with several samples each, none of them split.

    An item is a dictionary:

    - ``input_ids``: int64, ``(capacity,)``; the samples one after the other, then padding;
    - ``position_ids``: int64, ``(capacity,)``; each sample, and the padding, from 0;
    - ``labels``: int64, ``(capacity,)``; the same tokens for a model that shifts them itself: the first of each sample,
      which no token before it may predict, and the padding are ``-100``;
    - ``cu_seqlens``: int32, ``(samples + 1,)`` or one more with padding, which counts as a last sample: where each
      sample starts, for variable-length attention; the last is ``capacity``;
    - ``max_seqlen``: int, the longest piece between two boundaries.

    Args:
        dataset: Gives sample ``i`` as a tensor, array or list of token ids.
        capacity: Tokens of a row.
        lengths: Tokens of each sample, shape ``(samples,)``; by default, each is read once to learn it.
        pad: Token id of the padding.

    Raises:
        ValueError: Where a sample is empty, longer than a row, or not as long as ``lengths`` says.
    """

    def __init__(
        self, dataset: Any, capacity: int, lengths: Sequence[int] | np.ndarray | None = None, *, pad: int = 0
    ) -> None:
        if lengths is None:
            lengths = [len(_row(dataset[at], at)) for at in range(len(dataset))]
        self.packing: Packing = pack(lengths, capacity)
        self._dataset = dataset
        self._pad = pad

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.packing)

    def __getitem__(self, row: int) -> dict[str, Any]:
        capacity = self.packing.capacity
        input_ids = torch.full((capacity,), self._pad, dtype=torch.int64)
        position_ids = torch.zeros(capacity, dtype=torch.int64)
        labels = torch.full((capacity,), IGNORED, dtype=torch.int64)
        bounds = [0]
        for sample in self.packing[row].tolist():
            tokens = torch.as_tensor(_row(self._dataset[sample], sample))
            if tokens.is_floating_point() or tokens.is_complex():
                raise ValueError(f"sample {sample} is of {tokens.dtype}: token ids are whole numbers")
            length = int(self.packing.lengths[sample])
            if tokens.shape != (length,):
                raise ValueError(
                    f"sample {sample} has shape {tuple(tokens.shape)}, and its length was said to be {length}"
                )
            start, end = bounds[-1], bounds[-1] + length
            input_ids[start:end] = tokens
            labels[start + 1 : end] = tokens[1:]
            position_ids[start:end] = torch.arange(length)
            bounds.append(end)
        if bounds[-1] < capacity:
            position_ids[bounds[-1] :] = torch.arange(capacity - bounds[-1])
            bounds.append(capacity)
        return {
            "input_ids": input_ids,
            "position_ids": position_ids,
            "labels": labels,
            "cu_seqlens": torch.tensor(bounds, dtype=torch.int32),
            "max_seqlen": int(np.diff(bounds).max()),
        }

    @staticmethod
    def collate(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Rows as one batch without a batch dimension, as variable-length attention takes it: a ``collate_fn``.

        The tokens of ``n`` rows have shape ``(n × capacity,)``; ``cu_seqlens`` goes on from row to row.
        """
        batch: dict[str, Any] = {
            name: torch.cat([row[name] for row in rows]) for name in ("input_ids", "position_ids", "labels")
        }
        bounds = [rows[0]["cu_seqlens"][:1]]
        start = 0
        for row in rows:
            bounds.append(row["cu_seqlens"][1:] + start)
            start += len(row["input_ids"])
        batch["cu_seqlens"] = torch.cat(bounds)
        batch["max_seqlen"] = max(row["max_seqlen"] for row in rows)
        return batch


def _row(sample: Any, at: int) -> Any:
    if isinstance(sample, (Mapping, str, bytes)):
        is_record = isinstance(sample, Mapping)
        hint = "give its input_ids, as [row['input_ids'] for row in dataset]" if is_record else "encode it"
        raise ValueError(f"sample {at} is a {type(sample).__name__}, not a row of token ids: {hint}")
    return sample
