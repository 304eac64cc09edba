"""Batches that are on the GPU before they are asked for.

A thread takes batches from the loader, puts them into pinned memory and starts their copies on a stream of its own; the
step's stream waits for the copy's event, not for the host.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import torch

__all__ = ["Prefetcher", "map_tensors"]

Batch = TypeVar("Batch")


class Prefetcher(Generic[Batch]):
    """The batches of a loader, with the next ``depth`` of them under way to a device.

    Tensors are found in mappings, lists, tuples, named tuples and packed sequences, however deep; anything else is
    passed on as it is. On a device other than CUDA the batches are passed on unchanged, still ``depth`` ahead.

    An error of the loader is raised where its batch would have come. When the consumer leaves early, the thread is told
    to stop and waited for: that takes no longer than the batch that the loader is making.

    Args:
        loader: Gives batches; it is started again with every iteration. Its own ``pin_memory`` can stay off.
        device: Where the batches go.
        depth: Batches ahead. Up to ``depth + 2`` batches are in the device's memory: those ahead, one being copied, and
            the consumer's.

    Raises:
        ValueError: Where ``depth`` is less than 1.
    """

    def __init__(self, loader: Iterable[Batch], device: str | torch.device = "cuda", depth: int = 2) -> None:
        if depth < 1:
            raise ValueError(f"depth is at least 1, not {depth}")
        self._loader, self._depth = loader, depth
        self.device = torch.device(device)

    def __len__(self) -> int:
        """Batches of the loader, where it knows."""
        return len(self._loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Batch]:
        copier = _Copier(self.device) if self.device.type == "cuda" else None
        # Started here, not in the thread: workers are to be children of the consumer's thread.
        batches = iter(self._loader)
        ahead: queue.Queue[tuple[str, Any]] = queue.Queue()
        free = threading.Semaphore(self._depth)
        stop = threading.Event()
        start = copier.start if copier else lambda batch: batch
        thread = threading.Thread(
            target=_fill, args=(batches, start, ahead, free, stop), name="whyidle-prefetch", daemon=True
        )
        thread.start()
        try:
            while True:
                kind, value = ahead.get()
                free.release()
                if kind == "end":
                    return
                if kind == "error":
                    raise value
                yield copier.finish(value) if copier else value
                del value
        finally:
            stop.set()
            free.release()
            thread.join()


def _fill(
    batches: Iterator[Any],
    start: Callable[[Any], Any],
    ahead: queue.Queue[tuple[str, Any]],
    free: threading.Semaphore,
    stop: threading.Event,
) -> None:
    """What the thread does: batch after batch, each once there is room."""
    try:
        while True:
            free.acquire()
            if stop.is_set():
                return
            try:
                batch = next(batches)
            except StopIteration:
                ahead.put(("end", None))
                return
            ahead.put(("batch", start(batch)))
            del batch
    except BaseException as error:  # Raised again where the batch would have come.
        ahead.put(("error", error))


class _Copier:
    """Copies to a CUDA device on a stream of their own."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def start(self, batch: Any) -> tuple[Any, Any]:
        """Begin the copies of a batch: the tensors they fill, and the event that ends them."""
        with torch.cuda.stream(self._stream):
            # The pinned memory of a copy is not handed out again before the copy is done: the allocator keeps an event
            # for it.
            copied = map_tensors(batch, self._copied)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record(self._stream)
        return copied, done

    def finish(self, started: tuple[Any, Any]) -> Any:
        """The batch for the consumer's stream, which waits for the copies and from now on owns the memory."""
        batch, done = started
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(done)
        # The memory belongs to the copy stream: without this, it could be filled again while the step still reads it.
        map_tensors(batch, lambda tensor: _kept(tensor, stream))
        return batch

    def _copied(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "cpu":
            return tensor
        pinned = tensor if tensor.is_pinned() else tensor.pin_memory()
        return pinned.to(self._device, non_blocking=True)


def _kept(tensor: torch.Tensor, stream: Any) -> torch.Tensor:
    if tensor.device.type == "cuda":
        tensor.record_stream(stream)
    return tensor


def map_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same structure with every tensor changed: mappings, lists, tuples, named tuples, packed sequences."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        # Its batch sizes stay on the host.
        orders = [None if part is None else change(part) for part in (value.sorted_indices, value.unsorted_indices)]
        return torch.nn.utils.rnn.PackedSequence(change(value.data), value.batch_sizes, *orders)
    if isinstance(value, Mapping):
        changed = {key: map_tensors(inner, change) for key, inner in value.items()}
        try:
            return changed if type(value) is dict else type(value)(changed)  # type: ignore[call-arg]
        except TypeError:
            return changed
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(inner, change) for inner in value))
    if isinstance(value, (list, tuple)):
        inner = [map_tensors(inner, change) for inner in value]
        try:
            return type(value)(inner)
        except TypeError:
            return tuple(inner) if isinstance(value, tuple) else inner
    return value
