"""The watch against what does not wish it well: Ctrl-C at any line, disks, places, names, signals, fakes."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from torch.utils.data import DataLoader, dataloader  # noqa: E402

import whyidle  # noqa: E402
from whyidle.loop import current, place, recording, words  # noqa: E402
from whyidle.loop.faults import Faults  # noqa: E402
from whyidle.loop.padding import Batches  # noqa: E402
from whyidle.loop.phases import Phases  # noqa: E402
from whyidle.loop.ranks import Ranks  # noqa: E402

torch.set_num_threads(1)
LOOP = os.path.join("whyidle", "loop", "")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT", "WHYIDLE", "WHYIDLE_OUT"):
        monkeypatch.delenv(name, raising=False)


def train(out: str | None = None, steps: int = 30, **options) -> whyidle.Watch:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    options = {"sample": False, "report": False, "trace_after_s": 0, **options}
    with whyidle.watch(out, **options) as watch:
        for _ in DataLoader(torch.arange(steps)):
            weight.grad = torch.ones(2)
            optimizer.step()
        with watch.phase("evaluation"):
            pass
    return watch


def patched() -> list:
    """What a watch changes of PyTorch, and Python's way of importing."""
    profilers = torch.profiler.profile.start, torch.profiler.profile.stop, torch.autograd.profiler.profile.__enter__
    hooks = dict(sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks)
    return [dataloader._BaseDataLoaderIter.__next__, *profilers, hooks, list(sys.meta_path), current.current()]


@pytest.mark.parametrize(("trace_steps", "every"), [(0, 11), (3, 211)])
def test_an_interrupt_at_any_line_leaves_nothing_behind(monkeypatch, trace_steps, every):
    monkeypatch.setattr("whyidle.loop.program.find", lambda: None)
    train("usual", trace_steps=trace_steps)
    usual = patched()

    def interrupted_at(wanted: int) -> bool:
        lines = 0

        def line(frame, event, arg):
            nonlocal lines
            # Before the first line of the end is over nobody can be safe: what is left then is for the end of the process.
            code = frame.f_code
            is_first = code.co_name == "close" and frame.f_lineno <= code.co_firstlineno + 2
            lines += event == "line" and code.co_name != "__exit__" and not is_first
            if lines == wanted:
                lines += 1
                raise KeyboardInterrupt
            return line

        def call(frame, event, arg):
            return line if LOOP in frame.f_code.co_filename else None

        sys.settrace(call)
        try:
            # Logs are looked for among all objects, and each would be a line.
            train(f"out{wanted}", trace_steps=trace_steps, log=False)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    wanted = 1
    while interrupted_at(wanted):
        assert patched() == usual and not torch.autograd._profiler_enabled(), wanted
        # In the beginning every line, where it is that things are put in place.
        wanted += 1 if wanted < 90 else every
    assert wanted > 90


def test_two_runs_never_share_a_directory(tmp_path):
    """A recording is described at its end: until then its directory looked empty to others."""
    out = tmp_path / "out"
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(lambda _: place.claim(out, tmp_path, Ranks(), True), range(8)))
    assert len(set(places)) == 8
    place.complete(places[0], Ranks())
    assert os.listdir(places[0]) == []


def test_a_place_that_cannot_be_is_refused_before_or_said(capsys, monkeypatch):
    os.symlink("nowhere", "link")
    with pytest.raises(place.PlaceError, match="link to nothing"):
        whyidle.watch("link").start()
    assert current.current() is None
    # It comes to be impossible once the watch has begun.
    watch = whyidle.watch("link2/out", sample=False, lang="en").start()
    Path("link2").write_text("a file")
    for _ in range(40):
        whyidle.step()
    watch.close()
    said = capsys.readouterr().err
    assert "no recording could be made: NotADirectoryError" in said and "steps" in said and "no step" not in said


def test_a_full_disk_costs_the_recording_and_not_the_words(capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording, "merge", full)
    train("out", report=True, lang="en", log=False)
    said = capsys.readouterr().err
    assert "No space left on device" in said and "no verdict" in said and "s each: mean of" in said


def test_a_verdict_that_cannot_be_read_is_said(capsys, monkeypatch):
    monkeypatch.setattr("whyidle.loop.program.judge", lambda *_: b"\xff".decode())
    watch = train("out", report=True, lang="en", log=False)
    assert "UnicodeDecodeError" in capsys.readouterr().err and watch.verdict is None


def test_descriptions_stand_what_the_sampler_and_the_system_give(tmp_path):
    file = tmp_path / "recording.json"
    file.write_text("[" * 100_000)
    recording.merge(file, {"argument": "\udcff"}, [])
    assert json.loads(file.read_text())["argument"] == "?"


def test_phases_are_bounded_and_their_names_are_words():
    phases = Phases()
    for at in range(1000):
        phases.enter(f"step {at}")
        phases.leave(f"step {at}")
    phases.enter(("a", 1))
    phases.leave(("a", 1))
    names = set(phases.totals()[0])
    assert len(names) == 65 and "other" in names and all(isinstance(name, str) for name in names)
    assert not phases.is_outside
    # What is left of the run is no phase of its own.
    phases.enter("training")
    assert not phases.is_outside and "training" not in phases.totals()[0]
    phases.leave("training")


def test_a_handler_that_saves_may_come_while_a_phase_begins(monkeypatch):
    """A lock that this thread holds already would wait for ever."""
    phases = Phases()

    def handler(number, frame):
        phases.enter("checkpoint")
        phases.leave("checkpoint")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with phases._lock:
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "checkpoint" in phases.totals()[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_lock_that_another_thread_holds_does_not_cross_a_fork():
    watch = whyidle.watch("out", sample=False, report=False).start()
    held, done = threading.Event(), threading.Event()

    def hold():
        with watch._phases._lock, watch._lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        list(DataLoader(torch.arange(4)))
        watch.close()
        os._exit(0)
    done.set()
    thread.join()
    watch.close()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_errors_that_cannot_be_told_and_handlers_that_are_objects():
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    faults = Faults()
    faults.note(Mute())
    assert faults.first == "Mute"

    class Handler:
        def __call__(self, number, frame):
            raise RuntimeError("a worker died")

    before = signal.signal(signal.SIGUSR1, Handler())
    try:
        with pytest.raises(RuntimeError, match="a worker died"):
            try:
                signal.raise_signal(signal.SIGUSR1)
            except RuntimeError as error:
                faults.note(error)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert faults.count == 1


def test_masks_and_batches_of_any_kind():
    def share(batch, pad_id=None):
        batches = Batches(pad_id)
        batches.tell(batch)
        return batches.share

    kept = torch.tensor([[1, 1, 1, 0]])
    for kind in (torch.bool, torch.int8, torch.float32, torch.bfloat16):
        assert share({"attention_mask": kept.to(kind)}) == 0.25
    assert share({"attention_mask": kept.numpy()}) == 0.25
    # Added to the scores: 0 is what is kept.
    added = torch.zeros(1, 4).masked_fill(kept == 0, float("-inf"))
    assert share({"attention_mask": added}) is None
    assert share({"attention_mask": added, "input_ids": torch.tensor([[5, 6, 0, 0]])}, pad_id=0) == 0.5
    for odd in ([[1, 2], [0]], torch.tensor(3), torch.eye(2).to_sparse(), "text", None, object(), {"a": {}}):
        assert share({"input_ids": odd, "labels": odd, "attention_mask": odd}, pad_id=0) is None
    for batch in (None, "text", 5, [], {}, {"a": None}, [{"b": ["c"]}], object()):
        assert share(batch) is None


def test_ranks_and_options_that_make_no_sense(monkeypatch):
    for odd in ("²", "9" * 5000, "-1", "x", ""):
        monkeypatch.setenv("RANK", odd)
        monkeypatch.setenv("WORLD_SIZE", "2")
        assert Ranks.here() == Ranks()
    for option in ({"sample_s": float("inf")}, {"trace_after_s": float("nan")}, {"trace_steps": -1}):
        with pytest.raises(ValueError, match="must"):
            whyidle.watch(**option)


def test_words_reach_a_stream_of_ascii(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    monkeypatch.setattr(sys, "stderr", stream)
    words.say("单步 5 ms\n")
    assert stream.buffer.getvalue() == b"\\u5355\\u6b65 5 ms\n"


def test_a_loader_that_somebody_else_wraps_is_left_to_them():
    usual = dataloader._BaseDataLoaderIter.__next__
    watch = whyidle.watch("out", sample=False, report=False).start()
    ours = dataloader._BaseDataLoaderIter.__next__
    dataloader._BaseDataLoaderIter.__next__ = lambda self: ours(self)
    try:
        watch.close()
        before = watch._phases.totals()[0]
        assert len(list(DataLoader(torch.arange(4)))) == 4 and watch._phases.totals()[0] == before
    finally:
        dataloader._BaseDataLoaderIter.__next__ = usual


def test_short_phases_are_told_in_words_of_people():
    phases = {"training": 10**9, "evaluation": 66_200, "a": 5 * 10**6}
    ending = words.Ending(steps=9, step_ms=2.0, timed=8, phases_ns=phases)
    said = words.text(ending, "en")
    assert "training 1 s" in said and "evaluation < 1 ms" in said and "a 5 ms" in said
    assert "按 CPU 侧时钟" in words.text(ending, "zh")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="samples are of Linux")
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("#!/bin/sh\ntrap '' INT\nwhile :; do sleep 1; done\n", "it did not end"),
        ("#!/bin/sh\necho 'error: boom' >&2\nexit 7\n", "error: boom"),
        ("no program", "Exec format error"),
    ],
)
def test_a_program_that_hangs_or_dies_costs_no_more_than_its_samples(monkeypatch, tmp_path, script, why):
    fake = tmp_path / "fake"
    fake.write_text(script)
    fake.chmod(0o755)
    monkeypatch.setattr("whyidle.loop.program.find", lambda: str(fake))
    monkeypatch.setattr("whyidle.loop.sampler._END_S", 0.3)
    watch = train("out", sample=True)
    missing = json.loads(Path("out", "recording.json").read_text())["missing"]
    assert missing[-1]["code"] == "not-sampled" and why in missing[-1]["detail"]
    assert watch.faults.count == 0 and watch.verdict is None and watch.refusal is not None
