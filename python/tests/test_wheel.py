"""The wheel: one for every Python, with the command and the extension, light to import.

It is built in cargo's profile ``dev``, from what `make test-python` built already. Without maturin or cargo it says
that it is skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("maturin")
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "WHYIDLE_WHEEL_PROFILE": "dev"}
    # Where maturin is beside this Python, it is not on the path of itself.
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_the_command_the_extension_and_the_types(wheel):
    assert "-cp310-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".data/scripts/whyidle") for name in names)
    for wanted in ("whyidle/py.typed", "whyidle/_native.pyi", "whyidle/feed/tokens.py"):
        assert wanted in names
    assert any(name.startswith("whyidle/_native.") and not name.endswith(".pyi") for name in names)
    assert any(name.endswith(".data/platlib/whyidle_watch.pth") for name in names)
    assert {"whyidle/loop/watch.py", "whyidle/hooks/transformers.py"} <= set(names)
    assert not [name for name in names if "test" in name or "packaging" in name]
    assert not (ROOT / "python" / "whyidle.data").exists()


def test_it_works_in_a_fresh_environment(wheel, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel], check=True)
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    said = subprocess.run(
        [place / "bin" / "whyidle", "--version"], check=True, capture_output=True, text=True, env=clean
    )
    assert said.stdout.startswith("whyidle ")
    # The line that every Python runs at its start: it does nothing unless asked, and then loads no more than it must.
    code = "import sys; print(*[name for name in sys.modules if name.startswith('whyidle')])"
    for asked, loaded in (({}, ""), ({"WHYIDLE": "1"}, "whyidle.loop.outside")):
        started = subprocess.run(
            [python, "-c", code], check=True, capture_output=True, text=True, env={**clean, **asked}, cwd=tmp_path
        )
        assert loaded in started.stdout and bool(started.stdout.strip()) == bool(loaded) and not started.stderr
    # Without NumPy: a verdict needs nothing. Elsewhere than beside the sources, which Python would take first.
    code = "import sys, whyidle; v = whyidle.load(sys.argv[1]); print(v.primary, len(v.ledger), whyidle.__version__)"
    example = ROOT / "examples" / "starved-by-two-workers"
    done = subprocess.run(
        [python, "-c", code, example], check=True, capture_output=True, text=True, env=clean, cwd=tmp_path
    )
    assert done.stdout.split()[0] == "data.workers" and done.stdout.split()[2] in said.stdout
