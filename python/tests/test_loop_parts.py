"""The parts of the watch that need no training: durations, steadiness, phases, padding, places, words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import whyidle
from whyidle.loop import place, recording, words
from whyidle.loop.boundaries import Boundaries
from whyidle.loop.durations import Durations
from whyidle.loop.events import GpuClock
from whyidle.loop.meeting import Meeting
from whyidle.loop.optimizers import OptimizerSteps
from whyidle.loop.padding import Batches
from whyidle.loop.phases import DATA, Phases
from whyidle.loop.ranks import Ranks
from whyidle.loop.steady import Steady

MS = 1_000_000


def test_durations_are_exact_in_sum_and_close_in_quantiles():
    durations = Durations()
    values = [(7919 * i) % 100_003 * 1_000 + 17 for i in range(20_000)]
    for value in values:
        durations.add(value)
    durations.add(-5)
    assert (durations.count, durations.total_ns) == (len(values), sum(values))
    for share in (0.1, 0.5, 0.9, 0.99):
        exact = sorted(values)[int(share * len(values)) - 1]
        assert durations.quantile(share) == pytest.approx(exact, rel=0.04)
    assert len(durations._buckets) < 1_000
    assert Durations().summary().mean_ns == 0


def test_a_rare_pause_is_no_step_and_a_burst_is():
    durations = Durations()
    for at in range(1_000):
        durations.add(5_000 * MS if at in (300, 700) else 20 * MS)
    summary = durations.summary()
    assert (summary.count, summary.mean_ns, summary.pauses, summary.pauses_ns) == (998, 20 * MS, 2, 10_000 * MS)
    bursts = Durations()
    for at in range(1_000):
        bursts.add(100 * MS if at % 16 == 0 else 3 * MS)
    summary = bursts.summary()
    assert summary.pauses == 0 and summary.count == 1_000 and summary.mean_ns == bursts.total_ns / 1_000


def test_steps_become_steady_once_they_are():
    steady = Steady()
    falling = [1_000 * MS // (i + 1) for i in range(15)]
    assert not any(steady.add(ns) for ns in falling)
    at = next(i for i in range(100) if steady.add(50 * MS))
    assert 8 <= at < 16 and steady.reached and not steady.add(1)
    wild = Steady()
    assert [i for i in range(200) if wild.add(int(1_000 * 1.1**i))] == [99]
    slow = Steady()
    assert [i for i in range(20) if slow.add(20_000 * MS * (1 + i))] == [5]


def test_only_clean_steps_count():
    boundaries = Boundaries()
    now = 0
    for at in range(60):
        boundaries.mark(now, is_clean=at % 20 != 19)
        now += (500 if at % 20 == 18 else 10) * MS
    boundaries.skip(now)
    members = boundaries.members()
    assert members["steps"]["all"] == 60 and members["steps"]["disturbed"] == 4
    assert members["step_ms_mean"] == 10 and set(members["steps_host_ms"]) == {10.0}
    assert members["steps"]["clock"] == "host" and members["steps"]["steady"]


class Event:
    """An event of a GPU that is as far as ``reached`` says."""

    reached = 0.0
    made = 0

    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing
        Event.made += 1
        self.at = -1.0

    def record(self) -> None:
        Cuda.queued += 10.0
        self.at = Cuda.queued

    def query(self) -> bool:
        return self.at <= Event.reached

    def elapsed_time(self, other: Event) -> float:
        assert self.query() and other.query(), "that would wait"
        return other.at - self.at


class Cuda:
    queued = 0.0
    captures = False
    Event = Event

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def is_current_stream_capturing() -> bool:
        return Cuda.captures

    @staticmethod
    def current_device() -> int:
        return 0


def test_the_gpu_is_asked_and_never_waited_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type("torch", (), {"cuda": Cuda}))
    Cuda.queued, Event.reached, Event.made = 0.0, 0.0, 0
    found: list[tuple[int, int]] = []
    clock = GpuClock(lambda number, ns: found.append((number, ns)))
    for number in range(40):
        clock.mark(number)
    assert found == []
    Event.reached = Cuda.queued
    clock.read()
    assert found == [(number, 10 * MS) for number in range(1, 40)]
    for number in range(40, 200):
        clock.mark(number)
        Event.reached = Cuda.queued
    assert Event.made < 45 and len(found) > 190
    # A query would spoil a capture, and a step without an event has no length.
    Cuda.captures = True
    Event.reached = -1.0
    clock.mark(200)
    Cuda.captures = False
    Event.reached = 1e9
    before = len(found)
    for number in range(201, 204):
        clock.mark(number)
    clock.read()
    assert [number for number, _ in found[before:]] == [199, 202, 203]
    # The host far ahead: events run out, and nothing waits.
    Event.reached = -1.0
    for number in range(204, 400):
        clock.mark(number)
    assert Event.made < 130


def test_of_several_optimizers_the_one_that_steps_most_counts():
    seen: list[bool] = []
    steps = OptimizerSteps(seen.append)
    critic, generator, others = object(), object(), [object() for _ in range(300)]
    for _ in range(3):
        steps._after(generator, (), {})
        for _ in range(5):
            steps._after(critic, (), {})
    # The generator's first; then the critic's, which is another from its second step on.
    assert len(seen) == 1 + 4 + 5 + 5 and seen.count(True) == 1
    for other in others:
        steps._after(other, (), {})
    assert len(steps._counts) == 4 and len(seen) == 15


def test_phases_are_unions():
    phases = Phases()
    phases.enter("evaluation", 10)
    phases.enter("evaluation", 20)
    phases.enter(DATA, 22)
    phases.leave(DATA, 25)
    phases.leave("evaluation", 30)
    phases.enter("checkpoint", 35)
    phases.leave("evaluation", 40)
    assert phases.is_outside and phases.is_open("checkpoint") and not phases.is_open("evaluation")
    assert phases.totals(55) == ({"evaluation": 30, DATA: 3, "checkpoint": 20}, 45)
    phases.leave("checkpoint", 50)
    phases.leave("checkpoint", 60)
    phases.leave("nothing", 60)
    assert phases.totals(99) == ({"evaluation": 30, DATA: 3, "checkpoint": 15}, 40)


def test_padding_is_what_the_mask_says():
    torch = pytest.importorskip("torch")
    batches = Batches()
    mask = torch.ones(4, 10, dtype=torch.int64)
    mask[:, 7:] = 0
    ids = torch.arange(40).reshape(4, 10)
    for _ in range(3):
        batches.fetched({"input_ids": ids, "attention_mask": mask})
    assert batches.share == 0.3 and batches.basis == "attention_mask"
    assert batches.members()["batch"] == 4 and batches.members()["seq"] == 10
    # The program's own word replaces what loaders showed.
    batches.tell({"input_ids": ids % 4}, pad_id=0)
    batches.fetched({"attention_mask": mask})
    assert (batches.share, batches.basis, batches.seen) == (0.25, "pad_id", 1)
    labels = Batches()
    labels.tell({"labels": torch.full((2, 4), -100)})
    assert (labels.share, labels.basis) == (1.0, "labels")
    images = Batches()
    images.fetched((torch.zeros(16, 3, 8, 8), torch.zeros(16)))
    assert images.share is None and images.members() == {"batch": 16}
    for odd in (None, 3, "text", {}, [], {"attention_mask": "none"}, torch.tensor(1.0), [[[[[ids]]]]]):
        Batches().tell(odd)


def test_a_batch_on_the_gpu_is_not_read():
    class Elsewhere:
        ndim, shape, dtype = 2, (4, 8), "torch.int64"
        device = type("device", (), {"type": "cuda"})

        def __eq__(self, other: object) -> bool:
            raise AssertionError("that would wait for the GPU")

        __hash__ = None

    batches = Batches()
    batches.tell({"attention_mask": Elsewhere()})
    assert batches.share is None and batches.elsewhere == 1 and batches.members()["padding"]["not_on_cpu"] == 1


def test_places_are_never_used_twice(tmp_path):
    one = Ranks()
    first = place.claim(None, tmp_path, one, False)
    (first / "recording.json").write_text("{}")
    again = place.claim(first, tmp_path, one, is_numbered=True)
    assert again.name == f"{first.name}-2" and (first / "recording.json").read_text() == "{}"
    with pytest.raises(place.PlaceError, match="not empty"):
        place.check(first, one)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        place.claim(file, tmp_path, one, False)


def test_ranks_of_a_job_share_a_place_and_jobs_do_not(tmp_path, monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29501")
    ranks = [Ranks(rank, 2, rank, 2) for rank in range(2)]
    first = [place.claim(None, tmp_path, rank, False) for rank in ranks]
    assert first[0] == first[1]
    assert not place.claimed_by_all(first[0], ranks[0])
    recording.merge(first[0] / "recording_rank1.json", {"state": "ended"}, [])
    assert place.claimed_by_all(first[0], ranks[0])
    second = [place.claim(None, tmp_path, rank, False) for rank in ranks]
    assert second[0] == second[1] != first[0]
    out = tmp_path / "out"
    assert [place.claim(out, tmp_path, rank, False) for rank in ranks] == [out, out]
    monkeypatch.setenv("MASTER_PORT", "29502")
    for rank in ranks:
        with pytest.raises(place.PlaceError):
            place.claim(out, tmp_path, rank, False)


def test_ranks_meet_at_a_step(tmp_path):
    zero, one = (Meeting(tmp_path, Ranks(rank, 2, rank, 2)) for rank in range(2))
    one._looked_ns = -(10**18)
    assert not one.is_now(100)
    zero.propose(100, 100 * MS)
    one._looked_ns = -(10**18)
    started = [[step for step in range(100, 120) if meeting.is_now(step)] for meeting in (zero, one)]
    assert started == [[105], [105]]
    late = Meeting(tmp_path, Ranks(1, 2, 1, 2))
    late._looked_ns = -(10**18)
    assert not late.is_now(106) and late.is_late
    zero.end()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("note", [b"", b"\xff\xfe", b"1e9\n", b"{}", b"9" * 10_000, b"5\n" + b"x" * (1 << 20), b"-3\n"])
def test_a_note_that_names_no_step_starts_no_trace(tmp_path, note):
    meeting = Meeting(tmp_path, Ranks(1, 2, 1, 2))
    (tmp_path / "trace-at").write_bytes(note)
    meeting._looked_ns = -(10**18)
    assert [step for step in range(100, 104) if meeting.is_now(step)] == []


def test_descriptions_are_added_to(tmp_path):
    path = tmp_path / "recording.json"
    path.write_text(json.dumps({"gpu": "the sampler's", "future": [1], "missing": [{"what": "a"}], "world": 3}))
    recording.merge(path, {"gpu": "ours", "world": 1}, [{"what": "trace", "code": "off", "detail": ""}])
    found = json.loads(path.read_text())
    assert (found["gpu"], found["world"], found["future"], len(found["missing"])) == ("the sampler's", 1, [1], 2)
    path.write_text("{ half")
    recording.merge(path, {"world": 1}, [])
    assert json.loads(path.read_text()) == {"world": 1, "missing": []}
    assert os.listdir(tmp_path) == ["recording.json"]


def test_both_languages_say_the_same(monkeypatch):
    english, chinese = words._WORDS["en"], words._WORDS["zh"]
    assert english.keys() == chinese.keys()
    for name, text in english.items():
        assert sorted(_placeholders(text)) == sorted(_placeholders(chinese[name])), name
    for value, wanted in (("zh_CN.UTF-8", "zh"), ("de_DE.UTF-8", "en"), ("", "en")):
        monkeypatch.setenv("LC_ALL", value)
        monkeypatch.setenv("LC_MESSAGES", value)
        monkeypatch.setenv("LANG", value)
        assert words.language(None) == wanted
    ending = words.Ending(
        place="runs/1", refusal="why", steps=9, step_ms=12.34, timed=8, clock="gpu", traced=6,
        phases_ns={"training": 60 * 10**9, "evaluation": 3 * 10**9, "data": 6 * 10**9}, padding=0.25,
        padding_basis="attention_mask", batches=4, logs=["tensorboard"], faults=1, first_fault="E: x",
    )  # fmt: skip
    said = words.text(ending, "en").splitlines()
    assert said[0] == "whyidle: no verdict: why"
    assert said[1] == "  steps      12 ms each: mean of 8 unprofiled steps, by the GPU's clock  ·  6 traced"
    assert said[2] == "  phases     training 60 s  ·  evaluation 3 s  ·  waiting for the loader 10 % of training"
    assert said[3].endswith("25 % of tokens, by attention_mask, in 4 batches")
    assert len(words.text(ending, "zh").splitlines()) == len(said) == 7


def _placeholders(text: str) -> list[str]:
    return [part.split("}")[0] for part in text.split("{")[1:]]


def test_importing_loads_nothing():
    code = (
        "import sys, whyidle, whyidle.hooks\n"
        "whyidle.step()\n"
        "heavy = {'torch', 'numpy', 'transformers', 'lightning', 'accelerate', 'subprocess'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert whyidle.hooks.__all__ and 'watch' in whyidle.__all__\n"
    )
    subprocess.run(
        [sys.executable, "-S", "-c", code], check=True, env={"PYTHONPATH": str(Path(whyidle.__file__).parents[1])}
    )
    with pytest.raises(AttributeError):
        whyidle.hooks.Nonsense  # noqa: B018


def test_types_are_sound():
    pytest.importorskip("mypy")
    root = Path(whyidle.__file__).parents[2]
    package = str(root / "python" / "whyidle")
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), package]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr
