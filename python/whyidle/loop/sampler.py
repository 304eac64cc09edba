"""Samples of the program from outside: ``whyidle attach``, as a child of the process that it watches."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from whyidle.loop import program
from whyidle.loop.ranks import Ranks

__all__ = ["Sampler"]

#: How long it may take to end, s.
_END_S = 30
_PR_SET_PTRACER = 0x59616D61
_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")

#: Who may read the memory of processes that are forked from this one; 0: nobody more than otherwise.
_reader = 0
_is_registered = False


class Sampler:
    """``whyidle attach`` on this process, or on what started all ranks of this host.

    It reads stacks, NVML and ``/proc``, and writes rows into the recording as they come. It ends with the program,
    after its time, or when it is stopped.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        #: Why there are no samples: code and detail.
        self.failed: tuple[str, str] | None = None
        #: It did not end when it was told to: nothing more is asked of that program.
        self.is_stuck = False

    def start(self, place: Path, seconds: float, ranks: Ranks) -> None:
        """Sample into ``place`` for so long."""
        found = program.find()
        if not sys.platform.startswith("linux"):
            self.failed = ("not-linux", sys.platform)
            return
        if found is None:
            self.failed = ("no-program", "whyidle is neither beside this Python nor on PATH")
            return
        watched = os.getppid() if ranks.local_world > 1 and _is_python(os.getppid()) else os.getpid()
        span = f"{max(1, round(seconds))}s"
        command = [found, "attach", str(watched), "--part", "--out", os.fspath(place), "--for", span]
        self._said = tempfile.TemporaryFile()
        # A session of its own: Ctrl-C is for the program, which stops this in time.
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said, start_new_session=True
            )
        except OSError as error:
            self.failed = ("not-sampled", str(error))
            return
        _let_read(self._child.pid)

    def stop(self) -> None:
        """End it, and wait until its files are complete."""
        child, self._child = self._child, None
        if child is None:
            return
        try:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
            status = child.wait(_END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            status, self.is_stuck = -signal.SIGKILL, True
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            _let_read(0)
        if status != 0:
            silent = f"it did not end in {_END_S} s" if self.is_stuck else f"status {status}"
            self.failed = ("not-sampled", self._last_words() or silent)
        if self._said is not None:
            self._said.close()

    def _last_words(self) -> str:
        if self._said is None:
            return ""
        with contextlib.suppress(OSError):
            self._said.seek(0)
            lines = self._said.read(10_000).decode(errors="replace").split("\n")
            return next((line for line in lines if line.startswith("error")), lines[0])[:300]
        return ""


def _is_python(pid: int) -> bool:
    try:
        return "python" in os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


def _let_read(pid: int) -> None:
    """Where the system lets only ancestors read a process (Yama), let that child read this one and its forks."""
    global _reader, _is_registered
    try:
        if _SCOPE.read_text().strip() != "1":
            return
    except OSError:
        return
    _reader = pid
    _allow()
    if not _is_registered:
        os.register_at_fork(after_in_child=_allow)
        _is_registered = True


def _allow() -> None:
    with contextlib.suppress(Exception):
        libc: Any = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PTRACER, ctypes.c_ulong(_reader), 0, 0, 0)
