"""Packages for x86-64 Linux, for glibc 2.28 (2018) and newer: the program in an archive, and the wheel.

``make package`` runs it in an environment of its own. Both are made from the same build, with all optional parts; each
file that the loader sees is checked by ``symbols.py`` and run. They come to ``target/package``, with their checksums.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import symbols

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python" / "packaging"))
import whyidle_backend as backend  # noqa: E402

GLIBC = (2, 28)
TARGET = "x86_64-unknown-linux-gnu"
#: What lies beside the program in its archive.
BESIDE = ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CITATION.cff", "LICENSE-APACHE", "LICENSE-MIT")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--profile", default="dist", help="cargo's profile [default: dist]")
    asked = parser.parse_args()
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    about = json.loads(run("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1", keep=True))
    target = Path(about["target_directory"])
    release = next(package["version"] for package in about["packages"] if package["name"] == "whyidle")
    folder = target / "package"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    # Together, so that what both share has the same features and is built once.
    packages = ["--package", "whyidle", "--package", "whyidle-python", "--all-features", "--profile", asked.profile]
    run("cargo-zigbuild", "zigbuild", "--locked", *packages, "--target", f"{TARGET}.{symbols.text(GLIBC)}")
    program = target / TARGET / ("debug" if asked.profile == "dev" else asked.profile) / "whyidle"
    made = [archive(folder, program, release), wheel(folder, program, asked.profile)]
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made]
    (folder / "SHA256SUMS").write_text("".join(lines))
    for file in made:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB")


def archive(folder: Path, program: Path, release: str) -> Path:
    """The program with its manual, completions for the shells, and licences."""
    check(program)
    name = f"whyidle-{release}-{TARGET}"
    path = folder / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as place:
        inside = Path(place, name)
        inside.mkdir()
        shutil.copy2(program, inside)
        for file in BESIDE:
            shutil.copy2(ROOT / file, inside)
        (inside / "whyidle.1").write_text(run(str(program), "man", keep=True))
        for shell, file in (("bash", "whyidle.bash"), ("fish", "whyidle.fish"), ("zsh", "_whyidle")):
            (inside / file).write_text(run(str(program), "completions", shell, keep=True))
        with tarfile.open(path, "w:gz") as packed:
            packed.add(inside, name)
    return path


def wheel(folder: Path, program: Path, profile: str) -> Path:
    """The wheel with that program as its command."""
    glibc = "_".join(map(str, GLIBC))
    with backend.data() as scripts:
        shutil.copy2(program, scripts)
        options = ["--locked", "--profile", profile, "--target", TARGET, "--out", str(folder)]
        run("maturin", "build", "--zig", "--compatibility", f"manylinux_{glibc}", *options)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as packed, tempfile.TemporaryDirectory() as place:
        loaded = [name for name in packed.namelist() if name.endswith((".so", "scripts/whyidle"))]
        assert len(loaded) == 2, loaded
        for name in loaded:
            file = Path(packed.extract(name, place))
            found = symbols.faults(file, GLIBC)
            assert not found, f"{name}: {'; '.join(found)}"
    return path


def check(program: Path) -> None:
    """It runs here, and by its symbols on older systems."""
    found = symbols.faults(program, GLIBC)
    assert not found, f"{program}: {'; '.join(found)}"
    print(f"{program.name}: glibc {symbols.text(symbols.glibc(program))} or newer")
    run(str(program), "trace", str(ROOT / "testdata" / "sync_item"), keep=True)


def run(*command: str, keep: bool = False) -> str:
    done = subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE if keep else None)
    return done.stdout or ""


if __name__ == "__main__":
    main()
