#!/usr/bin/env python3
"""Measures what `whyidle agent` costs on a node: CPU and memory beside 64 processes and 8 stand-in GPUs.

Called by `make bench-agent`, which builds first. The processes are Python programs that hold memory of the GPUs (as the
stand-in for NVML says) and call functions of their own; the GPUs replay a recording. The agent is scraped every 15
seconds, as Prometheus does. Opening everything is measured apart: it happens once in months.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOAL_CORE, GOAL_MB = 0.005, 60
TICKS = os.sysconf("SC_CLK_TCK")
PROGRAM = """
import time
def prepare(n):
    time.sleep(0.05)
    return n
def train(n):
    time.sleep(0.15)
    return prepare(n)
n = 0
while True:
    n = train(n + 1)
"""


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def status(pid, name):
    return int(re.search(rf"{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def gpus(recording, count, out):
    """The rows of one recorded GPU as those of several."""
    header, *rows = recording.read_text().splitlines()
    at = header.split(",").index("gpu")
    with out.open("w") as file:
        print(header, file=file)
        for row in rows:
            fields = row.split(",")
            if fields[at] != "0":
                continue
            for gpu in range(count):
                fields[at] = str(gpu)
                print(",".join(fields), file=file)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--target", required=True, type=pathlib.Path, help="folder with the program and the stand-in")
    ap.add_argument("--seconds", type=int, default=900)
    ap.add_argument("--settle", type=int, default=60, help="seconds in which everything is opened")
    ap.add_argument("--processes", type=int, default=64)
    ap.add_argument("--gpus", type=int, default=8)
    a = ap.parse_args()
    standin = next(a.target.glob("libwhyidle_standin*.so"))
    programs = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            programs = [subprocess.Popen([sys.executable, "-c", PROGRAM]) for _ in range(a.processes)]
            holders = "".join(f"{at % a.gpus} {p.pid} 1000000000\n" for at, p in enumerate(programs))
            (folder / "holders").write_text(holders)
            gpus(ROOT / "crates/whyidle/tests/recordings/tok_heavy_workers2/nvml.csv", a.gpus, folder / "nvml.csv")
            env = dict(os.environ, WHYIDLE_NVML=str(standin), WHYIDLE_STANDIN=str(folder / "nvml.csv"),
                       WHYIDLE_STANDIN_HOLDERS=str(folder / "holders"))
            agent = subprocess.Popen([a.target / "whyidle", "agent", "--listen", "127.0.0.1:0", "--ring", folder / "ring"],
                                     env=env, stderr=subprocess.PIPE, text=True)
            programs.append(agent)
            address = re.search(r"http://\S+", agent.stderr.readline()).group(0)
            time.sleep(a.settle)
            opened, begin = cpu(agent.pid), time.monotonic()
            while time.monotonic() - begin < a.seconds:
                text = urllib.request.urlopen(address).read().decode()
                time.sleep(min(15, max(0.1, a.seconds - (time.monotonic() - begin))))
            wall, used = time.monotonic() - begin, cpu(agent.pid) - opened
            value = lambda name: float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))
            ring = sum(f.stat().st_size for f in (folder / "ring").rglob("*") if f.is_file())
            result = {
                "seconds": round(wall), "processes": a.processes, "gpus": a.gpus,
                "core": round(used / wall, 5), "cpu_s_to_open": round(opened, 2), "settle_s": a.settle,
                "resident_mb": round(status(agent.pid, "VmRSS") / 1024, 1),
                "resident_most_mb": round(status(agent.pid, "VmHWM") / 1024, 1),
                "threads": status(agent.pid, "Threads"),
                "series": int(value("whyidle_agent_series")), "runs": int(value("whyidle_agent_runs")),
                "ring_mb_per_hour": round(ring / 1e6 / (wall + a.settle) * 3600, 1),
            }
        finally:
            for program in programs:
                program.terminate()
            for program in programs:
                program.wait()
    print(json.dumps(result, indent=1))
    if result["runs"] != a.processes:
        sys.exit(f"only {result['runs']} of {a.processes} processes were found")
    if result["core"] > GOAL_CORE or result["resident_most_mb"] > GOAL_MB:
        sys.exit(f"beyond the goal of {GOAL_CORE:.1%} of a core and {GOAL_MB} MB")


if __name__ == "__main__":
    main()
