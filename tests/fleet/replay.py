"""Recordings of real GPUs, replayed to the rules as they ship: an hour of a sample every 15 s, in promtool's own time."""

import csv
import json
import pathlib
import shutil
import tempfile

from checks import check, ran
from server import find

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "crates/whyidle/tests/recordings"
RULES = ROOT / "deploy/prometheus"
# Each card of these recordings (H200s), and what has to be said of it.
SAID = {
    ("tok_heavy_workers2", "0"): {"WhyidleGpuBusyLow"},
    ("hf_llama_bf16_w0", "0"): {"WhyidleGpuBusyLow"},
    ("h2d_pageable", "0"): {"WhyidleGpuBusyLow"},
    ("gc_every_step", "0"): {"WhyidleGpuBusyLow"},
    ("straggler_data", "0"): set(),
    ("straggler_data", "1"): {"WhyidleGpuBusyLow"},
    # A rank that sits in a collective is busy: nothing to say of the card.
    ("pp_m2", "0"): set(),
    ("fed", "0"): set(),
    ("ckpt_needless", "0"): set(),
    ("jsonl_worker1", "0"): set(),
    # The other card of the machine: nothing runs there, and nobody holds it.
    ("tok_heavy_workers2", "1"): set(),
}
STEP_S, SAMPLES = 15, 241
# Prime to the number of samples of each recording, so that all of them are used.
STRIDE = 37
# Memory that the driver takes by itself.
HELD_FROM = 1 << 30
# Bits of the driver's reasons for lower clocks.
POWER, THERMAL = 0x4 | 0x80, 0x20 | 0x40


def samples(recording, card):
    """Rows of a card, over and over, in strides: a swing of half a second must not be stretched into one of minutes."""
    with open(RECORDINGS / recording / "nvml.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["gpu"] == card and row["util_gpu"]]
    check(len(rows) >= 40, f"{recording}: {len(rows)} samples of card {card}")
    return [rows[at * STRIDE % len(rows)] for at in range(SAMPLES)]


def input_series(recording, card):
    """What an agent makes of them."""
    labels = f'job="whyidle",instance="{recording}",gpu="{card}",uuid="GPU-{recording}-{card}"'
    busy_s = idle_s = 0.0
    found = {"busy_ratio": [], "busy_seconds_total": [], "idle_held_seconds_total": [],
             "throttled_ratio power": [], "throttled_ratio thermal": []}
    for row in samples(recording, card):
        busy = float(row["util_gpu"]) / 100
        busy_s += STEP_S * busy
        idle_s += STEP_S * (1 - busy) if float(row["mem_used"] or 0) >= HELD_FROM else 0
        reasons = int(float(row["throttle_reasons"] or 0))
        values = [busy, busy_s, idle_s, bool(reasons & POWER), bool(reasons & THERMAL)]
        for series, value in zip(found.values(), values):
            series.append(f"{float(value):.4f}")
    for name, values in found.items():
        name, _, reason = name.partition(" ")
        more = f',reason="{reason}"' if reason else ""
        yield {"series": f"whyidle_gpu_{name}{{{labels}{more}}}", "values": " ".join(values)}


def recordings_alert():
    """Of each card that waited the alert comes, and of none that worked. Power limits may be said of a card at full load."""
    series = [series for recording, card in SAID for series in input_series(recording, card)]
    firing = [{"labels": f'{{alertname="{alert}",gpu="{card}",instance="{recording}"}}', "value": 1}
              for (recording, card), alerts in SAID.items() for alert in sorted(alerts)]
    asked = 'count by (alertname, gpu, instance) (ALERTS{alertstate="firing",alertname!="WhyidlePowerThrottling"})'
    test = {"rule_files": ["recording.yml", "alerts.yml"], "evaluation_interval": "30s", "tests": [{
        "interval": f"{STEP_S}s", "input_series": series, "promql_expr_test": [
            {"expr": asked, "eval_time": "9m", "exp_samples": []},
            {"expr": asked, "eval_time": "30m", "exp_samples": firing},
            {"expr": asked, "eval_time": "59m", "exp_samples": firing},
        ]}]}
    with tempfile.TemporaryDirectory() as folder:
        for name in test["rule_files"]:
            shutil.copy(RULES / name, folder)
        # JSON is YAML.
        (pathlib.Path(folder) / "replay.yml").write_text(json.dumps(test))
        ran(find("promtool"), "test", "rules", "replay.yml", cwd=folder)
