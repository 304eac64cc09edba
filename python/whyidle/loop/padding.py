"""How much of the batches is padding, and how large they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any

__all__ = ["Batches"]

#: Batches are looked at for no more than one part in so many of the run.
_COST = 500
#: This many are looked at in any case.
_FIRST = 8
_DEEPEST = 3


class Batches:
    """What is seen of batches: samples and tokens each, and the share of tokens that are padding.

    Padding is where the attention mask is 0; without one, where ``input_ids`` are the padding token, if that is known;
    else where ``labels`` are -100. ``basis`` says which. Only tensors on the CPU are looked at: reading one on a GPU
    would wait for it. Looking costs at most 0.2 % of the run, so of fast steps not every batch is seen.
    """

    def __init__(self, pad_id: int | None = None) -> None:
        self._pad_id = pad_id
        #: The program names its batches itself; those of loaders are left alone.
        self.is_told = False
        self._forget()

    def _forget(self) -> None:
        #: Batches that were looked at.
        self.seen = 0
        #: Batches on another device.
        self.elsewhere = 0
        self.tokens = 0
        self.padding = 0
        self.basis: str | None = None
        self._sizes: Counter[tuple[int, int]] = Counter()
        self._spent_ns = 0
        self._since_ns = perf_counter_ns()

    def tell(self, batch: Any, pad_id: int | None = None) -> None:
        """A batch as the program names it."""
        if not self.is_told:
            # What was seen of loaders may hold the same batches.
            self._forget()
            self.is_told = True
        self._look(batch, pad_id)

    def fetched(self, batch: Any) -> None:
        """A batch as a loader gave it."""
        if not self.is_told:
            self._look(batch, None)

    def _look(self, batch: Any, pad_id: int | None) -> None:
        began = perf_counter_ns()
        if self.seen >= _FIRST and self._spent_ns * _COST > began - self._since_ns:
            return
        self.seen += 1
        size = _size(batch, 0)
        if size is not None and (size in self._sizes or len(self._sizes) < 64):
            self._sizes[size] += 1
        self._count(batch, self._pad_id if pad_id is None else pad_id)
        self._spent_ns += perf_counter_ns() - began

    def _count(self, batch: Any, pad_id: int | None) -> None:
        if not isinstance(batch, Mapping) and not (hasattr(batch, "get") and hasattr(batch, "keys")):
            return
        mask, ids, labels = (batch.get(name) for name in ("attention_mask", "input_ids", "labels"))
        found: Any
        if mask is not None and getattr(mask, "ndim", 0) == 2 and not _is_added(mask):
            basis, found, padding = "attention_mask", mask, 0
        elif ids is not None and pad_id is not None and getattr(ids, "ndim", 0) > 0:
            basis, found, padding = "pad_id", ids, pad_id
        elif labels is not None and getattr(labels, "ndim", 0) == 2:
            basis, found, padding = "labels", labels, -100
        else:
            return
        device = getattr(found, "device", None)
        if device is not None and getattr(device, "type", "cpu") != "cpu":
            self.elsewhere += 1
            return
        if self.basis not in (None, basis):
            return
        if not _is_plain(found):
            return
        self.basis = basis
        self.tokens += int(found.numel() if hasattr(found, "numel") else found.size)
        self.padding += int((found == padding).sum())

    @property
    def share(self) -> float | None:
        """Padding among the tokens that were looked at, 0 to 1; ``None`` where none was."""
        return self.padding / self.tokens if self.tokens else None

    def members(self) -> dict[str, Any]:
        """What a recording says of batches."""
        found: dict[str, Any] = {}
        if self._sizes:
            (samples, length), times = self._sizes.most_common(1)[0]
            # A size that changes from batch to batch is nobody's setting.
            if times * 2 > sum(self._sizes.values()):
                found["batch"] = samples
                if length:
                    found["seq"] = length
        if self.tokens or self.elsewhere:
            found["padding"] = {
                "share": self.share,
                "basis": self.basis,
                "tokens": self.tokens,
                "batches": self.seen,
                "not_on_cpu": self.elsewhere,
            }
        return found


def _is_added(mask: Any) -> bool:
    """A mask that is added to the scores: 0 is what is kept, and what is left out lies far below."""
    kind = str(getattr(mask, "dtype", "")).removeprefix("torch.")
    is_on_cpu = getattr(getattr(mask, "device", None), "type", "cpu") == "cpu"
    return kind.startswith(("float", "bfloat")) and is_on_cpu and _is_plain(mask) and bool((mask < 0).any())


def _is_plain(found: Any) -> bool:
    """A tensor that is not sparse, or an array of NumPy."""
    return type(found).__module__ == "numpy" or str(getattr(found, "layout", "")) == "torch.strided"


def _size(batch: Any, depth: int) -> tuple[int, int] | None:
    """Samples of a batch, and tokens of each where its numbers are token ids: shape of its first tensor."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        if len(shape) == 0:
            return None
        is_tokens = len(shape) == 2 and str(getattr(batch, "dtype", "")) == "torch.int64"
        return int(shape[0]), int(shape[1]) if is_tokens else 0
    if depth > _DEEPEST:
        return None
    if hasattr(batch, "values") and hasattr(batch, "get"):
        ids = batch.get("input_ids")
        parts: Sequence[Any] = [ids] if ids is not None else list(batch.values())
    elif isinstance(batch, (list, tuple)):
        parts = batch
    else:
        return None
    for part in parts[:8]:
        size = _size(part, depth + 1)
        if size is not None:
            return size
    return None
