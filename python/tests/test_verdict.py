"""Verdicts in Python are the JSON of the program, to the last digit, and what is wrong is an exception with a hint.

They need the extension (`make test-python` builds it) and the program (``WHYIDLE_TEST_PROGRAM``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import whyidle

pytest.importorskip("whyidle._native", reason="the extension is not built")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "examples/starved-by-two-workers"
RUNS = [EXAMPLE, "testdata/straggler_data", "testdata/tok_workers0", "testdata/fed_small"]
PROGRAM = Path(os.environ.get("WHYIDLE_TEST_PROGRAM", ROOT / "target" / "debug" / "whyidle"))


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.chdir(ROOT)


def printed(*arguments: str, code: int = 0):
    command = [PROGRAM, *arguments, "--format", "json", "--lang", "en"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", RUNS)
def test_a_verdict_is_the_programs(path):
    verdict, wanted = whyidle.load(path, lang="en"), printed("diagnose", path)
    assert verdict.to_dict() == wanted
    assert dict(verdict) == wanted and len(verdict) == len(wanted)
    assert verdict.sentence == wanted["verdict"]["sentence"]["text"] and verdict.sentence in repr(verdict)
    assert (verdict.primary, verdict.healthy) == (wanted["verdict"]["primary"], wanted["verdict"]["healthy"])
    assert (verdict.step_ms, verdict.working_share) == (wanted["step"]["unprofiled_ms"], wanted["working_share"])
    for name in ("traced_ns", "ms", "low_ms", "high_ms", "share"):
        assert verdict.ledger[name].tolist() == [line[name] for line in wanted["ledger"]]
    assert verdict.ledger["traced_ns"].dtype == np.int64
    assert verdict.findings["cause"].tolist() == [finding["cause"] for finding in wanted["findings"]]
    after = [(finding["gain"] or {}).get("step_ms_after", float("nan")) for finding in wanted["findings"]]
    assert np.array_equal(verdict.findings["step_ms_after"], np.array(after, dtype=float), equal_nan=True)
    assert [note["code"] for note in verdict.quality] == [note["code"] for note in wanted["quality"]]
    assert all(isinstance(note["text"], str) for note in verdict.quality)


def test_kernels_are_those_of_the_table():
    verdict = whyidle.load(EXAMPLE)
    trace = verdict["inputs"][0]["path"]
    counted = printed("sql", trace, "select count(*) n, sum(own_ns) own from kernels")[0]
    kernels = verdict.kernels
    assert (len(kernels), int(kernels["own_ns"].sum())) == (counted["n"], counted["own"])
    assert kernels is verdict.kernels
    # What the ledger charges to kernels is the working part of it.
    working = sum(row["traced_ns"] for row in verdict.ledger if row["kind"] == "working")
    charged = [row["own_ns"] for row in kernels if row["line"] and row["line"].startswith("working.")]
    assert sum(charged) == working
    array = kernels.to_numpy()
    assert array.shape == (len(kernels),) and array["start_ns"].tolist() == kernels["start_ns"].tolist()
    with pytest.raises(KeyError, match="duration_ns"):
        kernels["nonsense"]


def test_options_are_those_of_trace():
    verdict = whyidle.load(EXAMPLE, step_ms=188.25, what_if=["data.workers=12"], device=0, lang="en")
    wanted = printed("trace", EXAMPLE, "--step-ms", "188.25", "--what-if", "data.workers=12", "--device", "0")
    assert verdict.to_dict() == wanted and len(wanted["what_if"]) == 1
    assert whyidle.load([EXAMPLE], step_ms=188.25)["step"]["basis"] == "given"


def test_pandas_gets_the_same_figures():
    pytest.importorskip("pandas")
    verdict = whyidle.load(EXAMPLE)
    frame = verdict.to_pandas()
    assert frame["ms"].tolist() == verdict.ledger["ms"].tolist() and list(frame.columns) == verdict.ledger.columns
    assert verdict.findings.to_pandas()["cause"].tolist() == verdict.findings["cause"].tolist()
    assert len(verdict.kernels.to_pandas()) == len(verdict.kernels)


def test_both_languages_and_a_notebook():
    english, chinese = (whyidle.load(EXAMPLE, lang=lang) for lang in ("en", "zh"))
    assert "step" in english.sentence and "单步" in chinese.sentence
    for verdict in (english, chinese):
        page = verdict._repr_html_()
        assert verdict["ledger"][0]["label"] in page and page.count("<tr>") > 3 and "<script" not in page
        assert "<th>traced_ns</th>" in verdict.ledger._repr_html_()
    assert "<b>" not in whyidle.Table([{"a": "<b>"}], {"a": "O"})._repr_html_()


def test_comparisons_and_plans():
    a, b = "testdata/tok_workers0", EXAMPLE
    comparison = whyidle.compare(a, b, lang="en")
    assert comparison.to_dict() == printed("diff", a, b) and comparison.sentence
    options = ["--model", "llama-3-8b", "--gpu", "h100x8", "--seq", "8192", "--global-batch", "256"]
    planned = whyidle.plan(model="llama-3-8b", gpu="h100x8", seq=8192, global_batch=256, tokens=None, lang="en")
    assert planned.to_dict() == printed("plan", *options)


def test_what_is_wrong_is_an_exception_with_a_hint(tmp_path):
    with pytest.raises(whyidle.Unreadable, match="no-such") as caught:
        whyidle.load("no-such-run", lang="en")
    assert caught.value.hint and "hint: " in str(caught.value) and isinstance(caught.value, whyidle.WhyidleError)
    empty = tmp_path / "trace.json"
    empty.write_text('{"traceEvents": []}')
    with pytest.raises(whyidle.Refused) as refused:
        whyidle.load(empty, lang="en")
    assert refused.value.code == refused.value.report["refused"]["code"] and refused.value.hint
    with pytest.raises(whyidle.Unreadable, match="nonsense"):
        whyidle.plan(nonsense=1, lang="en")
    with pytest.raises(whyidle.WhyidleError):
        whyidle.compare(EXAMPLE, empty)


def test_a_path_is_a_path_whatever_it_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "--help").write_text("{}")
    for path in ("--help", b"--help", Path("--help"), ["--help"]):
        with pytest.raises(whyidle.Unreadable, match="nothing that whyidle reads"):
            whyidle.load(path)
    with pytest.raises(whyidle.Unreadable, match="--help"):
        whyidle.compare("--help", "--help")
    for path in ("", [], [""]):
        with pytest.raises(whyidle.Unreadable, match="path"):
            whyidle.load(path)
    # One that stands alone is one, not its letters; and a value is no option.
    with pytest.raises(whyidle.Unreadable, match='no cause "bogus"'):
        whyidle.load(RUNS[-1], what_if="bogus")
    for option in ({"rank": -1}, {"step_ms": -1.0}, {"what_if": ["--help"]}):
        with pytest.raises(whyidle.Unreadable, match="cannot be|no cause"):
            whyidle.load(RUNS[-1], **option)


def test_ctrl_c_ends_a_command_that_waits(tmp_path):
    """A pipe into which nobody writes; the extension itself does not see Ctrl-C."""
    pipe = tmp_path / "trace.json"
    os.mkfifo(pipe)
    before = threading.active_count()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        whyidle.load(pipe)
    timer.join()
    # What waits gets its end.
    with open(pipe, "wb") as writer:
        writer.write(b"{}")
    for _ in range(1000):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before


def test_other_threads_go_on_meanwhile():
    """While whyidle works, another thread counts: it cannot where the lock is held."""
    counted, done = 0, threading.Event()

    def load() -> None:
        whyidle.load(EXAMPLE)
        done.set()

    thread = threading.Thread(target=load)
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_it_works_in_a_process_that_was_forked():
    whyidle.load(EXAMPLE)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if whyidle.load(EXAMPLE).primary == "data.workers" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_types_are_sound(tmp_path):
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text(
        "import whyidle\n"
        "verdict: whyidle.Verdict = whyidle.load('x', step_ms=1.5)\n"
        "words: str = verdict.sentence\n"
        "rows: whyidle.Table = verdict.ledger\n"
        "wrong: int = verdict.sentence\n"
        "whyidle.load()\n"
    )
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    files = ["commands", "table", "verdict", "__init__"]
    package = [str(ROOT / "python" / "whyidle" / f"{name}.py") for name in files]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *config, "--follow-imports", "silent", *package, str(use)],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    errors = [line.split(": error: ")[0].split(os.sep)[-1] for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == ["use.py:5", "use.py:6"], done.stdout + done.stderr
