"""What the tests of the watch share: the program, cards that are replayed, and small programs that train."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("WHYIDLE_TEST_PROGRAM", ROOT / "target" / "debug" / "whyidle"))


@pytest.fixture
def program(monkeypatch) -> Path:
    """The ``whyidle`` program, on ``PATH``; without it the test says that it is skipped."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    monkeypatch.setenv("PATH", os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]]))
    monkeypatch.setenv("LC_ALL", "C")
    return PROGRAM


@pytest.fixture
def cards(monkeypatch) -> None:
    """A GPU to sample: a recording of one, replayed by the stand-in for NVML that the workspace builds."""
    library = PROGRAM.with_name("libwhyidle_standin.so")
    if not library.exists():
        pytest.skip(f"{library} is not built: cargo build --package whyidle-standin")
    replayed = ROOT / "crates" / "whyidle" / "tests" / "recordings" / "tok_heavy_workers2" / "nvml.csv"
    monkeypatch.setenv("WHYIDLE_NVML", str(library))
    monkeypatch.setenv("WHYIDLE_STANDIN", str(replayed))


@pytest.fixture(autouse=True)
def one_watch_at_a_time():
    """A test that fails leaves its watch to nobody."""
    yield
    current = sys.modules.get("whyidle.loop.current")
    watch = current.current() if current is not None else None
    if watch is not None:
        watch.close()
