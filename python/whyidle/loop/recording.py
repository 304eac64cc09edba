"""What the process adds to ``recording.json``: its steps, versions, memory, phases and batches."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from whyidle.loop.ranks import Ranks

__all__ = ["about", "describe", "merge"]

SCHEMA = "whyidle.recording/1"


def about(ranks: Ranks) -> dict[str, Any]:
    """Versions, memory and place in the job of this process."""
    torch = sys.modules.get("torch")
    found: dict[str, Any] = {
        "rank": ranks.rank if ranks.world > 1 else None,
        "world": ranks.world,
        "python": platform.python_version(),
        "cpus": _cores(),
    }
    version = getattr(torch, "version", None)
    if torch is not None:
        found["torch"] = str(torch.__version__)
        found["cuda"] = getattr(version, "cuda", None) or getattr(version, "hip", None)
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        found["gpu"] = str(cuda.get_device_name())
        found["max_memory_allocated"] = int(cuda.max_memory_allocated())
        found["max_memory_reserved"] = int(cuda.max_memory_reserved())
    return {name: value for name, value in found.items() if value is not None}


def describe(
    place: Path, ranks: Ranks, members: dict[str, Any], missing: list[dict[str, str]], has_samples: bool
) -> None:
    """Write what this rank has to say; of several, rank 0 says it for the whole too.

    The sampler's own ``recording.json`` is added to, never replaced: it knows processes and GPUs.
    """
    found = {**about(ranks), **members}
    if ranks.world > 1:
        alone = {"schema": SCHEMA, "command": _command(), "pids": [os.getpid()], "state": "ended", **found}
        own = place / f"recording_rank{ranks.rank}.json"
        merge(own, alone, missing)
    if ranks.rank == 0:
        whole = place / "recording.json"
        if not has_samples and not whole.exists():
            found = {"schema": SCHEMA, "command": _command(), "pids": [os.getpid()], "ended": time.time(), **found}
        merge(whole, found, missing)


def merge(path: Path, members: dict[str, Any], missing: list[dict[str, str]]) -> None:
    """Add members to a description, or replace them, at once: a reader sees it before or after.

    What it says that makes no sense is left, and so is the rest of what it holds.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        known = {}
    # Names of the GPUs as the sampler lists them say more than the one that this process uses.
    kept = {name: known[name] for name in ("gpu", "pids", "command", "cpus") if known.get(name)}
    listed = known.get("missing")
    missed = [*(listed if isinstance(listed, list) else []), *missing]
    text = json.dumps({**known, **members, **kept, "missing": missed}, indent=1, ensure_ascii=False)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        # Arguments of a command may be no text.
        draft.write_text(f"{text}\n", encoding="utf-8", errors="replace")
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _command() -> list[str]:
    return list(getattr(sys, "orig_argv", sys.argv))


def _cores() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count()
