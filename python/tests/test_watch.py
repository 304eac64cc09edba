"""The watch of a loop with real CPU torch: what it records, and that nothing of it ever reaches the program."""

from __future__ import annotations

import contextlib
import gzip
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from torch.utils.data import DataLoader, Dataset  # noqa: E402

import whyidle  # noqa: E402
from whyidle.loop import current, program as whyidle_program  # noqa: E402


# Threads that spin for each other on a busy machine cost more than they bring here.
torch.set_num_threads(1)


class Items(Dataset):
    """Token ids of which a quarter is padding; item ``dies`` ends the worker that makes it."""

    def __init__(self, count: int = 1 << 20, dies: int | None = None) -> None:
        self.count, self.dies = count, dies

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if index == self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"input_ids": torch.full((16,), index % 50), "attention_mask": (torch.arange(16) < 12).long()}


class Model:
    """Something that trains."""

    def __init__(self) -> None:
        self.net = torch.nn.Sequential(torch.nn.Embedding(50, 8), torch.nn.Flatten(), torch.nn.Linear(128, 4))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def backward(self, batch: dict[str, torch.Tensor]) -> None:
        self.net(batch["input_ids"]).square().mean().backward()

    def step(self, batch: dict[str, torch.Tensor]) -> None:
        self.backward(batch)
        self.optimizer.step()
        self.optimizer.zero_grad()


BATCH = {"input_ids": torch.arange(32).reshape(2, 16), "attention_mask": torch.ones(2, 16, dtype=torch.int64)}


def described(watch: whyidle.Watch, rank: int | None = None) -> dict:
    name = "recording.json" if rank is None else f"recording_rank{rank}.json"
    return json.loads((watch.recording / name).read_text())


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT", "WHYIDLE", "WHYIDLE_OUT"):
        monkeypatch.delenv(name, raising=False)


def test_steps_batches_phases_and_a_trace_are_recorded(program, capsys):
    model = Model()
    with whyidle.watch("out", sample=False, trace_steps=4, trace_after_s=0, lang="en") as watch:
        for at, batch in enumerate(DataLoader(Items(800), batch_size=2)):
            model.step(batch)
            whyidle.step()
            if at % 100 == 50:
                with watch.phase("evaluation"):
                    model.net(batch["input_ids"])
    assert current.current() is None and watch.recording == Path("out") and watch.faults.count == 0
    about = described(watch)
    steps = about["in_loop"]["steps"]
    assert steps["all"] == 399 and about["in_loop"]["boundaries"] == "step" and steps["clock"] == "host"
    # The first step, those after an evaluation, and those around the trace: 2 to warm up, 4 traced, 2 after.
    assert steps["disturbed"] >= 4 + 2 + 4 + 2
    assert about["timed_steps"] <= 399 - steps["disturbed"] and about["step_ms_mean"] > 0
    assert (about["batch"], about["seq"], about["workers"]) == (2, 16, 0)
    assert about["padding"]["share"] == 0.25 and about["padding"]["basis"] == "attention_mask"
    phases = about["in_loop"]["phases_ns"]
    assert set(phases) == {"training", "data", "evaluation"} and 0 < phases["data"] < phases["training"]
    assert about["torch"] == torch.__version__ and about["active_steps"] == 4 and about["missing"] == []
    assert sorted(os.listdir("out")) == ["recording.json", "trace_rank0.json.gz"]
    trace = json.loads(gzip.decompress((watch.recording / "trace_rank0.json.gz").read_bytes()))
    names = {event["name"] for event in trace["traceEvents"] if event.get("ph") == "X"}
    assert sum(name.startswith("ProfilerStep#") for name in names) == 4 and "aten::embedding" in names
    said = capsys.readouterr().err
    assert "no verdict" in said and "4 traced" in said and "25 % of tokens" in said and "evaluation" in said
    # The program reads it as any recording.
    done = subprocess.run([program, "diagnose", "out", "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["refused"]["code"] == watch.refusal.code


def test_optimizer_steps_are_the_boundaries_where_nobody_says(program):
    model = Model()
    with whyidle.watch(sample=False, report=False) as watch:
        for at in range(120):
            model.backward(BATCH)
            if at % 4 == 3:
                model.optimizer.step()
    about = described(watch)
    assert about["in_loop"]["steps"]["all"] == 29 and about["in_loop"]["boundaries"] == "optimizer"
    assert watch.recording.parent == Path("whyidle-runs") and str(os.getpid()) in watch.recording.name
    # Nothing stays in the program.
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
    assert not hooks and not hasattr(torch.utils.data.dataloader._BaseDataLoaderIter.__next__, "__wrapped__")
    model.optimizer.step()
    assert described(watch) == about


def test_without_a_watch_step_does_nothing():
    assert current.current() is None
    whyidle.step()
    assert os.listdir(".") == []


def test_samples_come_from_the_program_and_lie_in_one_directory(program, cards, capsys):
    """A GPU that is replayed: this is the way to a verdict on a machine without one."""
    model, watch = Model(), whyidle.watch("out", lang="en")
    loader = DataLoader(Items(), batch_size=2, num_workers=2)
    with watch:
        rows, batches = 0, iter(loader)
        # Until enough was seen, however long that takes here; a program that writes nothing ends it.
        for at in range(2_000_000):
            model.step(next(batches))
            if at % 500 == 0:
                table = Path("out", "nvml.csv")
                rows = table.read_text().count("\n") if table.exists() else 0
                if rows > 60:
                    break
        del batches
    assert rows > 60 and watch.faults.count == 0, watch.faults.first
    about = described(watch)
    names = set(os.listdir("out"))
    assert {"recording.json", "nvml.csv", "proc.csv", "stacks.jsonl", "system.csv"} <= names
    assert about["pids"] == [os.getpid()] and about["steps_host_ms"] and about["workers"] == 2
    assert about["in_loop"]["boundaries"] == "optimizer" and about["gpus"][0]["name"] == "NVIDIA H200"
    assert watch.verdict is not None, watch.refusal
    assert watch.verdict.sentence in capsys.readouterr().err
    assert whyidle.load("out", lang="en").to_dict() == watch.verdict.to_dict()
    assert watch.verdict["step"]["basis"] == "measured"
    assert watch.verdict.step_ms == pytest.approx(about["step_ms_mean"], rel=1e-3)


def test_an_exception_gets_its_verdict_and_goes_on(capsys):
    model = Model()
    with pytest.raises(ZeroDivisionError), whyidle.watch("out", sample=False, lang="en") as watch:
        for _ in range(30):
            model.step(BATCH)
        1 / 0  # noqa: B018
    assert described(watch)["in_loop"]["steps"]["all"] == 29 and "steps" in capsys.readouterr().err


def test_an_interrupt_gets_the_verdict_for_what_there_was(program):
    code = """
import os, signal, torch, whyidle
net = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with whyidle.watch("out", lang="en"):
    for at in range(10**9):
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        if at == 40:
            os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert "KeyboardInterrupt" in done.stderr and done.returncode != 0
    assert "whyidle: no verdict" in done.stderr and "recording  out" in done.stderr
    about = json.loads(Path("out/recording.json").read_text())
    assert 38 <= about["in_loop"]["steps"]["all"] <= 41


def test_a_worker_that_dies_is_the_programs_matter():
    model = Model()
    with pytest.raises((RuntimeError, OSError, EOFError)), whyidle.watch("out", sample=False, report=False) as watch:
        for batch in DataLoader(Items(dies=101), batch_size=2, num_workers=1):
            model.step(batch)
    about = described(watch)
    assert 30 < about["in_loop"]["steps"]["all"] < 51 and about["workers"] == 1
    assert watch.faults.count == 0


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_start_no_watch_of_their_own(way):
    model = Model()
    loader = DataLoader(Items(64), batch_size=2, num_workers=2, multiprocessing_context=way)
    with whyidle.watch(sample=False, report=False) as watch:
        for batch in loader:
            model.step(batch)
    assert os.listdir("whyidle-runs") == [watch.recording.name]
    assert described(watch)["in_loop"]["steps"]["all"] == 31


def train_in_child(queue) -> None:
    whyidle.step()
    # Without gradients there is nothing to compute, which threads of the parent would have a part in.
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    for _ in range(5):
        optimizer.step()
    queue.put(current.current() is None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_no_part_in_its_parents_watch():
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with whyidle.watch("out", sample=False, report=False) as watch:
        model = Model()
        model.step(BATCH)
        child = context.Process(target=train_in_child, args=(queue,))
        child.start()
        child.join(120)
        model.step(BATCH)
    assert child.exitcode == 0 and queue.get() and described(watch)["in_loop"]["steps"]["all"] == 1


def test_a_place_that_is_taken_is_refused_before_anything_starts(tmp_path):
    Path("out").mkdir()
    Path("out/kept").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"), whyidle.watch("out"):
        raise AssertionError("it must not start")
    assert os.listdir("out") == ["kept"] and current.current() is None
    Path("empty").mkdir()
    with whyidle.watch("empty", sample=False, report=False):
        Model().step(BATCH)
    assert os.listdir("empty") == ["recording.json"]


def test_one_watch_at_a_time_and_each_once():
    with whyidle.watch(sample=False, report=False) as watch:
        with pytest.raises(RuntimeError, match="already"):
            whyidle.watch().start()
        with pytest.raises(RuntimeError, match="before"):
            watch.start()
        assert current.current() is watch
    watch.close()
    with pytest.raises(RuntimeError, match="before"), watch:
        pass
    later = whyidle.watch(sample=False, report=False).start()
    later.close()
    assert "ended" in repr(later)
    with pytest.raises(ValueError, match="negative"):
        whyidle.watch(trace_after_s=-1)


def test_a_profiler_of_the_programs_own_is_left_alone():
    """One that waits for its turn, and one that begins while ours runs."""
    model = Model()
    kept: list[str] = []
    schedule = torch.profiler.schedule(wait=120, warmup=1, active=2, repeat=1)
    with whyidle.watch("a", sample=False, report=False, trace_steps=3, trace_after_s=0) as watch:
        with torch.profiler.profile(schedule=schedule, on_trace_ready=lambda p: kept.append("own")) as own:
            for _ in range(140):
                model.step(BATCH)
                own.step()
    assert kept == ["own"] and watch.faults.count == 0
    about = described(watch)
    assert about["missing"] == [{"what": "trace", "code": "program-profiles", "detail": ""}]
    assert about["in_loop"]["steps"]["disturbed"] >= 3
    with whyidle.watch("b", sample=False, report=False, trace_steps=3, trace_after_s=0) as watch:
        for _ in range(400):
            model.step(BATCH)
            if watch._tracer.trace is not None and watch._tracer.trace.records:
                break
        assert watch._tracer.trace is not None
        with torch.profiler.profile() as own:
            model.step(BATCH)
        assert "aten::embedding" in {event.key for event in own.key_averages()}
    assert watch.faults.count == 0, watch.faults.first
    assert described(watch)["missing"][0]["code"] == "program-profiles"


def test_an_evaluation_spoils_a_trace_and_it_is_tried_again():
    model = Model()
    with whyidle.watch("out", sample=False, report=False, trace_steps=3, trace_after_s=0) as watch:
        spoilt = 0
        for _ in range(600):
            model.step(BATCH)
            if not spoilt and watch._tracer.trace is not None and watch._tracer.trace.records:
                spoilt = 1
                with watch.phase("evaluation"):
                    pass
    about = described(watch)
    assert spoilt and about["active_steps"] == 3 and about["missing"] == [] and watch.faults.count == 0


def test_what_fails_in_the_watch_is_said_and_not_raised(monkeypatch, capsys):
    model = Model()
    with monkeypatch.context() as patch, whyidle.watch(lang="en") as watch:
        patch.setattr("whyidle.loop.place.claim", lambda *_: (_ for _ in ()).throw(OSError("no disk")))
        for _ in range(10):
            model.step(BATCH)
            whyidle.step()
            watch.batch({"attention_mask": object(), "labels": 3})
    assert watch.faults.count == 1 and "OSError: no disk" in capsys.readouterr().err
    monkeypatch.setattr(whyidle_program, "find", lambda: None)
    monkeypatch.setattr(whyidle_program, "load", lambda *_, **__: (_ for _ in ()).throw(whyidle.WhyidleError("none")))
    with whyidle.watch(lang="en") as watch:
        for _ in range(10):
            model.step(BATCH)
    assert watch.verdict is None and watch.refusal.message == "none"
    assert described(watch)["missing"][-1]["code"] == "no-program"


def test_what_a_signal_raises_is_the_programs(monkeypatch):
    """As PyTorch's handler does where a worker dies; it may arrive while the watch has the word."""

    def raises(number, frame):
        raise RuntimeError("a worker died")

    def interrupted(*_):
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, raises)
    try:
        model = Model()
        with whyidle.watch(sample=False, report=False) as watch:
            model.step(BATCH)
            monkeypatch.setattr(watch._boundaries, "mark", interrupted)
            with pytest.raises(RuntimeError, match="a worker died"):
                model.step(BATCH)
        assert watch.faults.count == 0
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_no_step_leaves_nothing(capsys):
    with whyidle.watch(lang="zh") as watch:
        pass
    assert watch.recording is None and os.listdir(".") == []
    assert "whyidle.step()" in capsys.readouterr().err


def test_the_ledger_goes_to_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    model, writer = Model(), SummaryWriter(str(tmp_path / "logs"))
    with whyidle.watch("out", sample=False, report=False) as watch:
        for _ in range(40):
            model.step(BATCH)
    writer.close()
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    scalars = events.Tags()["scalars"]
    assert {"whyidle/step_ms", "whyidle/phase/training_s"} <= set(scalars)
    (step,) = events.Scalars("whyidle/step_ms")
    assert step.step == 39 and step.value == pytest.approx(described(watch)["step_ms_mean"], rel=1e-4)


def test_wandb_and_mlflow_as_they_document_it(monkeypatch):
    """Both faked by their documented calls, for neither is installed; tried by hand on wandb 0.31 and MLflow 3.17."""
    summary: dict[str, float] = {}
    logged: dict[str, float] = {}
    run = type("Run", (), {"summary": summary})()
    monkeypatch.setitem(sys.modules, "wandb", type("wandb", (), {"run": run}))
    mlflow = type(
        "mlflow",
        (),
        {
            "active_run": staticmethod(lambda: object()),
            "log_metrics": staticmethod(lambda found, step: logged.update(found, step=step)),
            "set_tag": staticmethod(lambda name, value: logged.update({name: value})),
        },
    )
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    model = Model()
    with whyidle.watch("out", sample=False, report=False) as watch:
        for _ in range(40):
            model.step(BATCH)
    assert watch.faults.count == 0 and summary["whyidle/step_ms"] == logged["whyidle/step_ms"] > 0
    assert logged["step"] == 39


def environment() -> dict[str, str]:
    source = str(Path(whyidle.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "LC_ALL": "C"}


def test_it_ends_with_a_process_that_forgot_to_close(program):
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_watch import Model, BATCH; import whyidle\n"
    code += "watch = whyidle.watch('out', sample=False).start(); model = Model()\n"
    code += "for _ in range(30): model.step(BATCH)\n"
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    assert "recording  out" in done.stderr
    with contextlib.suppress(FileNotFoundError):
        assert json.loads(Path("out/recording.json").read_text())["in_loop"]["steps"]["all"] == 29
