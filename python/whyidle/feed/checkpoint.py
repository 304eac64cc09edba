"""Checkpoints that hold up the training only for a copy to host memory, and of which the last good one always loads.

A save copies the state (:mod:`whyidle.feed.snapshot`) and returns; a thread writes the copy beside its place, flushes
it to the disk and renames it. A checkpoint is checked before it is loaded: by the CRC-32 of the whole file, which is the
comment of a PyTorch file (a zip), or lies in a safetensors file (:mod:`whyidle.feed.tensor_files`). Of a PyTorch file
of others, which has no such comment, the CRC-32 of every part is checked.
"""

from __future__ import annotations

import operator
import os
import re
import struct
import threading
import warnings
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Literal, cast

import torch

from whyidle.feed.files import PARTIAL, replace_file
from whyidle.feed.snapshot import Snapshots
from whyidle.feed.tensor_files import is_sound, read_state, write_state

__all__ = ["AsyncCheckpointer", "CheckpointError", "latest_checkpoint", "load_checkpoint"]

_SUFFIXES = {"torch": ".pt", "safetensors": ".safetensors"}
#: How the comment of a zip of ours begins; the CRC-32 of the file without it follows, eight hexadecimal digits.
_MARK = b"whyidle.crc32 "
_CHUNK = 1 << 24
_NAME = re.compile(r"step-(\d{12,})(\.pt|\.safetensors)")


class CheckpointError(RuntimeError):
    """A checkpoint was not written or is not whole; the message says why."""


class AsyncCheckpointer:
    """Save a state while the training goes on.

    .. code-block:: python

        with AsyncCheckpointer("checkpoints", keep=3) as checkpoints:
            found = checkpoints.load()
            …
            checkpoints.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, step)

    Between saves, it keeps as much host memory as the state has, so that the next copy need not ask for it; on a GPU,
    the memory is pinned. One checkpointer writes to a folder at a time. When the program ends by itself, it waits for a
    save under way.

    Args:
        folder: Where the checkpoints lie; made if missing. What a killed save left there is removed.
        keep: How many are kept, the highest steps, at least 1. One more lies there while the next is written.
        format: ``torch`` for any state, or ``safetensors`` for dictionaries, lists, plain values and tensors.
        busy: What a save does while one is under way: ``wait`` for it, or ``refuse``.

    Raises:
        ValueError: For arguments that are none of these.
        OSError: Where the folder cannot be made.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        keep: int = 3,
        format: Literal["torch", "safetensors"] = "torch",
        *,
        busy: Literal["wait", "refuse"] = "wait",
    ) -> None:
        if keep < 1:
            raise ValueError(f"at least one checkpoint is kept, not {keep}")
        if format not in _SUFFIXES or busy not in ("wait", "refuse"):
            raise ValueError(f"format is torch or safetensors and busy is wait or refuse, not {format!r} and {busy!r}")
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(f".step-*{PARTIAL}"):
            left.unlink(missing_ok=True)
        self._keep, self._format, self._busy = keep, format, busy
        self._snapshots = Snapshots()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def save(self, state: Any, step: int) -> bool:
        """Save a state as that of ``step``, at least 0; an earlier checkpoint of this step is replaced.

        The caller is held up for the copy to host memory, and for a save under way with ``busy="wait"``.

        Returns:
            Whether the save was begun; ``False`` only with ``busy="refuse"``.

        Raises:
            CheckpointError: Where the save before this one failed. This one is not begun then.
        """
        if operator.index(step) < 0:
            raise ValueError(f"a step is at least 0, not {step}")
        if self._busy == "refuse" and self._thread is not None and self._thread.is_alive():
            return False
        self.wait()
        taken = self._snapshots.take(state)
        self._thread = threading.Thread(target=self._write, args=(taken, step), name="whyidle-checkpoint")
        self._thread.start()
        return True

    def wait(self) -> None:
        """Wait until the last save is on the disk.

        Raises:
            CheckpointError: Where it failed; raised once.
        """
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise CheckpointError(f"the last checkpoint was not written: {error}") from error

    def latest(self) -> Path | None:
        """The checkpoint of the highest step that is whole; see :func:`latest_checkpoint`."""
        self.wait()
        return latest_checkpoint(self.folder)

    def load(self, *, weights_only: bool = True) -> tuple[int, Any] | None:
        """Step and state of :meth:`latest`, on the host; ``None`` where there is none."""
        path = self.latest()
        return None if path is None else (_step(path), load_checkpoint(path, weights_only=weights_only))

    def close(self) -> None:
        """Wait for the last save, as :meth:`wait`, and let the host memory go."""
        try:
            self.wait()
        finally:
            self._snapshots = Snapshots()

    def __enter__(self) -> AsyncCheckpointer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except CheckpointError as failed:
            if error is None:
                raise
            warnings.warn(str(failed), stacklevel=2)  # Not in the place of the error that ended the block.

    def _write(self, state: Any, step: int) -> None:
        try:
            path = self.folder / f"step-{step:012}{_SUFFIXES[self._format]}"
            with replace_file(path) as file:
                if self._format == "torch":
                    summed = _Summed(file)
                    torch.save(state, cast(IO[bytes], summed))
                    summed.seal()
                else:
                    write_state(file, state)
            self._remove_old(path)
        except BaseException as error:  # Raised by the next call.
            self._error = error

    def _remove_old(self, written: Path) -> None:
        for old in _checkpoints(self.folder)[self._keep :]:
            if old != written:
                old.unlink(missing_ok=True)


def latest_checkpoint(folder: str | os.PathLike[str]) -> Path | None:
    """The checkpoint of the highest step in a folder that is whole, each read to be checked.

    Checkpoints that are not are passed over with a warning. ``None`` where there is none.
    """
    for path in _checkpoints(Path(folder)):
        if _is_whole(path):
            return path
        warnings.warn(f"{path} is damaged and is passed over", stacklevel=2)
    return None


def load_checkpoint(path: str | os.PathLike[str], *, weights_only: bool = True) -> Any:
    """The state in a checkpoint, on the host.

    Args:
        path: The file.
        weights_only: Whether objects other than tensors and plain values are refused in a PyTorch file, which can run
            code when it is loaded; see ``torch.load``.

    Raises:
        CheckpointError: Where the file is damaged or missing.
    """
    path = Path(path)
    if not _is_whole(path):
        raise CheckpointError(f"{path} is damaged or missing")
    if path.suffix == ".pt":
        return torch.load(path, map_location="cpu", weights_only=weights_only)
    return read_state(path)


def _checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a folder, the highest step first."""
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda path: (_step(path), path.name), reverse=True)


def _step(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    assert match is not None, "only named checkpoints get here"
    return int(match[1])


def _is_whole(path: Path) -> bool:
    try:
        if path.suffix != ".pt":
            return is_sound(path)
        sealed = _is_sealed(path)
        if sealed is not None:
            return sealed
        with zipfile.ZipFile(path) as parts:
            return parts.testzip() is None
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError):
        return False


class _Summed:
    """A zip file that is being written from its start, and the CRC-32 of what was."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._crc = file, 0

    def write(self, data: Any) -> int:
        self._crc = zlib.crc32(data, self._crc)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> None:
        """Make the checksum the zip's comment: the last two bytes so far are the length of none."""
        comment = _MARK + f"{self._crc:08x}".encode()
        self._file.seek(-2, os.SEEK_END)
        self._file.write(struct.pack("<H", len(comment)) + comment)


def _is_sealed(path: Path) -> bool | None:
    """Whether a file is as it was sealed; ``None`` where it never was: a zip without a comment, as PyTorch's are."""
    tail = 2 + len(_MARK) + 8
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - tail))
        end = file.read()
        if end[-22:-18] == b"PK\5\6" and end[-2:] == b"\0\0":
            return None
        if len(end) < tail or not end[2:].startswith(_MARK):
            return False
        file.seek(0)
        crc, left = 0, size - tail
        while left and (chunk := file.read(min(left, _CHUNK))):
            crc, left = zlib.crc32(chunk, crc), left - len(chunk)
    crc = zlib.crc32(b"\0\0", crc)
    return end == struct.pack("<H", tail - 2) + _MARK + f"{crc:08x}".encode()
