"""A copy of a training state in host memory that later changes of the state do not reach."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import torch

__all__ = ["Snapshots"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Snapshots:
    """Makes copies, one at a time, into memory that is used again: a second copy of the same state allocates
    nothing."""

    def __init__(self) -> None:
        #: Host memory of the last copy, by its size in bytes and whether it is pinned.
        self._spare: dict[tuple[int, bool], list[torch.Tensor]] = {}
        self._used: dict[tuple[int, bool], list[torch.Tensor]] = {}

    def take(self, state: Any) -> Any:
        """The state with every tensor in host memory; it holds until the next call.

        Tensors that share a storage share one afterwards. A storage is copied whole, also where only a part of it is
        seen, as ``torch.save`` does it. Dictionaries, lists and tuples are rebuilt; other objects are deep-copied.
        Returns when the copies are done.
        """
        self._used = {}
        devices: set[torch.device] = set()
        with torch.no_grad():
            taken = self._copied(state, {}, devices)
        for device in devices:
            torch.cuda.current_stream(device).synchronize()
        self._spare = self._used
        return taken

    def _copied(self, value: Any, seen: dict[Any, Any], devices: set[torch.device]) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if id(value) in seen:
            return seen[id(value)]
        made: Any
        if isinstance(value, torch.Tensor):
            made = self._tensor(value, seen, devices)
        elif type(value) in (dict, OrderedDict):
            made = type(value)((key, self._copied(inner, seen, devices)) for key, inner in value.items())
            if hasattr(value, "_metadata"):  # Versions of a module's state.
                made._metadata = copy.deepcopy(value._metadata)
        elif type(value) in (list, tuple):
            made = type(value)(self._copied(inner, seen, devices) for inner in value)
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            made = type(value)(*(self._copied(inner, seen, devices) for inner in value))
        else:
            made = copy.deepcopy(value)
        seen[id(value)] = made
        return made

    def _tensor(self, tensor: torch.Tensor, seen: dict[Any, Any], devices: set[torch.device]) -> torch.Tensor:
        simple = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
        if not simple or tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.device.type == "meta":
            return tensor.detach().clone().cpu() if tensor.device.type != "meta" else tensor
        storage = tensor.untyped_storage()
        key = ("storage", storage.data_ptr(), storage.nbytes(), tensor.device)
        if key not in seen:
            host = self._memory(storage.nbytes(), pinned=tensor.device.type == "cuda")
            source = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            host.copy_(source, non_blocking=True)
            if tensor.device.type == "cuda":
                devices.add(tensor.device)
            seen[key] = host.untyped_storage()
        made = torch.empty(0, dtype=tensor.dtype)
        made.set_(seen[key], tensor.storage_offset(), tensor.size(), tensor.stride())
        if isinstance(tensor, torch.nn.Parameter):
            return torch.nn.Parameter(made, tensor.requires_grad)
        return made

    def _memory(self, size: int, pinned: bool) -> torch.Tensor:
        spare = self._spare.get((size, pinned))
        memory = spare.pop() if spare else torch.empty(size, dtype=torch.uint8, pin_memory=pinned)
        self._used.setdefault((size, pinned), []).append(memory)
        return memory
