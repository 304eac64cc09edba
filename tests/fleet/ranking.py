"""`whyidle fleet` against a real Prometheus that holds a day of a small cluster, written there by promtool."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from checks import Skipped, check, ran
from server import Prometheus, find, free_port

HOUR = 3600
STEP = 60
NODES = ["node-1:9401", "node-2:9401"]
# Jobs: labels, node, GPUs, first and last hour of the day, shares of idle by whom was waited for, hour of a restart of the
# agent (counters begin anew), command.
JOBS = [
    ({"job_id": "4711", "user": "ada", "namespace": "research"}, 0, 4, 2, 22, {"data.workers": 0.5, "host.sync": 0.1}, 12,
     "python train.py"),
    ({"job_id": "4711", "user": "ada", "namespace": "research"}, 1, 4, 2, 22, {"data.workers": 0.4}, None, "python train.py"),
    ({"job_id": "pid:77", "user": "bob", "namespace": ""}, 0, 1, 1, 11, {"host.launch": 0.3}, None, "python a.py"),
    ({"job_id": "pid:77", "user": "bob", "namespace": ""}, 1, 1, 1, 11, {"unknown": 0.2}, None, "python b.py"),
    ({"job_id": "4712", "user": "eve", "namespace": ""}, 1, 3, 1, 23, {"data.workers": 0.02}, None, "torchrun -m big"),
]
# GPU-hours held and idle, as the table above has it.
TRUTH = {"4711": (160, 80), "pid:77@node-1:9401": (10, 3), "pid:77@node-2:9401": (10, 2), "4712": (66, 1.32)}


def day(begin):
    """The day as OpenMetrics."""
    lines = {}

    def add(metric, labels, at, value):
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        lines.setdefault(metric, []).append(f"{metric}{{{text}}} {value:.6f} {at}")

    for labels, node, gpus, first, last, waits, restart, command in JOBS:
        labels = {**labels, "instance": NODES[node], "job": "whyidle", "rank": str(4 * node), "pid": "77"}
        since = first * HOUR
        for offset in range(first * HOUR, last * HOUR + STEP, STEP):
            if restart and offset == restart * HOUR:
                since = offset
            held = gpus * (offset - since)
            at = begin + offset
            add("whyidle_run_gpu_seconds_total", labels, at, held)
            add("whyidle_run_info", {**labels, "command": command}, at, 1)
            for waiting_for, share in waits.items():
                add("whyidle_run_idle_gpu_seconds_total", {**labels, "waiting_for": waiting_for}, at, share * held)
    for node in NODES:
        for card in range(4):
            labels = {"instance": node, "job": "whyidle", "gpu": str(card), "uuid": f"GPU-{node}-{card}"}
            for offset in range(0, 24 * HOUR, STEP):
                add("whyidle_gpu_info", labels, begin + offset, 1)
                add("whyidle_gpu_busy_seconds_total", labels, begin + offset, 0.5 * offset)
                add("whyidle_gpu_idle_held_seconds_total", labels, begin + offset, 0.25 * offset)
    out = []
    for metric, samples in lines.items():
        kind = "counter" if metric.endswith("_total") else "gauge"
        out += [f"# TYPE {metric.removesuffix('_total')} {kind}", *samples]
    return "\n".join([*out, "# EOF", ""])


@contextlib.contextmanager
def cluster():
    """A server that holds the day that has just ended, and scrapes nobody."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "day.om").write_text(day(int(time.time()) // STEP * STEP - 24 * HOUR - STEP))
        ran(find("promtool"), "tsdb", "create-blocks-from", "openmetrics", "day.om", "data", cwd=folder)
        (folder / "prometheus.yml").write_text("global: {scrape_interval: 1m}\n")
        with Prometheus(folder / "prometheus.yml", folder / "data") as server:
            yield server


def whyidle(program, *arguments, lang="en", **environment):
    clean = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and "TOKEN" not in name}
    clean.update({"COLUMNS": "80", "LC_ALL": "C.UTF-8"}, **environment)
    return subprocess.run([program, "fleet", "--lang", lang, *arguments], capture_output=True, text=True, timeout=60,
                          env=clean)


def needs_fleet(program):
    """Skips where the program was built without."""
    if subprocess.run([program, "fleet", "--help"], capture_output=True).returncode != 0:
        raise Skipped("this program was built without the feature `agent`")


def ranks_jobs(program, server):
    needs_fleet(program)
    done = whyidle(program, "--prometheus", server.url, "--since", "25h", "--format", "json")
    check(done.returncode == 0 and not done.stderr, f"{done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    jobs = found["jobs"]
    check([job["job"] for job in jobs] == list(TRUTH), f"order: {[job['job'] for job in jobs]}")
    for job in jobs:
        held, idle = TRUTH[job["job"]]
        for name, value, truth in [("held", job["held_gpu_ms"], held), ("idle", job["idle_gpu_ms"], idle)]:
            hours = value / 3.6e6
            check(abs(hours - truth) <= 0.01 * truth, f"{job['job']}: {name} {hours} GPU-hours, not {truth}")
    first = jobs[0]
    check(first["waits"][0]["waiting_for"] == "data.workers" and abs(first["waits"][0]["share"] - 0.45) < 0.01, f"{first}")
    check((first["nodes"], first["command"], first["healthy"]) == (2, "python train.py", False), f"{first}")
    check(jobs[-1]["healthy"] and found["next"] == "whyidle explain data.workers", f"{found}")
    cards = found["cards"]
    check(cards["count"] == 8 and abs(cards["busy_gpu_ms"] / 3.6e6 - 96) < 1, f"{cards}")
    # The same arithmetic as the server's own, at the same time.
    at = found["at"] / 1e9
    (total,) = server.query("sum(increase(whyidle_run_idle_gpu_seconds_total[25h]))", time=f"{at:.3f}").values()
    check(abs(found["idle_gpu_ms"] - 1e3 * total) < 10, f"{found['idle_gpu_ms']} ms, the server says {total} s")


def says_it_in_words(program, server):
    needs_fleet(program)
    for lang, words in [("en", ["4711 · ada · research", "80 GPU-hours", "50 %", "waiting for data 45 %", "next"]),
                        ("zh", ["4711 · ada · research", "80 GPU 小时", "50%", "等数据 45%", "下一步"])]:
        done = whyidle(program, "--prometheus", server.url, "--since", "25h", lang=lang)
        check(done.returncode == 0 and not done.stderr, f"{done.returncode}: {done.stderr}")
        for word in words:
            check(word in done.stdout, f"{word} is not in\n{done.stdout}")
        check(max(map(len, done.stdout.splitlines())) <= 80, f"too wide:\n{done.stdout}")
    done = whyidle(program, "--prometheus", server.url, "--since", "25h", "--limit", "1", "--format", "md")
    check(done.returncode == 0 and "| 80 GPU-hours |" in done.stdout and "3 more jobs" in done.stdout, done.stdout)


def narrows(program, server):
    needs_fleet(program)
    done = whyidle(program, "--prometheus", server.url, "--since", "25h", "--format", "json", "--match", 'user="bob"')
    check(done.returncode == 0, done.stderr)
    check([job["job"] for job in json.loads(done.stdout)["jobs"]] == list(TRUTH)[1:3], done.stdout)


def errors_come_with_a_hint(program, server):
    needs_fleet(program)
    cases = [
        (["--prometheus", server.url, "--match", 'user="nobody"'], 1, "has no metrics of whyidle"),
        (["--prometheus", server.url, "--match", 'instance="node-1:9401",user="nobody"'], 1, "has no metrics of whyidle"),
        (["--prometheus", server.url, "--match", "}{"], 2, "refused the query (bad_data)"),
        (["--prometheus", f"http://127.0.0.1:{free_port()}"], 2, "cannot be reached"),
        (["--prometheus", server.url + "/nowhere"], 2, "HTTP status 404"),
        (["--prometheus", "http://me:secret@127.0.0.1:1"], 2, "holds a user name and a password"),
        (["--prometheus", server.url, "--since", "soon"], 2, "a time as 90m"),
        (["--prometheus", server.url, "--token-file", "/nowhere"], 2, "/nowhere cannot be read"),
        ([], 2, "--prometheus"),
    ]
    for arguments, status, said in cases:
        done = whyidle(program, *arguments)
        check((done.returncode, done.stdout) == (status, ""), f"{arguments}: {done.returncode} {done.stdout}")
        check(said in done.stderr and "secret" not in done.stderr, f"{arguments}: {done.stderr}")
        check("hint" in done.stderr or "--help" in done.stderr or "/nowhere" in said, f"{arguments}: no hint: {done.stderr}")
    done = whyidle(program, "--prometheus", "http://prometheus.invalid:9090", WHYIDLE_PROMETHEUS_TOKEN="geheim")
    check(done.returncode == 2 and "unencrypted" in done.stderr and "geheim" not in done.stderr, done.stderr)


def trusts_whom_it_is_told_to(program):
    """Over TLS: the certificate that is named is trusted, with a token too; another one, or none, is not."""
    needs_fleet(program)
    openssl = shutil.which("openssl")
    if not openssl:
        raise Skipped("there is no openssl to make certificates")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ["own", "other"]:
            ran(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-addext",
                "basicConstraints=critical,CA:FALSE", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")
        (folder / "token").write_text("geheim\n")
        (folder / "prometheus.yml").write_text("global: {scrape_interval: 1m}\n")
        with Prometheus(folder / "prometheus.yml", identity=(folder / "own.pem", folder / "own.key")) as server:
            token = ["--token-file", str(folder / "token")]
            done = whyidle(program, "--prometheus", server.url, "--ca", str(folder / "own.pem"), *token)
            check(done.returncode == 1 and "has no metrics of whyidle" in done.stderr, f"trusted: {done.stderr}")
            for more in [["--ca", str(folder / "other.pem")], []]:
                done = whyidle(program, "--prometheus", server.url, *more, *token)
                secure = "no secure connection" in done.stderr or "no certificates to trust" in done.stderr
                check(done.returncode == 2 and secure and "--ca" in done.stderr, f"{more}: {done.stderr}")
            wrong = server.url.replace("127.0.0.1", "localhost")
            done = whyidle(program, "--prometheus", wrong, "--ca", str(folder / "own.pem"))
            check(done.returncode == 2 and "no secure connection" in done.stderr, f"another name: {done.stderr}")


def run(report, program):
    report.run("whyidle fleet trusts whom it is told to", trusts_whom_it_is_told_to, program)
    with report.service("a server with a day of a cluster", cluster()) as server:
        report.run("whyidle fleet ranks jobs as they are", ranks_jobs, program, server)
        report.run("whyidle fleet says it in both languages", says_it_in_words, program, server)
        report.run("whyidle fleet narrows to a selector", narrows, program, server)
        report.run("whyidle fleet says what is wrong, with a hint", errors_come_with_a_hint, program, server)
