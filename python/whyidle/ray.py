"""The verdict on the ranks of a job, with their traces digested on a Ray cluster.

Ray is the engine and ``whyidle`` the function: every trace becomes a digest of some tens of kilobytes in a task of its
own, and the digests are judged together where :func:`analyze` was called. A task whose worker dies is run again; a
digest depends on nothing but its trace, so the verdict is the same, bit for bit, as without Ray.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fsspec
import ray

__all__ = ["AnalysisError", "analyze"]

_TRACES = (".json", ".json.gz")
#: Files beside a trace that say more of its run.
_RECORDED = ("recording.json", "case.json")


class AnalysisError(RuntimeError):
    """No verdict was reached; the message says why and what to do."""


def analyze(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    step_ms: float | None = None,
    binary: str | os.PathLike[str] | None = None,
    retries: int = 3,
    language: str = "en",
) -> dict[str, Any]:
    """Give the verdict on the ranks whose traces lie at ``paths``.

    Args:
        paths: Traces or directories with traces: local, on a shared file system, or anything that fsspec opens
            (``s3://…``, ``gs://…``).
        step_ms: The true step time in milliseconds, measured without a profiler.
        binary: The ``whyidle`` program; by default the one on ``PATH``. It is sent to the workers.
        retries: How often a task is run again whose worker died.
        language: Language of the texts, ``en`` or ``zh``.

    Returns:
        The verdict, schema ``whyidle.verdict/1``.

    Raises:
        AnalysisError: Where there is no trace, a trace cannot be read, or the evidence carries no verdict.
    """
    program = _program(binary)
    traces = _traces([paths] if isinstance(paths, (str, os.PathLike)) else list(paths))
    if not traces:
        raise AnalysisError("there is no trace at these paths")
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    task = ray.remote(_digest).options(max_retries=retries, retry_exceptions=False)
    shipped = ray.put(program.read_bytes())
    digests = ray.get([task.remote(shipped, trace, step_ms) for trace in traces])
    with tempfile.TemporaryDirectory(prefix="whyidle-") as folder:
        for at, digest in enumerate(digests):
            if digest is not None:
                (Path(folder) / f"{at:06}.gz").write_bytes(digest)
        verdict: dict[str, Any] = json.loads(_run(program, ["merge", folder, "--format", "json", "--lang", language]))
        return verdict


def _program(binary: str | os.PathLike[str] | None) -> Path:
    found = shutil.which(os.fspath(binary) if binary is not None else "whyidle")
    if found is None:
        raise AnalysisError("the whyidle program was not found: install it, or name it with `binary`")
    return Path(found)


def _traces(paths: list[str | os.PathLike[str]]) -> list[str]:
    """The traces that the paths stand for, directories by name."""
    found: list[str] = []
    for path in paths:
        system, inside = fsspec.core.url_to_fs(os.fspath(path))
        if system.isdir(inside):
            names = sorted(system.ls(inside, detail=False))
            inner = [name for name in names if Path(name).name.startswith("trace") and name.endswith(_TRACES)]
        else:
            inner = [inside]
        local = _is_local(system)
        found.extend(name if local else system.unstrip_protocol(name) for name in inner)
    return found


def _is_local(system: fsspec.AbstractFileSystem) -> bool:
    protocol = system.protocol
    return "file" in (protocol if isinstance(protocol, (tuple, list)) else (protocol,))


def _digest(program: bytes, trace: str, step_ms: float | None) -> bytes | None:
    """The digest of a trace; ``None`` where its evidence carries none. Runs on a worker."""
    step = [] if step_ms is None else ["--step-ms", repr(step_ms)]
    with tempfile.TemporaryDirectory(prefix="whyidle-") as folder:
        out = Path(folder) / "digest.gz"
        local = _fetch(trace, Path(folder))
        arguments = ["digest", str(local), "--recorded", "--name", trace, "-o", str(out), *step]
        done = subprocess.run([_placed(program), *arguments], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return out.read_bytes()
        if done.returncode == 1:
            return None
        raise AnalysisError(done.stderr.strip())


def _fetch(trace: str, folder: Path) -> Path:
    """A trace as a local file, with what lies beside it of the recording."""
    system, inside = fsspec.core.url_to_fs(trace)
    if _is_local(system):
        return Path(inside)
    beside = system.ls(inside.rsplit("/", 1)[0], detail=False)
    wanted = [name for name in beside if name.endswith(".json") and _is_recorded(Path(name).name)]
    for name in [*wanted, inside]:
        system.get_file(name, str(folder / Path(name).name))
    return folder / Path(inside).name


def _is_recorded(name: str) -> bool:
    return name in _RECORDED or name.startswith("case_rank")


def _placed(program: bytes) -> str:
    """The program as a file on this machine, once for all tasks."""
    name = hashlib.sha256(program).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"whyidle-{os.getuid()}-{name}"
    if not place.exists():
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(program)
        os.chmod(file.name, stat.S_IRWXU)
        os.replace(file.name, place)
    return str(place)


def _run(program: Path, arguments: list[str]) -> str:
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AnalysisError(done.stderr.strip() or done.stdout.strip())
    return done.stdout
