"""The ``whyidle`` program that comes with the package: finding it, and asking it for a verdict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from whyidle.commands import Refused, WhyidleError, words_of
from whyidle.verdict import Verdict, load

__all__ = ["find", "judge"]

_NAME = "whyidle.exe" if os.name == "nt" else "whyidle"
#: A verdict takes seconds; one that takes longer is given up, s.
_LONGEST_S = 300


def find() -> str | None:
    """The program: beside the scripts of this Python, else on ``PATH``."""
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    try:
        folders.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    except KeyError:
        pass
    for folder in folders:
        place = Path(folder or ".", _NAME)
        if folder and place.is_file() and os.access(place, os.X_OK):
            return str(place)
    return shutil.which(_NAME)


def judge(place: Path, lang: str | None) -> Verdict:
    """The verdict of the recording in ``place``, by the program in a process of its own, else by the extension.

    Raises:
        Refused: Where the evidence carries none.
        WhyidleError: Where neither is there, or it cannot be read.
    """
    program = find()
    if program is None:
        return load(place, lang=lang)
    language = ["--lang", lang] if lang else []
    command = [program, "diagnose", os.fspath(place), "--format", "json", *language]
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_LONGEST_S, check=False, encoding="utf-8"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WhyidleError(
            f"{program} gave no verdict: {error}", f"try it by hand: whyidle diagnose {place}"
        ) from error
    report = _report(done.stdout)
    if report is None:
        raise WhyidleError(done.stderr.strip() or f"{program} ended with status {done.returncode}")
    if "refused" in report:
        refused = report["refused"]
        raise Refused(words_of(refused["reason"]), words_of(refused.get("hint")) or None, refused["code"], report)
    if "verdict" not in report:
        raise Refused("there is nothing to judge in it", None, "no-verdict", report)
    return Verdict(report, [os.fspath(place)], lang)


def _report(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
