"""The oldest C library that a program or extension of ELF runs on, by the versions of the symbols that it needs.

``python3 packaging/symbols.py FILE… --at-most 2.28`` prints a line for each file, and fails where one needs a newer glibc
or a library that is not on every Linux. ``readelf`` (binutils) does the reading.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

#: Libraries of glibc and of the compiler: all else would have to be installed.
EVERYWHERE = re.compile(r"^(lib(c|m|dl|rt|pthread|util|gcc_s)\.so\.\d|ld-linux-[a-z0-9-]+\.so\.\d)$")


def glibc(file: Path) -> tuple[int, ...]:
    """The newest version of glibc's symbols in `file`; ``()`` where it needs none."""
    needed = re.findall(r"Name: GLIBC_([0-9.]+)", read(file, "--version-info"))
    return max((version(one) for one in needed), default=())


def libraries(file: Path) -> list[str]:
    """The libraries that the loader must find for `file`."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", read(file, "--dynamic"))


def faults(file: Path, at_most: tuple[int, ...]) -> list[str]:
    """Why `file` does not run everywhere from glibc `at_most` on; empty where it does."""
    found = []
    if (newest := glibc(file)) > at_most:
        found.append(f"needs glibc {text(newest)}, newer than {text(at_most)}")
    found += [f"needs {name}" for name in libraries(file) if not EVERYWHERE.match(name)]
    return found


def read(file: Path, what: str) -> str:
    done = subprocess.run(["readelf", "--wide", what, str(file)], capture_output=True, text=True)
    # It warns of what is no ELF, and may still end with 0.
    if done.returncode != 0 or "Error" in done.stderr:
        raise SystemExit(f"{file} cannot be read: {done.stderr.strip()}")
    return done.stdout


def version(said: str) -> tuple[int, ...]:
    return tuple(int(part) for part in said.split("."))


def text(one: tuple[int, ...]) -> str:
    return ".".join(map(str, one))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--at-most", required=True, type=version, metavar="VERSION")
    asked = parser.parse_args()
    is_bad = False
    for file in asked.files:
        found = faults(file, asked.at_most)
        print(f"{file}: {'; '.join(found) if found else f'glibc {text(glibc(file))} or newer'}")
        is_bad |= bool(found)
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
