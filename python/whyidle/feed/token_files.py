"""Files of token ids: read by mapping them, written whole or not at all.

Two formats:

- raw, as nanoGPT's ``prepare.py`` writes it: the ids one after the other, little-endian, no header; uint16 by habit;
- Megatron's indexed data set, ``NAME.bin`` with the ids and ``NAME.idx`` beside it. The index holds, little-endian:
  ``MMIDIDX\\0\\0``, version 1 (uint64), a code of the ids' type (uint8), the numbers of sequences and of document
  boundaries (uint64 each), then each sequence's tokens (int32), each sequence's first byte (int64), and the boundaries:
  numbers of sequences, the first of them 0 (int64). Source: NVIDIA/Megatron-LM,
  megatron/core/datasets/indexed_dataset.py.

``whyidle tokenize`` writes both, and ``tokens.json`` beside them: the type of the ids, the id that ends a document, what
was read, and each file's tokens, documents and SHA-256. crates/whyidle-feed/src/formats.rs is the same in Rust.
"""

from __future__ import annotations

import json
import os
import struct
from array import array
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np

from whyidle.feed.files import replace_file

__all__ = ["TokenFile", "TokenFileError", "TokenWriter"]

_MAGIC = b"MMIDIDX\x00\x00"
_VERSION = 1
#: Magic, version, type, sequences, boundaries.
_HEADER = struct.Struct("<9sQBQQ")
_CODES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}
#: llm.c's files begin with a header of 256 int32: this number, then a version.
_LLM_C = (20240520, 20240801)
#: What `whyidle tokenize` says of the files beside it; larger than it ever is.
_ABOUT = "tokens.json"
_LARGEST_ABOUT = 1 << 28


class TokenFileError(ValueError):
    """A token file cannot be used; the message says why and what to do."""


class TokenFile:
    """The tokens of a file, mapped into memory: opening it reads the index's header and nothing of the tokens.

    Args:
        path: A raw file, or either file of a Megatron pair, or what their names have in common; or the folder that
            ``whyidle tokenize`` wrote, where it wrote one file.
        dtype: Type of a raw file's ids; by default what ``tokens.json`` beside it says, else uint16. A Megatron index
            names its own, and then this must be the same if given.

    Raises:
        TokenFileError: Where the file is missing, empty, truncated, or not what it should be.
    """

    def __init__(self, path: str | os.PathLike[str], dtype: Any = None) -> None:
        self._given = (os.fspath(path), dtype)
        self.path, index = _found(_in_folder(Path(path)))
        about = _about(self.path) if index is None else {}
        wanted = None if dtype is None else np.dtype(dtype).newbyteorder("<")
        #: Where each document starts, in tokens, and the end of the last; ``None`` where the file does not say.
        self.starts: np.ndarray | None = None
        #: The id that ends each document of a raw file, where ``tokens.json`` names it.
        self.eos: int | None = about.get("eos")
        if index is None:
            self.dtype = wanted or np.dtype(about.get("dtype", "uint16")).newbyteorder("<")
            size = self.path.stat().st_size
            _raw_is_sound(self.path, size, self.dtype)
        else:
            parsed = _read_index(index, self.path, wanted)
            self.dtype, self.starts = parsed
        if self.dtype.kind not in "iu":
            raise TokenFileError(f"{self.path}: its ids are of type {self.dtype}: tokens are whole numbers")
        # Copy on write: torch takes only what can be written to, and nothing written reaches the file.
        self.tokens = np.memmap(self.path, dtype=self.dtype, mode="c")

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenFile, self._given

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.tokens)


def _in_folder(path: Path) -> Path:
    """The file of tokens in a folder that `whyidle tokenize` wrote; what is no folder stays as it is."""
    if not path.is_dir():
        return path
    about = _read_about(path)
    if about is None:
        raise TokenFileError(f"{path}: it is a folder, and holds no {_ABOUT} of `whyidle tokenize`: name a file")
    names = [file["name"] for file in about["files"]]
    if len(names) != 1:
        raise TokenFileError(
            f"{path}: it holds {len(names)} files of tokens: make a TokenDataset of each, and join them with "
            "torch.utils.data.ConcatDataset"
        )
    return path / str(names[0])


def _about(path: Path) -> dict[str, Any]:
    """What `tokens.json` beside a file says of it; nothing where it is of others."""
    about = _read_about(path.parent)
    if about is None or path.name not in (file["name"] for file in about["files"]):
        return {}
    return {"dtype": about["dtype"], "eos": about["eos"]}


def _read_about(folder: Path) -> dict[str, Any] | None:
    """`tokens.json` of a folder, or what is needed of it; nothing where there is none, or it is something else."""
    path = folder / _ABOUT
    try:
        if path.stat().st_size > _LARGEST_ABOUT:
            return None
        about = json.loads(path.read_bytes())
        eos = about["eos"]
        names = [{"name": str(file["name"])} for file in about["files"]]
        if about["schema"].partition("/")[0] != "whyidle.tokens" or about["dtype"] not in ("uint16", "uint32", "int32"):
            return None
        return {"dtype": about["dtype"], "eos": None if eos is None else int(eos), "files": names}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _found(path: Path) -> tuple[Path, Path | None]:
    """The file with the tokens, and the index beside it."""
    if path.suffix == ".idx":
        data = path.with_suffix(".bin")
        if not path.is_file():
            raise TokenFileError(f"{path}: there is no such file")
    elif path.is_file():
        data = path
    else:
        data = path.with_name(path.name + ".bin")
    if not data.is_file():
        raise TokenFileError(f"{path}: there is no such file{'' if data == path else f', nor {data.name} beside it'}")
    index = data.with_suffix(".idx")
    return data, index if data.suffix == ".bin" and index.is_file() else None


def _raw_is_sound(path: Path, size: int, dtype: np.dtype[Any]) -> None:
    with open(path, "rb") as file:
        start = file.read(16)
    if not size:
        raise TokenFileError(f"{path}: it is empty")
    if start.startswith(_MAGIC):
        raise TokenFileError(f"{path}: this is a Megatron index: name it .idx, beside the .bin file with the tokens")
    if len(start) >= 4 and struct.unpack_from("<i", start)[0] in _LLM_C:
        raise TokenFileError(f"{path}: this is a file of llm.c with a header: cut its first 1024 bytes off")
    if start[:2] == b"\x1f\x8b" or start[:4] in (b"PK\x03\x04", b"\x28\xb5\x2f\xfd"):
        raise TokenFileError(f"{path}: it is compressed: unpack it first, a compressed file cannot be mapped")
    if start.startswith(b"\x93NUMPY"):
        raise TokenFileError(f"{path}: this is a NumPy file: write it with numpy.load(…).tofile(…)")
    if size % dtype.itemsize:
        raise TokenFileError(
            f"{path}: {size} bytes are no whole number of tokens of {dtype.itemsize} bytes: it is truncated, or its "
            f"type is not {dtype}; give dtype"
        )


def _read_index(index: Path, data: Path, wanted: np.dtype[Any] | None) -> tuple[np.dtype[Any], np.ndarray]:
    """Type of the ids, and where documents start in tokens."""
    size = index.stat().st_size
    with open(index, "rb") as file:
        header = file.read(_HEADER.size)
    if not header.startswith(_MAGIC):
        raise TokenFileError(
            f"{index}: it does not begin like a Megatron index (MMIDIDX): move it away to read {data.name} raw"
        )
    if len(header) < _HEADER.size:
        raise TokenFileError(f"{index}: it ends within its header: it is truncated; copy or make it again")
    _, version, code, sequences, boundaries = _HEADER.unpack(header)
    if version != _VERSION:
        raise TokenFileError(f"{index}: it has version {version}, and only {_VERSION} is known")
    if code not in _CODES:
        raise TokenFileError(f"{index}: its type code {code} is unknown: it is damaged, or newer than this program")
    dtype = np.dtype(_CODES[code])
    if wanted is not None and wanted != dtype:
        raise TokenFileError(f"{index}: its ids are {dtype}, not {wanted}: leave dtype out")
    needed = _HEADER.size + 12 * sequences + 8 * boundaries
    # With modes, one byte a sequence follows.
    if size not in (needed, needed + sequences):
        hint = "truncated" if size < needed else "damaged"
        raise TokenFileError(
            f"{index}: {size} bytes, and its {sequences} sequences need {needed}: it is {hint}; copy or make it again"
        )
    if not sequences or not boundaries:
        raise TokenFileError(f"{index}: it holds no document")
    mapped = np.memmap(index, dtype=np.uint8, mode="r")
    at = _HEADER.size
    lengths = np.frombuffer(mapped, "<i4", sequences, at)
    pointers = np.frombuffer(mapped, "<i8", sequences, at + 4 * sequences)
    documents = np.frombuffer(mapped, "<i8", boundaries, at + 12 * sequences)
    end = int(pointers[-1]) + int(lengths[-1]) * dtype.itemsize
    present = data.stat().st_size
    if present != end:
        hint = "it is truncated" if present < end else "the two are not of one making"
        raise TokenFileError(f"{data}: {present} bytes, and its index says {end}: {hint}; copy or make both again")
    if (
        int(pointers[0]) != 0
        or int(documents[0]) != 0
        or int(documents[-1]) > sequences
        or (np.diff(documents) < 0).any()
    ):
        raise TokenFileError(f"{index}: its documents are out of order: it is damaged; make it again")
    byte_starts = np.append(pointers, end)[documents] if len(documents) > 1 else np.array([0, end])
    if byte_starts[-1] != end:
        byte_starts = np.append(byte_starts, end)  # Sequences after the last boundary: a document that was not ended.
    if (byte_starts % dtype.itemsize).any() or (np.diff(byte_starts) < 0).any():
        raise TokenFileError(f"{index}: its documents overlap: it is damaged; make it again")
    return dtype, np.asarray(byte_starts // dtype.itemsize, dtype=np.int64)


class TokenWriter:
    """Write documents of token ids; the files appear under their names when the block ends without an error.

    .. code-block:: python

        with TokenWriter("train.bin") as writer:
            for text in texts:
                writer.add(encode(text))

    Of a Megatron pair that is replaced, the tokens get their name first. A kill before the index got its own leaves the
    old index with the new tokens, which is refused when it is opened unless both have as many bytes.

    Args:
        path: The file with the tokens; for ``megatron``, it ends in ``.bin``, and the index lies beside it.
        dtype: Type of the ids.
        format: ``raw`` or ``megatron``.
        eos: Id that ends every document, added where it does not end so by itself.

    Raises:
        TokenFileError: For an id that the type does not hold, or arguments that do not fit.
        OSError: Where the disk is full or the folder cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dtype: Any = np.uint16,
        *,
        format: Literal["raw", "megatron"] = "raw",
        eos: int | None = None,
    ) -> None:
        self._path = Path(path)
        self._dtype = np.dtype(dtype).newbyteorder("<")
        if self._dtype not in map(np.dtype, _CODES.values()) or self._dtype.kind not in "iu":
            if format == "megatron" or self._dtype != np.dtype("<u4"):
                raise TokenFileError(f"{self._dtype} is no type for tokens here: take uint16 or int32")
        if format == "megatron" and self._path.suffix != ".bin":
            raise TokenFileError(f"{self._path}: the file with the tokens of a Megatron pair ends in .bin")
        self._megatron = format == "megatron"
        self._eos = eos
        self._stack = ExitStack()
        self._lengths = array("i")
        self._file: BinaryIO | None = None

    def __enter__(self) -> TokenWriter:
        with ExitStack() as stack:
            # Closed in the opposite order: first the tokens get their name, then the index that makes a pair of them.
            if self._megatron:
                self._index = stack.enter_context(replace_file(self._path.with_suffix(".idx")))
            self._file = stack.enter_context(replace_file(self._path))
            self._stack = stack.pop_all()
        return self

    def add(self, tokens: Iterable[int] | np.ndarray) -> None:
        """Append a document: its ids, shape ``(tokens,)``. An empty one is left out."""
        if self._file is None:
            raise TokenFileError("documents are added within a with block")
        ids = np.asarray(tokens if isinstance(tokens, (np.ndarray, list, tuple)) else list(tokens))
        if self._eos is not None and (not len(ids) or ids[-1] != self._eos):
            ids = np.append(ids, self._eos)
        if not len(ids):
            return
        limits = np.iinfo(self._dtype)
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise TokenFileError(f"a document is one row of whole numbers, not {ids.dtype} of shape {ids.shape}")
        if ids.min() < limits.min or ids.max() > limits.max:
            raise TokenFileError(f"ids from {ids.min()} to {ids.max()} do not fit {self._dtype}: take a wider dtype")
        if len(ids) > np.iinfo(np.int32).max:
            raise TokenFileError("a document has at most 2^31 - 1 tokens")
        self._file.write(ids.astype(self._dtype).data)
        self._lengths.append(len(ids))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._file = None
        try:
            if kind is None and self._megatron:
                self._write_index()
        except BaseException as failed:
            if not self._stack.__exit__(type(failed), failed, failed.__traceback__):
                raise
        return self._stack.__exit__(kind, error, trace)

    def _write_index(self) -> None:
        lengths = np.frombuffer(self._lengths, dtype=np.int32) if len(self._lengths) else np.zeros(0, np.int32)
        ends = np.cumsum(lengths, dtype=np.int64) * self._dtype.itemsize
        code = next(code for code, name in _CODES.items() if np.dtype(name) == self._dtype)
        self._index.write(_HEADER.pack(_MAGIC, _VERSION, code, len(lengths), len(lengths) + 1))
        self._index.write(lengths.astype("<i4").tobytes())
        self._index.write((ends - lengths.astype(np.int64) * self._dtype.itemsize).astype("<i8").tobytes())
        self._index.write(np.arange(len(lengths) + 1, dtype="<i8").tobytes())
