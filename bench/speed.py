#!/usr/bin/env python3
"""Measures `whyidle trace` on long traces made from a shipped one, beside other tools.

Called by bench/run.sh, which builds first. Every round runs each command once, so that whatever else
the machine does hits all alike; CPU time (user + system, children included) and peak memory come from
the kernel's accounts of each process. Prints a report and writes it to bench/results.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HTA = "traceinsight==0.6.1"  # Holistic Trace Analysis; newer than HolisticTraceAnalysis on PyPI.
MAIN_BYTES = 212e6
EVENTS = (0.2e6, 0.5e6, 1.08e6, 2e6, 4e6)
MAIN_EVENTS = 1.08e6
GOAL_CPU_S, GOAL_MB = 1.2, 160
GOAL_ASKED_CPU_S, GOAL_ASKED_MB = 1.8, 200
WHAT_IFS = (
    "host.sync host.launch host.gc host.optimizer host.python memory.allocator "
    "data.transfer comm.exposed=4 compute.elementwise compute.precision"
).split()


def largest_shipped():
    """The largest trace that comes with the repository."""
    files = [file for place in ("examples", "testdata") for file in (ROOT / place).rglob("*.json.gz")]
    if not files:
        sys.exit("speed: no trace under examples/ or testdata/; name one with --source")
    return max(files, key=lambda file: (file.stat().st_size, str(file)))


def make(source, cache, size):
    """A made trace and what is known of it; kept between runs."""
    name = f"{source.parent.name}-{source.name.split('.')[0]}-{size[0]}{size[1]:.0f}"
    out, facts = cache / f"{name}.json.gz", cache / f"{name}.facts"
    script = ROOT / "bench" / "make_trace.py"
    inputs = max(script.stat().st_mtime, source.stat().st_mtime)
    if not facts.exists() or facts.stat().st_mtime < inputs:
        print(f"making {out.name}", file=sys.stderr)
        command = [sys.executable, script, source, out, f"--{size[0]}", str(size[1])]
        facts.write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return out, json.loads(facts.read_text())


def install_hta(target):
    """The Python that has HTA; None, with the reason said, where it cannot be installed."""
    venv = target / "bench-venv"
    python = venv / "bin" / "python"
    have = [python, "-c", "import hta.trace_analysis"]
    try:
        if python.exists() and subprocess.run(have, stderr=subprocess.DEVNULL).returncode == 0:
            return python
        print(f"installing {HTA} into {venv}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", HTA]
        subprocess.run(pip, check=True)
        return python
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"speed: {HTA} cannot be installed, going on without: {error}", file=sys.stderr)
        return None


def run(command):
    """CPU seconds, wall seconds and peak megabytes of one process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"speed: {' '.join(map(str, command))} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit / 1e6


def interleaved(commands, rounds):
    """Every command once per round."""
    measured = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            print(f"\rround {number + 1} of {rounds}: {name:<40}", end="", file=sys.stderr)
            measured[name].append(run(command))
    print(file=sys.stderr)
    return measured


def cpu(runs):
    return min(run[0] for run in runs)


def row(name, runs, base, extra=""):
    seconds = sorted(run[0] for run in runs)
    peak = max(run[2] for run in runs)
    return (
        f"| {name} | {seconds[0]:.2f} | {statistics.median(seconds):.2f} | {min(r[1] for r in runs):.2f} "
        f"| {peak:.0f} | {seconds[0] / base:.2f} |{extra}"
    )


def line(points):
    """Least squares through (x, y): slope, offset, and the largest deviation as a share of y."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    offset = mean_y - slope * mean_x
    return slope, offset, max(abs(offset + slope * x - y) / y for x, y in points)


def processor():
    try:
        for text in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                return text.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()[0].strip()
    except (OSError, IndexError):
        return "not there"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "target")
    parser.add_argument("--source", type=pathlib.Path, help="trace to repeat; default: the largest shipped")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-hta", action="store_true", help="leave out the comparison with HTA")
    options = parser.parse_args()

    target = options.target.resolve()
    cache = target / "bench-traces"
    cache.mkdir(parents=True, exist_ok=True)
    source = (options.source or largest_shipped()).resolve()
    whyidle, inflate = target / "release" / "whyidle", target / "release" / "examples" / "inflate"
    main_trace, main_facts = make(source, cache, ("bytes", MAIN_BYTES))
    made = [make(source, cache, ("events", events)) for events in EVENTS]

    def trace(path):
        return [whyidle, "trace", path, "--format", "json"]

    asked = [part for what_if in WHAT_IFS for part in ("--what-if", what_if)] + ["--critical-path"]
    ten, none = "the same with ten what-ifs and the critical path", "the same without replay"
    ours, flate2, gzip = "whyidle trace --format json", "inflating alone: flate2 (zlib-rs)", "inflating alone: gzip -dc"
    commands = {
        ours: trace(main_trace),
        ten: trace(main_trace) + asked,
        none: trace(main_trace) + ["--no-replay"],
        flate2: [inflate, main_trace],
    }
    if shutil.which("gzip"):
        commands[gzip] = ["gzip", "-dc", main_trace]
    python = None if options.no_hta else install_hta(target)
    hta = f"HTA ({HTA.replace('==', ' ')}): load and five analyses"
    if python:
        commands[hta] = [python, ROOT / "bench" / "run_hta.py", main_trace]
    sizes = {facts["events"]: path for path, facts in made}
    commands |= {f"{events} events": trace(path) for events, path in sizes.items()}
    most_asked = "what-ifs at the size of the goal"
    commands[most_asked] = trace(made[EVENTS.index(MAIN_EVENTS)][0]) + asked
    measured = interleaved(commands, options.rounds)

    base = cpu(measured[ours])
    peak = max(run[2] for run in measured[ours])
    today = datetime.date.today().isoformat()
    report = [
        f"# Speed of `whyidle trace`, {today}",
        "",
        f"Machine: {os.cpu_count()} cores of {processor()}, {platform.system()}, "
        f"load {os.getloadavg()[0]:.1f} at the end. {version(['rustc', '--version'])}, release profile; "
        f"Python {platform.python_version()}; {version(['gzip', '--version'])}.",
        f"Source: `{source.relative_to(ROOT) if source.is_relative_to(ROOT) else source.name}`, repeated "
        f"{main_facts['repeats']} times: {main_facts['bytes'] / 1e6:.0f} MB of JSON, "
        f"{main_trace.stat().st_size / 1e6:.1f} MB as `.json.gz`, {main_facts['events'] / 1e6:.2f} M events.",
        f"{options.rounds} rounds, every command once per round. CPU is user + system time of the process "
        "and its children; peak is its largest resident set (a megabyte is 10⁶ bytes).",
        "",
        "| command | CPU s, least | CPU s, median | wall s, least | peak MB | CPU, × whyidle |",
        "|---|---|---|---|---|---|",
    ]
    report += [row(name, measured[name], base) for name in (ours, ten, none, flate2, gzip, hta) if name in measured]
    report.append("")
    if not python:
        report += ["HTA was not measured: it is not installed here.", ""]
    told = [f"whyidle takes {base / cpu(measured[flate2]):.1f} × the CPU time of inflating with the same library"]
    if gzip in measured:
        told.append(f"{base / cpu(measured[gzip]):.1f} × that of `gzip -dc`")
    if python:
        told.append(f"and 1/{cpu(measured[hta]) / base:.0f} of HTA's")
    asked_cpu, asked_peak = cpu(measured[most_asked]), max(run[2] for run in measured[most_asked])
    asked_met = "met" if asked_cpu <= GOAL_ASKED_CPU_S and asked_peak <= GOAL_ASKED_MB else "missed"
    met = "met" if base <= GOAL_CPU_S and peak <= GOAL_MB else "missed"
    report += [
        ", ".join(told) + ".",
        f"Goal for this file, ≤ {GOAL_CPU_S} CPU-s and ≤ {GOAL_MB} MB: {met} ({base:.2f} s, {peak:.0f} MB).",
        f"Goal with what-ifs at {MAIN_EVENTS / 1e6:.2f} M events, ≤ {GOAL_ASKED_CPU_S} CPU-s and ≤ {GOAL_ASKED_MB} MB: "
        f"{asked_met} ({asked_cpu:.2f} s, {asked_peak:.0f} MB).",
        "",
        "## Growth",
        "",
        "| events, M | JSON, MB | CPU s, least | CPU s per M events | peak MB | peak MB per M events |",
        "|---|---|---|---|---|---|",
    ]
    points = []
    for path, facts in made:
        runs = measured[f"{facts['events']} events"]
        events, seconds, megabytes = facts["events"] / 1e6, cpu(runs), max(run[2] for run in runs)
        points.append((events, seconds))
        report.append(
            f"| {events:.2f} | {facts['bytes'] / 1e6:.0f} | {seconds:.2f} | {seconds / events:.2f} "
            f"| {megabytes:.0f} | {megabytes / events:.0f} |"
        )
    slope, offset, worst = line(points)
    report += [
        "",
        f"Straight line through these: {slope:.2f} CPU-s per million events and {offset * 1e3:+.0f} ms; "
        f"no point is further from it than {worst:.0%}.",
        "",
    ]
    text = "\n".join(report)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / f"{today}-trace-speed.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
