"""Rules and alerts: promtool on the files as they ship, and a real server on a scrape target."""

import concurrent.futures
import pathlib
import re
import shutil
import tempfile

import contract
from checks import Failed, check, ran
from exposition import growing, kinds, series
from server import Prometheus, Target, find, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus"
ALERT_TEXTS = ["summary", "description", "summary_zh", "description_zh", "runbook_url"]
REPOSITORY = "https://github.com/whyidle/whyidle/blob/main/"
CHINESE = re.compile("[\u4e00-\u9fff]")

# What the replayed node does while it is scraped once a second: growth a scrape, or `=` a value.
REPLAYED = {
    # Card 0 idles 70 % of the time while held; card 1 is held and does nothing.
    'whyidle_gpu_idle_held_seconds_total{gpu="0"': 0.7,
    'whyidle_gpu_busy_seconds_total{gpu="0"': 0.3,
    'whyidle_gpu_idle_held_seconds_total{gpu="1"': 1,
    'whyidle_gpu_busy_seconds_total{gpu="1"': 0,
    # The job holds a card with each of two ranks, and waits for data.
    "whyidle_run_gpu_seconds_total": 1,
    'whyidle_run_idle_gpu_seconds_total{job_id="4711",user="ada",namespace="",pod="",rank="0",pid="4100",waiting_for="data': 0.6,
    'whyidle_run_idle_gpu_seconds_total{job_id="4711",user="ada",namespace="",pod="",rank="1"': 0.6,
    'whyidle_run_behind_ratio{job_id="4711",user="ada",namespace="",pod="",rank="1"': "=0.4",
    'whyidle_gpu_throttled_ratio{gpu="1",uuid="GPU-bbbb",reason="thermal"': "=0.5",
    'whyidle_gpu_throttled_ratio{gpu="1",uuid="GPU-bbbb",reason="power"': "=0.8",
    "whyidle_agent_series ": "=4900",
    "whyidle_agent_ring_bytes": "=2147483640",
    "whyidle_agent_errors_total": 5,
    # An agent that answers and does not sample.
    "whyidle_agent_last_sample_timestamp_seconds": "=1000000000",
}
FIRING = {"WhyidleGpuBusyLow", "WhyidleGpuIdleHeld", "WhyidleInputBound", "WhyidleStraggler", "WhyidleThermalThrottling",
          "WhyidlePowerThrottling", "WhyidleSeriesLimit", "WhyidleRingFull", "WhyidleAgentErrors", "WhyidleAgentStuck"}


def files_are_sound():
    """The configuration and the rules as they ship."""
    promtool = find("promtool")
    ran(promtool, "check", "config", "prometheus.yml", cwd=RULES)
    ran(promtool, "check", "rules", "--lint=all", "--lint-fatal", "recording.yml", "alerts.yml", cwd=RULES)


def every_alert_is_tested():
    """promtool's unit tests pass, and there is one for every alert: it fires, keeps still, and resolves."""
    ran(find("promtool"), "test", "rules", "tests.yml", cwd=RULES)
    alerts = set(re.findall(r"^ +- alert: (\w+)", (RULES / "alerts.yml").read_text(), re.MULTILINE))
    tests = (RULES / "tests.yml").read_text()
    check(len(alerts) >= 12, f"alerts: {alerts}")
    for alert in alerts:
        test = re.search(rf"^  - name: {alert}\n(.*?)(?=^  - name: |\Z)", tests, re.MULTILINE | re.DOTALL)
        check(test, f"no test of {alert}")
        times = re.findall(r"eval_time: \S+\n +exp_samples:( \[\])?", test[1])
        check(times[0] and times[-1] and not all(times), f"{alert} has to keep still, fire, and resolve: {times}")


def changed_rules_fail_their_tests():
    """The unit tests are no formality: an alert whose threshold is moved out of reach fails its own."""
    rules = (RULES / "alerts.yml").read_text()

    def minded(change):
        was, becomes = change
        check(rules.count(was) == 1, f"{was} is no longer in the rules")
        with tempfile.TemporaryDirectory() as folder:
            for name in ["recording.yml", "tests.yml"]:
                shutil.copy(RULES / name, folder)
            (pathlib.Path(folder) / "alerts.yml").write_text(rules.replace(was, becomes))
            try:
                ran(find("promtool"), "test", "rules", "tests.yml", cwd=folder)
            except Failed as error:
                check("FAILED" in str(error), f"{was}: {error}")
            else:
                check(False, f"no test minds {was} as {becomes}")

    changes = [("ratio_5m > 0.5 and", "ratio_5m > 0.8 and"), ("> 0.15", "> 0.05"), ("> 120", "> 1e9")]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(minded, changes))


def configured(folder, address, rules):
    """The configuration that ships, for one target that is scraped every second; the rules at `rules`."""
    text = (RULES / "prometheus.yml").read_text()
    changes = [("scrape_interval: 15s", "scrape_interval: 1s"), ("scrape_timeout: 10s", "scrape_timeout: 1s"),
               ("evaluation_interval: 30s", "evaluation_interval: 1s"), ("127.0.0.1:9401", address)]
    for was, becomes in changes:
        check(text.count(was) == 1, f"{was} is not in the configuration once")
        text = text.replace(was, becomes)
    for name in ["recording.yml", "alerts.yml"]:
        text = text.replace(f"- {name}\n", f"- {rules / name}\n")
    path = pathlib.Path(folder) / "prometheus.yml"
    path.write_text(text)
    return path


def hurried(folder, played=False):
    """A copy of the rules in which a minute of a window takes a second, and waits are cut to one; thresholds and all else are
    as they ship. What looks back for hours, as drifting does, is for promtool alone. `played`: counters of cards
    grow by another clock than the server's, so that their rates are set against the time that this clock counted."""
    folder = pathlib.Path(folder) / "hurried"
    folder.mkdir()
    for name in ["recording.yml", "alerts.yml"]:
        text = (RULES / name).read_text()
        text = text.replace(":15s]", ":1s]").replace("[1h]", "[60s]")
        text = re.sub(r"((?:\[|offset )\d+)m(?=[\]:\s])", r"\1s", re.sub(r"for: \d+m", "for: 1s", text))
        check(not re.search(r"\dm[\]:]|for: \d+m", text), f"{name} is not hurried")
        if played:
            held = " + ".join(f"rate(whyidle_gpu_{kind}_seconds_total[5s])" for kind in ["busy", "idle_held"])
            text = re.sub(r"(rate\(whyidle_gpu_\w+\[5s\]\))", rf"\1 / ({held})", text)
        (folder / name).write_text(text)
    return folder


def scraped(server, text, address):
    """Every series of the target arrives, with its labels and its value; what the configuration renames is renamed."""
    until(lambda: server.query(f'up{{instance="{address}"}} == 1'), "the target is up")
    names = sorted({dict(key)["__name__"] for key in series(text)})
    stored = {}
    for name in names:
        stored.update(server.query(name))
    expected = {}
    for key, value in series(text).items():
        labels = {**dict(key), "instance": address, "job": "whyidle"}
        if re.fullmatch(r"pid:\d+", labels.get("job_id", "")):
            labels["job_id"] += "@" + address
        expected[frozenset(labels.items())] = value
    missing = [dict(key) for key in expected.keys() - stored.keys()]
    more = [dict(key) for key in stored.keys() - expected.keys()]
    check(not missing and not more, f"missing: {missing[:3]}, more: {more[:3]}")
    wrong = [(dict(key), stored[key], value) for key, value in expected.items() if stored[key] != value]
    check(not wrong, f"values: {wrong[:3]}")
    declared = server.get("metadata")
    for name, kind in kinds(text).items():
        check(declared[name][0]["type"] == kind, f"{name} is {declared[name]}, not {kind}")


def rules_are_loaded(server):
    """All rules as they ship, none with an error, each alert with its texts in both languages and its page."""
    until(lambda: all(rule["lastEvaluation"] > "0001-01-02" for rule in rules(server)), "every rule is evaluated")
    loaded = rules(server)
    shipped = re.findall(r"^ +- (?:alert|record): (\S+)", (RULES / "recording.yml").read_text()
                         + (RULES / "alerts.yml").read_text(), re.MULTILINE)
    check(sorted(shipped) == sorted(rule["name"] for rule in loaded), f"loaded: {[rule['name'] for rule in loaded]}")
    for rule in loaded:
        check(rule["health"] == "ok", f"{rule['name']}: {rule}")
        if rule["type"] != "alerting":
            continue
        texts = rule["annotations"]
        check(sorted(texts) == sorted(ALERT_TEXTS), f"{rule['name']}: {sorted(texts)}")
        check(rule["labels"].get("severity") in ("warning", "info"), f"{rule['name']}: {rule['labels']}")
        for name, text in texts.items():
            check(bool(CHINESE.search(text)) == name.endswith("_zh"), f"{rule['name']}: {name} is in the wrong language")
        fields = lambda text: sorted(re.findall(r"\{\{.*?\}\}", text))
        for name in ["summary", "description"]:
            check(fields(texts[name]) == fields(texts[f"{name}_zh"]), f"{rule['name']}: {name} differs in what it fills in")
        page = ROOT / texts["runbook_url"].removeprefix(REPOSITORY)
        check(texts["runbook_url"].startswith(REPOSITORY) and page.is_file(), f"{rule['name']}: no page {page}")
        page = pathlib.Path(str(page).replace("/docs/en/", "/docs/zh/"))
        check(page.is_file(), f"{rule['name']}: no page {page}")


def rules(server):
    return [rule for group in server.get("rules")["groups"] for rule in group["rules"]]


def alerts_fire(server):
    """The replayed node sets off the alerts that it should, each with every blank of its texts filled in, and no other."""
    def firing():
        now = {alert["labels"]["alertname"] for alert in server.get("alerts")["alerts"] if alert["state"] == "firing"}
        return now >= FIRING and now
    found = until(firing, f"these fire: {sorted(FIRING)}", patience_s=60)
    check(found == FIRING, f"too many fire: {sorted(found - FIRING)}")
    for alert in server.get("alerts")["alerts"]:
        for name, text in alert["annotations"].items():
            check(not any(word in text for word in ["<no value>", "{{", "}}", "<error"]) and "  " not in text, f"{alert['labels']['alertname']}: {name}: {text}")
    # What was recorded on the way is what the replayed counters say: 2 cards held, 60 % of that waiting for data.
    job = {"job_id": "4711"}
    for name, expected in [("whyidle:job_held_gpus:rate_5m", 2), ("whyidle:job_busy:ratio_5m", 0.4)]:
        (value,) = server.query(f'{name}{{job_id="{job["job_id"]}"}}').values()
        check(abs(value - expected) < 0.1 * expected, f"{name} is {value}, not {expected}")


def silence_is_noticed(server, target):
    """A target that goes away fires, and recovers."""
    name = "WhyidleAgentDown"
    fires = lambda: [alert for alert in server.get("alerts")["alerts"]
                     if alert["labels"]["alertname"] == name and alert["state"] == "firing"]
    check(not fires(), "the agent is said to be down")
    target.next = lambda _: "this is { no exposition\n"
    until(fires, f"{name} fires")
    target.next = lambda _: "up_again 1\n"
    until(lambda: not fires(), f"{name} resolves")


def whole(report, text):
    """All that takes a running server: one that is asked what it scraped, and one on which alerts fire."""
    with tempfile.TemporaryDirectory() as folder, Target(text) as target:
        with report.service("a server scrapes", Prometheus(configured(folder, target.address, RULES))) as server:
            report.run("what is scraped is what was exposed", scraped, server, text, target.address)
            report.run("every rule is loaded and says what it should", rules_are_loaded, server)
            target.next = growing(text, REPLAYED)
    with tempfile.TemporaryDirectory() as folder, Target(text) as target:
        target.next = growing(text, REPLAYED)
        config = configured(folder, target.address, hurried(folder))
        with report.service("a server alerts", Prometheus(config)) as server:
            report.run("alerts fire on a replayed node (hurried rules)", alerts_fire, server)
            report.run("every panel of the dashboard has figures (hurried rules)", contract.dashboard_shows_figures, server)
            report.run("an agent that is silent is noticed (hurried rules)", silence_is_noticed, server, target)
