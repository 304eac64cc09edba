"""Files that are whole or absent: written beside their place, flushed to the disk, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["PARTIAL", "replace_file", "sync_folder"]

#: How the name of a file ends that is still being written.
PARTIAL = ".partial"


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` once the block ends without an error.

    At any moment, also after a kill or a loss of power, ``path`` is the old file or the whole new one: the data reaches
    the disk before the name does, and the name before this returns. After an error, nothing is left behind.

    Raises:
        OSError: Where the file cannot be written, e.g. a full disk.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
    try:
        with open(partial, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk. Windows cannot and need not."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
