"""One contract: what the agent exports is what rules, dashboard and the ranking ask for, and nothing else."""

import json
import pathlib
import re
import tempfile
import tomllib

from checks import Failed, check, ran
from exposition import kinds, series
from server import find

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = re.compile(r"\bwhyidle(?::\w+){2}|\bwhyidle_\w+")
# What Grafana fills in, by something of the same kind.
FILLED = {"$__rate_interval": "5m", "$__range": "6h", "$__interval": "1m"}
# What belongs to Prometheus, not to the contract.
OF_PROMETHEUS = {"job", "instance", "alertname", "alertstate"}


def contract():
    return tomllib.loads((ROOT / "deploy/metrics.toml").read_text())


def is_sound():
    """Names, kinds, units and labels follow Prometheus's rules for names, and every label is described."""
    found = contract()
    names = [metric["name"] for metric in found["metric"]]
    check(len(names) == len(set(names)) and len(names) >= 30, f"{len(names)} metrics")
    for metric in found["metric"]:
        name, kind = metric["name"], metric["type"]
        check(re.fullmatch(r"whyidle_(gpu|run|agent)_[a-z_]+", name), name)
        check((kind == "counter") == name.endswith("_total"), f"{name} is a {kind}")
        check(metric["help"].endswith("."), f"{name}: {metric['help']}")
        for label in metric["labels"]:
            check(label in found["labels"], f"{name}: {label} is not described")
    used = {label for metric in found["metric"] for label in metric["labels"]}
    check(used == set(found["labels"]), f"described and not used: {set(found['labels']) - used}")


def exposition_keeps_it(text):
    """An exposition has the metrics of the contract, of their kinds, with their labels; shares lie in [0, 1]."""
    metrics = {metric["name"]: metric for metric in contract()["metric"]}
    for name, kind in kinds(text).items():
        # OpenMetrics declares a counter without its `_total`.
        name = name if name in metrics else f"{name}_total"
        check(name in metrics and metrics[name]["type"] in (kind, "gauge" if kind == "info" else kind), f"{name}: {kind}")
    for key, value in series(text).items():
        labels = dict(key)
        name = labels.pop("__name__")
        check(name in metrics, f"{name} is not in the contract")
        check(set(labels) <= set(metrics[name]["labels"]), f"{name}: {sorted(labels)}")
        if name.endswith("_ratio") and name != "whyidle_run_behind_ratio":
            check(0 <= value <= 1, f"{name} is {value}")
        check(value >= 0 or name == "whyidle_run_behind_ratio", f"{name} is {value}")


def known_names():
    recorded = re.findall(r"^ +- record: (\S+)", (ROOT / "deploy/prometheus/recording.yml").read_text(), re.MULTILINE)
    return {metric["name"]: set(metric["labels"]) for metric in contract()["metric"]}, set(recorded)


def uses_only_the_contract(what, expression):
    metrics, recorded = known_names()
    for name in NAME.findall(expression):
        check(name in metrics or name in recorded, f"{what}: {name} is neither exported nor recorded")
    everything = set().union(*metrics.values()) | OF_PROMETHEUS
    for name, selector in re.findall(r"(\bwhyidle[\w:]+)\{([^}]*)\}", expression):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", re.sub(r'"[^"]*"', '""', selector)):
            known = metrics.get(name, everything) | OF_PROMETHEUS
            check(label in known, f"{what}: {name} has no label {label}")


def rules_use_it():
    for name in ["recording.yml", "alerts.yml"]:
        text = re.sub(r"#.*", "", (ROOT / "deploy/prometheus" / name).read_text())
        for expression in re.findall(r"expr:(.*?)(?=\n +(?:for|labels|record|- )|\Z)", text, re.DOTALL):
            uses_only_the_contract(name, expression)


def book_explains_it():
    """Every metric and every alert has its line in both languages of the book."""
    alerts = re.findall(r"^ +- alert: (\w+)", (ROOT / "deploy/prometheus/alerts.yml").read_text(), re.MULTILINE)
    for lang in ["en", "zh"]:
        page = (ROOT / f"docs/{lang}/src/fleet.md").read_text()
        for name in [metric["name"] for metric in contract()["metric"]] + alerts:
            check(re.search(rf"^\|.*`{name}`", page, re.MULTILINE), f"docs/{lang}/src/fleet.md does not explain {name}")


def dashboard_is_sound():
    """Every expression parses and uses the contract; every source of data is a variable; no id of one installation."""
    dashboard = json.loads((ROOT / "deploy/grafana/whyidle.json").read_text())
    check(dashboard["id"] is None and dashboard["uid"] is None, "the dashboard has an id of its own")
    ids = [panel["id"] for panel in dashboard["panels"]]
    check(len(ids) == len(set(ids)), "two panels with one id")
    expressions, places = [], set()

    def walk(node, where):
        if isinstance(node, dict):
            if "datasource" in node:
                check(node["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, f"{where}: {node['datasource']}")
            for key in ("expr", "definition"):
                if key in node:
                    expressions.append((where, node[key]))
            for key, value in node.items():
                walk(value, f"{where}.{key}")
        elif isinstance(node, list):
            for at, value in enumerate(node):
                walk(value, f"{where}[{at}]")

    walk(dashboard, "dashboard")
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                check((x, y) not in places and x < 24, f"{panel['title']} covers another panel")
                places.add((x, y))
        if panel["type"] != "row":
            check(panel["description"] and panel["targets"], f"{panel['title']} says nothing")
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    rules = []
    for where, expression in expressions:
        uses_only_the_contract(where, expression)
        for variable in re.findall(r"\$\{?(\w+)", expression):
            check(variable in variables or f"${variable}" in FILLED, f"{where}: no variable {variable}")
        label_values = re.fullmatch(r"label_values\((.*), (\w+)\)", expression)
        expression = label_values[1] if label_values else expression
        for variable, value in FILLED.items():
            expression = expression.replace(variable, value)
        expression = re.sub(r"\$\w+", ".*", expression)
        rules.append({"record": f"dashboard:expression:{len(rules)}", "expr": expression})
    check(len(rules) > 20, f"{len(rules)} expressions")
    with tempfile.TemporaryDirectory() as folder:
        # JSON is YAML.
        (pathlib.Path(folder) / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
        ran(find("promtool"), "check", "rules", "rules.yml", cwd=folder)
        (pathlib.Path(folder) / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": [
            {"record": "wrong", "expr": rules[0]["expr"] + ")"}]}]}))
        try:
            ran(find("promtool"), "check", "rules", "rules.yml", cwd=folder)
        except Failed:
            return
        raise Failed("promtool does not mind a wrong expression")


def dashboard_shows_figures(server):
    """Each panel of a server that scrapes has something to show."""
    dashboard = json.loads((ROOT / "deploy/grafana/whyidle.json").read_text())
    empty = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for variable, value in {"$__rate_interval": "5s", "$__range": "60s", **FILLED}.items():
                expression = expression.replace(variable, value)
            if not server.query(re.sub(r"\$\w+", ".*", expression)):
                empty.append(panel["title"])
    check(not empty, f"nothing to show: {empty}")
