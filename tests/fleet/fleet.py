#!/usr/bin/env python3
"""What `deploy/` holds, on the real tools: a Prometheus that scrapes and alerts, systemd, the schema of Kubernetes.

    tests/fleet/fleet.py --program target/debug/whyidle

Whatever is not there is said to be skipped. Traffic stays on this machine. `WHYIDLE_TEST_PROMETHEUS` names a folder with
`prometheus` and `promtool`; else they are looked for as usual (Debian: the package `prometheus`).
"""

import argparse
import contextlib
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import alerting
import contract
import manifests
import ranking
import replay
from checks import Report, Skipped, check
from server import OPENER, Prometheus, find, free_port, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "crates/whyidle/tests/recordings"
RECORDED = RECORDINGS / "straggler_data/nvml.csv"
# Played by the agent, and what has to fire of them: alert and job.
PLAYED = ["attached_workers", "attached_gc", "fed"]
EXPECTED = {("WhyidleGpuBusyLow", ""), ("WhyidleInputBound", "pid:1000")}
EXPOSITION = pathlib.Path(__file__).resolve().with_name("node.prom")


def standin(program):
    """Where the stand-in for NVML is, if it was built."""
    return pathlib.Path(program).with_name("libwhyidle_standin.so")


@contextlib.contextmanager
def agent(program, *more):
    """The agent of this program on a free port; its address. Cards come from a recording, by the stand-in for NVML."""
    nvml = standin(program)
    cards = {"WHYIDLE_NVML": str(nvml), "WHYIDLE_STANDIN": str(RECORDED)} if nvml.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{free_port()}"
        process = subprocess.Popen([program, "agent", "--listen", address, "--ring", folder, *more],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **cards})
        try:
            def answers():
                check(process.poll() is None, f"the agent ended: {process.stderr.read() if process.poll() is not None else ''}")
                try:
                    return OPENER.open(f"http://{address}/metrics", timeout=5).status == 200
                except OSError:
                    return False
            until(answers, "the agent answers")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def needs_agent(program):
    """Skips where the program was built without."""
    if subprocess.run([program, "agent", "--help"], capture_output=True).returncode != 0:
        raise Skipped("this program has no `whyidle agent`: the target is a file")


def recordings_are_replayed(program):
    """The agent plays three recordings of real programs, many times as fast as they were; alerts and ranking say of them what `diagnose`
    says: the first waits for loader workers, the second for garbage collection, the third for nobody."""
    needs_agent(program)
    played = [word for name in PLAYED for word in ["--replay", str(RECORDINGS / name)]]
    with agent(program, "--speed", "60", *played) as address, tempfile.TemporaryDirectory() as folder:
        config = alerting.configured(folder, address, alerting.hurried(folder, played=True))
        with Prometheus(config) as server:
            def firing():
                now = {(alert["labels"]["alertname"], alert["labels"].get("job_id", "").split("@")[0])
                       for alert in server.get("alerts")["alerts"] if alert["state"] == "firing"}
                # Clocks that were held down for a while are in the recordings too.
                now = {one for one in now if "Throttling" not in one[0]}
                return now >= EXPECTED and now
            found = until(firing, f"these fire: {sorted(EXPECTED)}", patience_s=60)
            check(found == EXPECTED, f"too many fire: {sorted(found - EXPECTED)}")
            cards = server.get("query", query='ALERTS{alertname="WhyidleGpuBusyLow",alertstate="firing"}')["result"]
            check({card["metric"]["gpu"] for card in cards} == {"0", "1"}, f"{cards}")
            done = ranking.whyidle(program, "--prometheus", server.url, "--since", "5m", "--format", "json")
            check(done.returncode == 0, done.stderr)
            fleet = json.loads(done.stdout)
            *waiting, fed = fleet["jobs"]
            waits = {job["job"].split("@")[0]: job["waits"][0]["waiting_for"] for job in waiting}
            check(waits == {"pid:1000": "data.workers", "pid:1001": "host.gc"}, f"{fleet}")
            check(all(0.5 < job["idle_share"] <= 1 and not job["healthy"] for job in waiting), f"{fleet}")
            check(fed["job"].startswith("pid:1002") and fed["healthy"], f"{fed}")
            check(fleet["cards"]["count"] == 3, f"{fleet['cards']}")


def real_agent(program):
    """The agent itself as the target: its exposition keeps the contract, and Prometheus stores all of it."""
    needs_agent(program)
    with agent(program) as address, tempfile.TemporaryDirectory() as folder:
        exposed = lambda: OPENER.open(f"http://{address}/metrics", timeout=10).read().decode()
        has_cards = standin(program).exists()
        first = "whyidle_gpu_busy_ratio{" if has_cards else "whyidle_agent_last_sample_timestamp_seconds "
        contract.exposition_keeps_it(until(lambda: first in exposed() and exposed(), f"{first} is exported"))
        with Prometheus(alerting.configured(folder, address, alerting.RULES)) as server:
            until(lambda: server.query(f'up{{instance="{address}"}} == 1'), "the agent is scraped")
            (series,) = until(lambda: server.query("whyidle_agent_series"), "its series are stored").values()
            stored = server.query('count({__name__=~"whyidle_.+"})')
            check(sum(stored.values()) > 0 and series > 0, f"{stored}")
            if has_cards:
                cards_are_as_recorded(server)
                done = ranking.whyidle(program, "--prometheus", server.url, "--since", "5m")
                check(done.returncode == 1 and "no process that trains" in done.stderr, f"{done.stdout}{done.stderr}")
            broken = [rule for rule in alerting.rules(server) if rule["health"] == "err"]
            check(not broken, f"{broken}")


def cards_are_as_recorded(server):
    """What Prometheus has of the cards is what the recording has."""
    with open(RECORDED, newline="") as file:
        rows = list(csv.DictReader(file))
    for name, column, unit in [("memory_total_bytes", "mem_total", 1), ("memory_used_bytes", "mem_used", 1),
                               ("temperature_celsius", "temp_c", 1), ("power_watts", "power_mw", 1e-3),
                               ("busy_ratio", "util_gpu", 1e-2)]:
        found = until(lambda: server.query(f"whyidle_gpu_{name}"), f"{name} is stored")
        for labels, value in found.items():
            card = dict(labels)["gpu"]
            recorded = [float(row[column]) * unit for row in rows if row["gpu"] == card and row[column]]
            check(min(recorded) - 1e-6 <= value <= max(recorded) + 1e-6,
                  f"{name} of card {card} is {value}, recorded {min(recorded)} to {max(recorded)}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", required=True)
    program = str(pathlib.Path(arguments.parse_args().program).resolve())
    report, text = Report(), EXPOSITION.read_text()
    report.run("the contract is sound", contract.is_sound)
    report.run("the exposition of the tests keeps it", contract.exposition_keeps_it, text)
    report.run("rules ask for what is exported", contract.rules_use_it)
    report.run("the book explains every metric and alert", contract.book_explains_it)
    manifests.run(report, program)
    if find("prometheus") and find("promtool"):
        report.run("configuration and rules are sound", alerting.files_are_sound)
        report.run("every alert fires, keeps still and resolves", alerting.every_alert_is_tested)
        report.run("alerts on recordings of real GPUs", replay.recordings_alert)
        report.run("the tests of the alerts mind changes", alerting.changed_rules_fail_their_tests)
        report.run("the dashboard is sound", contract.dashboard_is_sound)
        alerting.whole(report, text)
        ranking.run(report, program)
        report.run("the agent itself is scraped", real_agent, program)
        report.run("alerts and ranking on recordings that the agent plays", recordings_are_replayed, program)
    else:
        print("skipped: no prometheus with promtool here; Debian's package is called prometheus")
        report.skipped += 1
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
