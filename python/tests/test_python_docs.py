"""docs/en/src/python.md: its first example runs as it stands, and the others are Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import whyidle

PAGE = Path(__file__).resolve().parents[2] / "docs" / "en" / "src" / "python.md"


def examples() -> list[str]:
    return [part.split("```")[0] for part in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]]


def test_the_first_example_runs(tmp_path):
    pytest.importorskip("torch")
    code = examples()[0] + "\nassert watch.recording.is_dir() and watch.refusal is not None\n"
    environment = {**os.environ, "PYTHONPATH": str(Path(whyidle.__file__).parents[1])}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=240)
    assert done.returncode == 0 and "whyidle: " in done.stderr, done.stderr


def test_the_others_are_python_and_name_what_there_is():
    for code in examples():
        compile(code, str(PAGE), "exec")
    for name in whyidle.hooks.__all__:
        assert f"whyidle.hooks.{name}" in PAGE.read_text(encoding="utf-8")
