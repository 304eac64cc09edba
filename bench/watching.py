#!/usr/bin/env python3
"""Measures what watching costs: CPU and memory of the watcher, and the step time of the watched program.

Called by `make bench-watching`, which builds first. One program trains all the time, with loader workers; it is
watched and left alone in turn, window by window, so that whatever else the machine does hits both alike. Each
pair of windows gives one ratio of step times; their mean is printed with its 95 % interval (Student's t). The
order within a pair alternates, so that a drift of the machine cancels. Uses a GPU where PyTorch has one.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOAL_CORE, GOAL_MB, GOAL_SLOWER = 0.01, 40, 0.01
# Two-sided 95 % points of Student's t, by degrees of freedom.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13]

PROGRAM = """
import argparse, sys, time
import torch
from torch.utils.data import DataLoader, Dataset

class Items(Dataset):
    def __init__(self, busy, asleep):
        self.busy, self.asleep = busy, asleep
    def __len__(self):
        return 1 << 40
    def __getitem__(self, index):
        time.sleep(self.asleep)
        end = time.perf_counter() + self.busy
        while time.perf_counter() < end:
            pass
        return torch.full((256,), float(index % 7)), index % 10

ap = argparse.ArgumentParser()
ap.add_argument("--workers", type=int)
ap.add_argument("--busy", type=float)
ap.add_argument("--asleep", type=float)
a = ap.parse_args()
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x, y in DataLoader(Items(a.busy, a.asleep), batch_size=8, num_workers=a.workers, shuffle=False):
    loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if device == "cuda":
        torch.cuda.synchronize()
    sys.stdout.write(f"{time.time()}\\n")
    sys.stdout.flush()
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whyidle", required=True, help="the program to measure")
    parser.add_argument("--python", default=os.environ.get("WHYIDLE_TEST_PYTHON", sys.executable))
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20, help="length of a window")
    parser.add_argument("--busy-ms", type=float, default=0.2, help="CPU time of an item")
    parser.add_argument("--asleep-ms", type=float, default=4, help="time that an item waits, as for a disk")
    parser.add_argument("--small", action="store_true", help="two workers, four pairs of 8 s: a try, not a figure")
    parser.add_argument("--save", action="store_true", help="keep the report in bench/results")
    found = parser.parse_args()
    if found.small:
        found.workers, found.pairs, found.seconds = 2, 4, 8
    return found


def watch(whyidle, pid, seconds):
    """Watches for so long; CPU share of a core, peak memory in MB, samples of the main thread."""
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-") as folder:
        out = f"{folder}/recording"
        command = [whyidle, "attach", str(pid), "--for", f"{seconds}s", "--out", out, "--format", "json"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        recording = json.loads(pathlib.Path(out, "recording.json").read_text())
    watcher = recording["watcher"]
    # The whole process, its start and the verdict at the end included, beside the watch alone.
    return {
        "core": watcher["cpu_s"] / watcher["wall_s"],
        "core_all": (usage.ru_utime + usage.ru_stime) / watcher["wall_s"],
        "mb": usage.ru_maxrss / 1e3,
        "main": recording["sampled"]["main_stacks"]["samples"],
    }


def step_ms(times, begin, end):
    inside = [t for t in times if begin <= t <= end]
    return 1e3 * (inside[-1] - inside[0]) / (len(inside) - 1) if len(inside) > 2 else math.nan


def measure(options):
    with tempfile.TemporaryDirectory(prefix="whyidle-bench-") as folder:
        script, log = pathlib.Path(folder, "train.py"), pathlib.Path(folder, "steps")
        said = pathlib.Path(folder, "said")
        script.write_text(PROGRAM)
        command = [options.python, script, "--workers", str(options.workers)]
        command += ["--busy", str(options.busy_ms / 1e3), "--asleep", str(options.asleep_ms / 1e3)]
        with log.open("w") as steps, said.open("w") as errors:
            program = subprocess.Popen(command, stdout=steps, stderr=errors)
        try:
            begin = time.time()
            while log.stat().st_size < 2_000:
                if program.poll() is not None or time.time() - begin > 120:
                    sys.exit(f"{said.read_text()}the program does not train: does --python name a Python with PyTorch?")
                time.sleep(0.2)
            windows, watches = [], []
            for pair in range(options.pairs):
                for watched in (True, False) if pair % 2 else (False, True):
                    start = time.time()
                    if watched:
                        watches.append(watch(options.whyidle, program.pid, options.seconds))
                        # Only while it watched: starting and judging are over in a moment.
                        windows.append((pair, True, start, start + options.seconds))
                    else:
                        time.sleep(options.seconds)
                        windows.append((pair, False, start, time.time()))
        finally:
            program.kill()
            program.wait()
        times = [float(line) for line in log.read_text().splitlines()[:-1] if line]
    each = {(pair, watched): step_ms(times, a, b) for pair, watched, a, b in windows}
    ratios = [each[pair, True] / each[pair, False] for pair in range(options.pairs)]
    return each, [ratio for ratio in ratios if math.isfinite(ratio)], watches


def main():
    options = arguments()
    each, ratios, watches = measure(options)
    if len(ratios) < 2:
        sys.exit("too few steps in a window: make it longer (--seconds)")
    mean = statistics.mean(ratios)
    points = STUDENT[min(len(ratios) - 2, len(STUDENT) - 1)]
    half = points * statistics.stdev(ratios) / math.sqrt(len(ratios))
    alone = statistics.mean(ms for (_, watched), ms in each.items() if not watched)
    most = {key: max(watch[key] for watch in watches) for key in ("core", "core_all", "mb")}
    usual = {key: statistics.median(watch[key] for watch in watches) for key in ("core", "core_all", "mb", "main")}
    within = mean - half <= 1 + GOAL_SLOWER
    report = "\n".join([
        f"{datetime.date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"{options.workers} workers, {options.pairs} pairs of {options.seconds:g} s windows",
        f"watcher, CPU    {usual['core']:.2%} of a core (most {most['core']:.2%}; goal < {GOAL_CORE:.0%}); "
        f"with start and verdict {usual['core_all']:.2%}",
        f"watcher, memory {usual['mb']:.0f} MB at its peak (most {most['mb']:.0f}; goal < {GOAL_MB})",
        f"samples         {usual['main']:.0f} of the main thread per window",
        f"step alone      {alone:.2f} ms",
        f"step watched    {mean - 1:+.2%} (95 % interval {mean - half - 1:+.2%} to {mean + half - 1:+.2%}; "
        f"goal <= +{GOAL_SLOWER:.0%})",
        "pairs           " + " ".join(f"{ratio - 1:+.2%}" for ratio in ratios),
    ])
    print(report)
    if options.save:
        target = ROOT / "bench/results" / f"{datetime.date.today()}-watching.txt"
        target.write_text(report + "\n")
    met = usual["core"] < GOAL_CORE and most["mb"] < GOAL_MB and within
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
