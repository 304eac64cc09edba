"""What is known against the versions in Cargo.lock: yanked ones, and advisories where their data can be had.

Yanked versions are read from the index that cargo itself keeps. Advisories (RustSec) lie in a repository on GitHub and in no
registry; `cargo deny` or `cargo audit` fetches them. Where neither is installed, or GitHub is not to be reached, this says so
and ends with status 3: nothing was found, and nothing was looked at.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (ROOT, ROOT / "fuzz")
FOUND, UNKNOWN = 1, 3


def locked() -> set[tuple[str, str]]:
    """Crates of registries in all lock files, with their versions."""
    packages = [package for lock in LOCKS for package in tomllib.loads((lock / "Cargo.lock").read_text())["package"]]
    return {(package["name"], package["version"]) for package in packages if "source" in package}


def place(name: str) -> str:
    """Where the index has a crate."""
    name = name.lower()
    if len(name) <= 2:
        return f"{len(name)}/{name}"
    return f"3/{name[0]}/{name}" if len(name) == 3 else f"{name[:2]}/{name[2:4]}/{name}"


def yanked(cache: Path, name: str) -> dict[str, bool] | None:
    """Versions of a crate in cargo's copy of the index, and whether they were yanked; None: it is not there."""
    file = cache / place(name)
    if not file.is_file():
        return None
    versions = {}
    for part in file.read_bytes().split(b"\0"):
        if part.startswith(b"{"):
            row = json.loads(part)
            versions[row["vers"]] = bool(row.get("yanked"))
    return versions


def look_for_yanked() -> int:
    """Prints what was yanked."""
    for lock in LOCKS:
        # Fetches the index anew, and changes nothing.
        cargo = ["cargo", "update", "--dry-run", "--quiet"]
        if subprocess.run(cargo, cwd=lock, capture_output=True, check=False).returncode:
            print("yanked: the registry cannot be reached, cargo's copy of its index may be old")
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    caches = sorted((home / "registry/index").glob("*/.cache"))
    bad, unknown = [], []
    packages = locked()
    for name, version in sorted(packages):
        known = [found for cache in caches if (found := yanked(cache, name)) and version in found]
        if not known:
            unknown.append(f"{name} {version}")
        elif any(found[version] for found in known):
            bad.append(f"{name} {version}")
    print(f"yanked: {len(bad)} of {len(packages)} versions", *bad, sep="\n  ")
    if unknown:
        print(f"not in cargo's copy of the index: {len(unknown)}", *unknown, sep="\n  ")
    return FOUND if bad else UNKNOWN if unknown else 0


def look_for_advisories() -> int:
    """Runs whichever tool there is."""
    for tool, arguments in (("cargo-deny", ["deny", "check", "advisories"]), ("cargo-audit", ["audit"])):
        if not shutil.which(tool):
            continue
        ran = subprocess.run(["cargo", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        said = ran.stdout + ran.stderr
        print(said.strip())
        unreachable = ("failed to fetch", "couldn't fetch", "unable to load", "failed to open", "error sending request")
        if ran.returncode and any(words in said.lower() for words in unreachable):
            print(f"advisories: {tool} could not fetch them (github.com/rustsec/advisory-db): nothing was looked at")
            return UNKNOWN
        return FOUND if ran.returncode else 0
    print("advisories: neither cargo-deny nor cargo-audit is installed (`cargo install --locked cargo-deny`): not looked at")
    return UNKNOWN


def main() -> int:
    """Status 0: nothing is known against them; 1: something is; 3: it could not be looked at."""
    both = (look_for_yanked(), look_for_advisories())
    return FOUND if FOUND in both else max(both)


if __name__ == "__main__":
    sys.exit(main())
