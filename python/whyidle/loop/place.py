"""Where a recording lies: a directory that is new, or that other ranks of the same job have begun."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from whyidle.loop.ranks import Ranks

__all__ = ["PlaceError", "check", "claim", "claimed_by_all", "complete", "job"]

#: Directories of one name that are tried.
_MOST = 10_000
_RANKED = "recording_rank"
#: A directory that a run of one rank has taken, until its description lies there.
_TAKEN = ".recording"


class PlaceError(FileExistsError):
    """The directory holds something already, which would be overwritten or taken for this run's."""


def job() -> str:
    """What ranks of one job share and those of another do not, as far as the environment tells."""
    get = os.environ.get
    address, port = get("MASTER_ADDR", ""), get("MASTER_PORT", "")
    run = f"{get('TORCHELASTIC_RUN_ID', '')}.{get('TORCHELASTIC_RESTART_COUNT', '')}"
    return f"{address}:{port}/{run}" if port else f"parent {os.getppid()}"


def check(out: Path, ranks: Ranks) -> None:
    """That a recording may be written there.

    Raises:
        PlaceError: Where something else lies there.
    """
    if not out.exists():
        if out.is_symlink():
            raise PlaceError(f"{out} is a link to nothing; name a directory that is new or empty")
        return
    if not out.is_dir():
        raise PlaceError(f"{out} is a file; name a directory that is new or empty")
    names = os.listdir(out)
    if not names or (ranks.world > 1 and _is_of_job(out, ranks.rank)):
        return
    raise PlaceError(f"{out} is not empty; name a directory that is new or empty, or none: then one is made")


def claim(out: Path | None, base: Path, ranks: Ranks, is_numbered: bool) -> Path:
    """Make the directory, and this rank's part in it; what is there is never overwritten.

    Args:
        out: The directory, where the user named one.
        base: Where one is made otherwise.
        ranks: This process's place in its job.
        is_numbered: Where ``out`` is taken, the next free of ``out-2``, ``out-3`` … is used.

    Raises:
        PlaceError: Where ``out`` is taken.
    """
    if out is not None and not is_numbered:
        check(out, ranks)
        out.mkdir(parents=True, exist_ok=True)
        if not _take(out, ranks):
            if ranks.world == 1:
                raise PlaceError(f"{out} is taken by another run that began at the same moment")
            raise PlaceError(f"{out} holds a recording of rank {ranks.rank} already")
        return out
    stem = base / _name(ranks) if out is None else out
    for number in range(1, _MOST):
        place = stem if number == 1 else stem.with_name(f"{stem.name}-{number}")
        try:
            check(place, ranks)
        except PlaceError:
            continue
        place.mkdir(parents=True, exist_ok=True)
        if _take(place, ranks):
            return place
    raise PlaceError(f"{stem} and all its numbers are taken")


def complete(place: Path, ranks: Ranks) -> None:
    """The recording is there, and keeps the directory by itself."""
    if ranks.world == 1:
        (place / _TAKEN).unlink(missing_ok=True)


def claimed_by_all(place: Path, ranks: Ranks) -> bool:
    """Every other rank of this host that began a recording here has ended it."""
    for path in place.glob(f"{_RANKED}*.json"):
        about = _read(path)
        if about is not None and about.get("rank") != ranks.rank and about.get("state") == "recording":
            return False
    return True


def _name(ranks: Ranks) -> str:
    """``<time>-<pid>`` of this process; of several ranks that of what started them, which they share."""
    if ranks.world == 1:
        return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    parent = os.getppid()
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(_started(parent)))}-{parent}"


def _started(pid: int) -> float:
    """When a process started, Unix s; 0 where the system does not say."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        stat = Path("/proc/stat").read_text()
        boot = next(int(line.split()[1]) for line in stat.splitlines() if line.startswith("btime "))
        return float(boot + ticks // os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0


def _is_of_job(out: Path, rank: int) -> bool:
    claims = [_read(path) for path in out.glob(f"{_RANKED}*.json")]
    own = out / f"{_RANKED}{rank}.json"
    return (
        bool(claims) and all(about is not None and about.get("job") == job() for about in claims) and not own.exists()
    )


def _take(place: Path, ranks: Ranks) -> bool:
    """Ranks name themselves in a file that only one process can make; a run of one rank has its directory to itself,
    also where another begins at the same moment."""
    if ranks.world == 1:
        try:
            (place / _TAKEN).touch(exist_ok=False)
        except FileExistsError:
            return False
        if os.listdir(place) == [_TAKEN]:
            return True
        (place / _TAKEN).unlink(missing_ok=True)
        return False
    about = {
        "schema": "whyidle.recording/1",
        "job": job(),
        "state": "recording",
        "pid": os.getpid(),
        "rank": ranks.rank,
    }
    # Complete when it appears: others read it at any time.
    draft = place / f".{_RANKED}{ranks.rank}.{os.getpid()}"
    draft.write_text(json.dumps({**about, "world": ranks.world}))
    try:
        os.link(draft, place / f"{_RANKED}{ranks.rank}.json")
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
