"""A short trace by PyTorch's own profiler, once."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from whyidle.loop.faults import Faults

__all__ = ["Trace"]

#: Steps that the profiler sees before those that are kept.
_WARM_UP = 2
#: Steps after it that its end still bears on.
_AFTER = 2
#: Fewer steps than that are no trace.
_FEWEST = 3
#: The steps of a trace take no longer than that together, as far as the steps before tell, ns.
_LONGEST_NS = 20 * 10**9
#: How much of the disk a trace may leave.
_FREE_BYTES = 2 * 10**9
#: Speed before size: the file lies on a disk for some days.
_LEVEL = 4


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The profiler's advice is for who called it, not for the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Trace:
    """One trace: some steps to warm up, some that are kept, then written in a thread of its own.

    ``then`` is called with the file once it is complete. Everything in here runs at boundaries of steps.
    """

    def __init__(self, path: Path, steps: int, typical_ns: int, faults: Faults, then: Callable[[Path], None]) -> None:
        fitting = _LONGEST_NS // typical_ns if typical_ns > 0 else steps
        #: Steps that are kept.
        self.steps = max(_FEWEST, min(steps, int(fitting)))
        self._path, self._faults, self._then = path, faults, then
        self._raw = path.with_name(f".{path.name.removesuffix('.gz')}")
        self._profiler: Any = None
        self._is_dropped = False
        self._writer: threading.Thread | None = None
        self._left = _AFTER
        #: Why there is none, a stable code.
        self.failed: str | None = None

    @property
    def records(self) -> bool:
        """The profiler is on."""
        return self._profiler is not None

    @property
    def disturbs(self) -> bool:
        """The step that begins now is not as it would be without the trace."""
        return self.records or self._left > 0

    def begin(self) -> None:
        """Start the profiler; to be called at a boundary."""
        torch = sys.modules["torch"]
        if shutil.disk_usage(self._path.parent).free < _FREE_BYTES:
            self.failed, self._left = "no-space", 0
            return
        profiling = __import__("torch.profiler", fromlist=["profile"])
        activities = [profiling.ProfilerActivity.CPU]
        if torch.cuda.is_initialized():
            activities.append(profiling.ProfilerActivity.CUDA)
        self._profiler = profiling.profile(
            activities=activities,
            schedule=profiling.schedule(wait=0, warmup=_WARM_UP, active=self.steps, repeat=1),
            on_trace_ready=self._ready,
            record_shapes=True,
        )
        try:
            with _quiet():
                self._profiler.start()
        except BaseException:
            self.drop("profiler-failed")
            raise

    def boundary(self) -> None:
        """A step ended."""
        profiler = self._profiler
        if profiler is not None:
            try:
                with _quiet():
                    profiler.step()
                    if not self.records:
                        # It has been read; this ends the mark of the step that began.
                        profiler.stop()
            except BaseException:
                self.failed = "profiler-failed"
                self.drop()
                raise
        elif self._writer is None or not self._writer.is_alive():
            self._left -= 1

    def drop(self, why: str | None = None) -> None:
        """Stop the profiler and keep nothing."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        self._is_dropped = True
        self.failed = why or self.failed or "dropped"
        with contextlib.suppress(Exception), _quiet():
            profiler.stop()

    def finish(self, seconds: float) -> None:
        """Wait for the file, at most so long."""
        self.drop("ended-early")
        if self._writer is not None:
            self._writer.join(seconds)

    def give_way(self, profiler: Any) -> None:
        """A profiler that the program starts meanwhile takes the place of ours: there can be one only."""
        if self._profiler is not None and profiler is not self._profiler:
            self.drop("program-profiles")

    def _ready(self, profiler: Any) -> None:
        """The steps are over: called by the profiler within its ``step``."""
        self._profiler = None
        if self._is_dropped:
            return
        profiler.export_chrome_trace(os.fspath(self._raw))
        self._writer = threading.Thread(target=self._write, name="whyidle-trace", daemon=True)
        self._writer.start()

    def _write(self) -> None:
        part = self._path.with_name(f".{self._path.name}.part")
        try:
            with self._raw.open("rb") as raw, gzip.open(part, "wb", compresslevel=_LEVEL) as packed:
                shutil.copyfileobj(raw, packed, 1 << 20)
            part.rename(self._path)
            self._then(self._path)
        except Exception as error:  # noqa: BLE001 – ours, not the program's
            self.failed = "not-written"
            self._faults.note(error)
            part.unlink(missing_ok=True)
        finally:
            self._raw.unlink(missing_ok=True)
