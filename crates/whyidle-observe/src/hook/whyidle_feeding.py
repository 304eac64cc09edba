"""Feeds a program otherwise than its loaders would, to see what they cost: the first batch again and again, from the
device's memory (`synthetic`); the first batches again and again, from the host's (`cached`); the program's own, with
the page cache empty of its files (`cold`).
"""

import copy
import os
import sys

# Batches that are kept hold at most this, bytes.
MOST_BYTES = 1 << 30
# Smaller files are not what training reads.
LEAST_BYTES = 4096


class Feeding:
    def __init__(self, wanted, account):
        self.account = account
        self.synthetic = "synthetic" in wanted
        self.kept = 1 if self.synthetic else int(wanted.get("cached") or 0)
        self.cold = Cold(account) if "cold" in wanted else None
        # By dataset: the batches that were kept.
        self.batches, self.device, self.is_fed = {}, None, False

    def first_step(self, optimizer):
        if self.synthetic:
            self.device = next(part.device for group in optimizer.param_groups for part in group["params"])
            for kept in self.batches.values():
                kept[:] = [_on(batch, self.device) for batch in kept]

    def holds(self):
        """Steps are still those of the program's own batches, which are being kept."""
        return bool(self.kept and self.batches and not self.is_fed)

    def loaders(self, module):
        iterator = module._BaseDataLoaderIter
        fetch = iterator.__next__
        make = iterator.__init__
        feeding = self

        def __init__(self, *args, **kwargs):
            make(self, *args, **kwargs)
            if feeding.cold is not None:
                feeding.cold.drop_open()

        def __next__(self):
            if not feeding.kept:
                return fetch(self)
            return feeding.next(self, fetch)

        iterator.__init__ = __init__
        iterator.__next__ = __next__

    def next(self, iterator, fetch):
        """The next batch: one of those that were kept, once there are enough. An epoch is as long as ever."""
        kept = self.batches.setdefault(id(iterator._dataset), [])
        given = iterator.__dict__.setdefault("_whyidle_given", 0)
        if len(kept) < self.kept:
            try:
                batch = fetch(iterator)
            except StopIteration:
                if not kept:
                    raise
                self.kept = len(kept)
                raise
            kept.append(copy_of(batch) if self.device is None else _on(copy_of(batch), self.device))
            if size_of(batch) * len(kept) > MOST_BYTES:
                self.kept = len(kept)
            iterator._whyidle_given = given + 1
            return batch
        try:
            length = len(iterator._index_sampler)
        except Exception:
            length = None
        # Workers are not asked further; the epoch ends where it would.
        if length is not None and given >= length:
            raise StopIteration
        name, what = ("synthetic", "the first batch") if self.synthetic else ("cached", "%d batches" % len(kept))
        self.account.set(name, "the loader", what)
        iterator._whyidle_given = given + 1
        self.is_fed = True
        return copy_of(kept[given % len(kept)])


def copy_of(batch):
    """The same tensors in containers of their own: programs take things out of them."""
    if isinstance(batch, tuple):
        return batch if hasattr(batch, "_fields") else tuple(copy_of(part) for part in batch)
    if isinstance(batch, list):
        return [copy_of(part) for part in batch]
    if hasattr(batch, "items"):
        return copy.copy(batch)
    return batch


def _on(batch, device):
    if hasattr(batch, "to"):
        return batch.to(device)
    if isinstance(batch, tuple):
        return type(batch)(*(_on(part, device) for part in batch)) if hasattr(batch, "_fields") else tuple(
            _on(part, device) for part in batch
        )
    if isinstance(batch, list):
        return [_on(part, device) for part in batch]
    if hasattr(batch, "items"):
        for name, part in list(batch.items()):
            batch[name] = _on(part, device)
    return batch


def size_of(batch, depth=0):
    if hasattr(batch, "element_size") and hasattr(batch, "numel"):
        return batch.element_size() * batch.numel()
    if depth > 4:
        return 0
    if hasattr(batch, "values"):
        return sum(size_of(part, depth + 1) for part in batch.values())
    if isinstance(batch, (list, tuple)):
        return sum(size_of(part, depth + 1) for part in batch)
    return 0


class Cold:
    """Takes files out of the page cache: those that are opened for reading, right before; those that stay open or
    mapped, at the start of each epoch. Files of Python itself are left alone."""

    def __init__(self, account):
        self.account, self.busy, self.files = account, False, set()
        self.libraries = tuple({os.path.dirname(os.__file__), sys.prefix, sys.base_prefix, "/proc", "/sys", "/dev"})
        # What was just written is not yet on the disk, and would stay.
        os.sync()
        sys.addaudithook(self.heard)

    def heard(self, event, args):
        if event != "open" or self.busy:
            return
        self.busy = True
        try:
            path, mode, flags = args
            reads = not (flags & (os.O_WRONLY | os.O_RDWR)) if isinstance(flags, int) else True
            if isinstance(path, (str, bytes)) and reads:
                self.drop(os.fsdecode(path))
        except Exception:
            pass
        finally:
            self.busy = False

    def drop(self, path):
        path = os.path.abspath(path)
        if path.startswith(self.libraries) or path.startswith(self.account.folder) or _is_code(path):
            return
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = os.fstat(fd)
            if found.st_size >= LEAST_BYTES and (found.st_mode & 0o170000) == 0o100000:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                self.dropped(path)
        finally:
            os.close(fd)

    def dropped(self, path):
        if path in self.files:
            return
        self.files.add(path)
        if len(self.files) == 1:
            why = _in_memory(path)
            if why:
                self.account.not_("cold", "in-memory-files", why)
            else:
                self.account.set("cold", "the page cache", "storage")

    def drop_open(self):
        """Files that are open or mapped."""
        self.busy = True
        try:
            paths = set()
            for fd in os.listdir("/proc/self/fd"):
                try:
                    paths.add(os.readlink("/proc/self/fd/" + fd))
                except OSError:
                    pass
            with open("/proc/self/maps") as maps:
                paths.update(line.split(None, 5)[5].rstrip("\n") for line in maps if line.count("/") and " r--" in line)
            for path in paths:
                if path.startswith("/"):
                    try:
                        self.drop(path)
                    except OSError:
                        pass
        except Exception:
            pass
        finally:
            self.busy = False


def _is_code(path):
    return path.endswith((".py", ".pyc", ".so")) or ".so." in path


def _in_memory(path):
    """The kind of a file system that has nothing below its cache."""
    best, kind = "", ""
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            parts = line.split()
            where, what = parts[4], parts[parts.index("-") + 1]
            if path.startswith(where) and len(where) >= len(best):
                best, kind = where, what
    return kind if kind in ("tmpfs", "ramfs") else None
