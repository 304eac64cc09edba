"""Builds the wheel: maturin makes the extension, and the program goes beside it as a script.

maturin builds an extension or a program, not both. So the program is built first, from the same crates with the same
features, and put into maturin's data folder, whose scripts are installed as commands. The file that starts a watch
where ``WHYIDLE=1`` asks for one goes there too, to be installed beside the packages.

``WHYIDLE_WHEEL_PROFILE`` names cargo's profile, ``release`` by default; ``dev`` is for tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[2]
#: As `data` in pyproject.toml.
DATA = ROOT / "python" / "whyidle.data"
#: Python runs its one line at every start.
STARTER = Path(__file__).with_name("whyidle_watch.pth")


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """The wheel's name in `folder`."""
    with program() as profile:
        return str(maturin.build_wheel(folder, {**(settings or {}), "build-args": f"--profile {profile}"}, metadata))


def build_editable(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """The same for `pip install -e .`."""
    with program() as profile:
        return str(maturin.build_editable(folder, {**(settings or {}), "build-args": f"--profile {profile}"}, metadata))


def build_sdist(folder: str, settings: dict[str, Any] | None = None) -> str:
    """The source's archive; a wheel is made of it by this backend again."""
    with data():
        return str(maturin.build_sdist(folder, settings))


def prepare_metadata_for_build_wheel(folder: str, settings: dict[str, Any] | None = None) -> str:
    """What the wheel will say of itself."""
    with data():
        return str(maturin.prepare_metadata_for_build_wheel(folder, settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


@contextmanager
def data() -> Iterator[Path]:
    """The folder of scripts in maturin's data folder, which must be there whatever maturin does, with the starter."""
    scripts = DATA / "scripts"
    try:
        scripts.mkdir(parents=True, exist_ok=True)
        beside = DATA / "platlib"
        beside.mkdir(exist_ok=True)
        shutil.copy2(STARTER, beside / STARTER.name)
        yield scripts
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


@contextmanager
def program() -> Iterator[str]:
    """The program in maturin's data folder, for as long as the wheel is made; the profile that it was built with."""
    profile = os.environ.get("WHYIDLE_WHEEL_PROFILE", "release")
    cargo = os.environ.get("CARGO", "cargo")
    # Together with the extension: what both share has the same features then, and maturin finds it built.
    packages = ["--package", "whyidle", "--package", "whyidle-python", "--all-features"]
    build = [cargo, "build", "--locked", *packages, "--profile", profile, "--message-format", "short"]
    subprocess.run(build, cwd=ROOT, check=True)
    about = subprocess.run(
        [cargo, "metadata", "--locked", "--no-deps", "--format-version", "1"], cwd=ROOT, check=True, capture_output=True
    )
    target = os.environ.get("CARGO_BUILD_TARGET", "")
    name = "whyidle.exe" if os.name == "nt" else "whyidle"
    built = Path(json.loads(about.stdout)["target_directory"], target, "debug" if profile == "dev" else profile, name)
    with data() as scripts:
        shutil.copy2(built, scripts / name)
        yield profile
