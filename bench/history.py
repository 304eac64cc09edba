#!/usr/bin/env python3
"""Measures how long `whyidle history` takes to list ten thousand runs: CPU seconds of the program, the least of several
times. Called by `make bench-history`, which builds first. The history is made by the program itself from one run, which
is then copied inside the database with a body as long as a run of 500 printed losses has.
"""

import argparse
import os
import pathlib
import resource
import sqlite3
import subprocess
import tempfile

GOAL = 0.050


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the program to measure")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=7)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = pathlib.Path(folder, "history.db")
        env = dict(os.environ, XDG_RUNTIME_DIR=folder)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([a.program, "bench", "--db", database, "--", "true"], env=env, check=True, **quiet)
        with sqlite3.connect(database) as connection:
            columns = [row[1] for row in connection.execute("PRAGMA table_info(entries)") if row[1] != "id"]
            names = ", ".join(columns)
            losses = ",".join(f"[{at}.0,2.5]" for at in range(500))
            for _ in range(a.runs - 1):
                run = connection.execute(f"INSERT INTO entries ({names}) SELECT {names} FROM entries WHERE id = 1").lastrowid
                connection.execute(
                    "INSERT INTO bodies SELECT ?, replace(body, '\"losses\":[]', ?) FROM bodies WHERE id = 1",
                    (run, f'"losses":[{losses}]'),
                )
        print(f"{a.runs} runs, {database.stat().st_size / 2**20:.0f} MiB")
        for what, more in (("all of them", ["--limit", str(a.runs)]), ("the last 20", [])):
            taken = []
            for _ in range(a.times):
                before = cpu()
                listed = subprocess.run([a.program, "history", "--db", database, *more], capture_output=True, check=True)
                taken.append(cpu() - before)
            lines = listed.stdout.count(b"\n")
            goal = f", goal {GOAL * 1e3:.0f} ms" if more else ""
            print(f"{what}: {min(taken) * 1e3:.1f} ms of CPU ({lines} lines{goal})")


if __name__ == "__main__":
    main()
