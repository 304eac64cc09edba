"""A training state as a safetensors file that any reader of the format opens, with a checksum and its structure.

The format: the length of a header (uint64, little-endian), the header (JSON: type, shape and bytes of each tensor by
name), then the bytes. Source: huggingface/safetensors, README. What a flat table of tensors cannot say lies in the
header's ``__metadata__``: the structure of the state, which names are one tensor, and a CRC-32: of the bytes, then of
the header and its length with eight zeros in the checksum's place.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import torch

__all__ = ["is_sound", "read_state", "write_state"]

_STRUCTURE = "whyidle.structure"
_CHECKSUM = "whyidle.crc32"
#: In its place while it is computed.
_UNKNOWN = "00000000"
_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    "U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _TYPES.items()}
_CHUNK = 1 << 24


def write_state(file: BinaryIO, state: Any) -> None:
    """Write a state of dictionaries (keys: text or whole numbers), lists, tuples, plain values and tensors on the host.

    Raises:
        TypeError: For anything else in the state, with its place.
    """
    writing = _Writing(state)
    header: dict[str, Any] = {}
    at = crc = 0
    # Wide types first: then each tensor lies aligned.
    order = sorted(writing.tensors.items(), key=lambda item: -item[1].element_size())
    for name, tensor in order:
        data = _bytes(tensor)
        header[name] = {
            "dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)],
        }  # fmt: skip
        at += len(data)
        crc = zlib.crc32(data, crc)
    header["__metadata__"] = {_CHECKSUM: _UNKNOWN, _STRUCTURE: json.dumps(writing.structure)}
    # First, so that nothing before it can look like it.
    text = json.dumps({"__metadata__": header.pop("__metadata__"), **header}).encode()
    text += b" " * (-len(text) % 8)
    start = struct.pack("<Q", len(text)) + text
    file.write(_sealed(start, zlib.crc32(start, crc)))
    for _, tensor in order:
        file.write(_bytes(tensor))


def read_state(path: Path) -> Any:
    """The state that was written, with tensors on the host; what was one tensor is one again.

    Raises:
        ValueError: Where the file is not one of :func:`write_state`.
    """
    with open(path, "rb") as file:
        header, _ = _header(file, path.stat().st_size)
        if header is None:
            raise ValueError(f"{path}: this is no state that whyidle wrote")
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        tensor = torch.empty(entry["shape"], dtype=_TYPES[entry["dtype"]])
        if end > start:
            _bytes(tensor)[:] = data[start:end]
        tensors[name] = tensor
    return _rebuilt(json.loads(header["__metadata__"][_STRUCTURE]), tensors)


def is_sound(path: Path) -> bool:
    """Whether the file is whole: its header reads, its size fits, and both have the header's checksum."""
    with open(path, "rb") as file:
        header, end = _header(file, path.stat().st_size)
        if header is None or end != path.stat().st_size:
            return False
        crc = 0
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
        file.seek(0)
        length = file.read(8)
        start = length + file.read(struct.unpack("<Q", length)[0])
    return start == _sealed(start, zlib.crc32(_sealed(start, 0), crc))


def _sealed(start: bytes, crc: int) -> bytes:
    """A length and header with this checksum in its place."""
    mark = f'"{_CHECKSUM}": "'.encode()
    at = start.find(mark) + len(mark)
    return start[:at] + f"{crc:08x}".encode() + start[at + len(_UNKNOWN) :]


def _header(file: BinaryIO, size: int) -> tuple[dict[str, Any] | None, int]:
    """The header, ``None`` where it is damaged or of another writer, and where the last tensor ends in the file."""
    start = file.read(8)
    if len(start) < 8 or (length := struct.unpack("<Q", start)[0]) > size - 8:
        return None, 0
    try:
        header = json.loads(file.read(length))
        known = {_STRUCTURE, _CHECKSUM} <= header["__metadata__"].keys()
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None, 0
    return header if known else None, 8 + length + max(ends, default=0)


def _bytes(tensor: torch.Tensor) -> memoryview:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data


class _Writing:
    """What a state needs written: tensors by name, and how the state is made of them."""

    def __init__(self, state: Any) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._views: dict[int, set[Any]] = {}
        self._named: dict[Any, str] = {}
        self._look(state)
        self.structure = self._node(state, "")

    def _look(self, value: Any) -> None:
        """Count the different views of each storage."""
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.device.type == "meta":
                raise TypeError(f"there is a tensor of {value.layout} on {value.device}: take format='torch'")
            self._views.setdefault(_storage(value), set()).add(_view(value))
        elif isinstance(value, dict):
            for inner in value.values():
                self._look(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                self._look(inner)

    def _node(self, value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value, name or "tensor")
        if isinstance(value, dict):
            if not all(type(key) in (str, int) for key in value):
                raise TypeError(
                    f"{name or 'the state'} has a key that is neither text nor a whole number: take format='torch'"
                )
            return {
                "dict": [
                    [key, self._node(inner, f"{name}.{key}" if name else str(key))] for key, inner in value.items()
                ]
            }
        if type(value) in (list, tuple):
            inner = [self._node(inner, f"{name}.{at}" if name else str(at)) for at, inner in enumerate(value)]
            return {type(value).__name__: inner}
        if type(value) in (type(None), bool, int, float, str):
            return {"value": value}
        raise TypeError(
            f"{name or 'the state'} is of type {type(value).__name__}, which safetensors cannot hold: "
            "take format='torch'"
        )

    def _tensor(self, tensor: torch.Tensor, name: str) -> Any:
        if tensor.dtype not in _NAMES or tensor.layout != torch.strided:
            raise TypeError(f"{name} is a tensor of {tensor.dtype}, {tensor.layout}: take format='torch'")
        storage, view = _storage(tensor), _view(tensor)
        if tensor.numel() and len(self._views[storage]) > 1:
            # Different views of one memory: the memory is written once, and each view says how it sees it.
            if storage not in self._named:
                whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
                self._named[storage] = self._new(f"{name}.storage", whole)
            return {"view": [self._named[storage], _NAMES[tensor.dtype], *view[1:]]}
        key = (storage, view) if tensor.numel() else object()
        if key not in self._named:
            self._named[key] = self._new(name, tensor)
        return {"tensor": self._named[key]}

    def _new(self, name: str, tensor: torch.Tensor) -> str:
        while name in self.tensors or name == "__metadata__":
            name += "_"
        self.tensors[name] = tensor
        return name


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _view(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())


def _rebuilt(node: Any, tensors: dict[str, torch.Tensor]) -> Any:
    ((kind, value),) = node.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "view":
        name, dtype, offset, shape, stride = value
        return torch.empty(0, dtype=_TYPES[dtype]).set_(tensors[name].untyped_storage(), offset, shape, stride)
    if kind == "dict":
        return {key: _rebuilt(inner, tensors) for key, inner in value}
    if kind in ("list", "tuple"):
        inner = [_rebuilt(inner, tensors) for inner in value]
        return tuple(inner) if kind == "tuple" else inner
    return value
