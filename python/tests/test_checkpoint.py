"""A checkpoint is the state at the time of its save, whole or absent, whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from whyidle import AsyncCheckpointer, CheckpointError, latest_checkpoint
from whyidle.feed import checkpoint as module
from whyidle.feed.checkpoint import load_checkpoint

FORMATS = ["torch", "safetensors"]


def training_state() -> dict:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 8))
    model[2].weight = model[0].weight
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "sampler": {"epoch": 1},
        "loss": [0.5, None],
    }


def same(one, other) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


class Gate:
    """Holds writers back until it is opened."""

    def __init__(self, monkeypatch):
        self.reached, self.open = threading.Event(), threading.Event()
        real = module.replace_file

        def held(path):
            self.reached.set()
            assert self.open.wait(30)
            return real(path)

        monkeypatch.setattr(module, "replace_file", held)


@pytest.mark.parametrize("format", FORMATS)
def test_a_state_comes_back_and_tied_tensors_stay_tied(tmp_path, format):
    state = training_state()
    with AsyncCheckpointer(tmp_path, format=format) as checkpoints:
        assert checkpoints.load() is None
        assert checkpoints.save(state, 7)
        step, loaded = checkpoints.load()
    assert step == 7 and same(loaded, {**state, "model": dict(state["model"])} if format == "safetensors" else state)
    assert loaded["model"]["0.weight"].data_ptr() == loaded["model"]["2.weight"].data_ptr()
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 8))
    model.load_state_dict(loaded["model"])


@pytest.mark.parametrize("format", FORMATS)
def test_views_of_one_memory_stay_views(tmp_path, format):
    whole = torch.arange(12.0)
    state = {
        "whole": whole,
        "rows": whole.view(3, 4).t(),
        "part": whole[2:5],
        "empty": torch.empty(0),
        "one": torch.tensor(3),
    }
    with AsyncCheckpointer(tmp_path, format=format) as checkpoints:
        checkpoints.save(state, 0)
        _, loaded = checkpoints.load()
    assert same(loaded, state)
    loaded["whole"][3] = -1
    assert loaded["part"][1] == -1 and loaded["rows"][3, 0] == -1


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.bool, torch.float8_e4m3fn, torch.int8, torch.uint16, torch.float64]
)
@pytest.mark.parametrize("format", FORMATS)
def test_every_type_comes_back(tmp_path, format, dtype):
    state = {"x": torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype), "plain": (1, "a", 0.5, True)}
    with AsyncCheckpointer(tmp_path, format=format) as checkpoints:
        checkpoints.save(state, 0)
        _, loaded = checkpoints.load()
    assert torch.equal(loaded["x"].view(torch.uint8), state["x"].view(torch.uint8)) and loaded["x"].dtype == dtype
    assert loaded["plain"] == state["plain"]


@pytest.mark.parametrize("format", FORMATS)
def test_later_changes_do_not_reach_a_save(tmp_path, monkeypatch, format):
    gate = Gate(monkeypatch)
    weight = torch.ones(1000)
    state = {"weight": weight, "list": [weight[:10]], "count": {"n": 1}}
    checkpoints = AsyncCheckpointer(tmp_path, format=format)
    checkpoints.save(state, 1)
    assert gate.reached.wait(30)
    weight.zero_()
    state["count"]["n"] = 2
    state["list"].append(3)
    gate.open.set()
    _, loaded = checkpoints.load()
    assert loaded["weight"].eq(1).all() and loaded["list"][0].eq(1).all() and len(loaded["list"]) == 1
    assert loaded["count"] == {"n": 1}


def test_memory_is_used_again(tmp_path):
    snapshots = module.Snapshots()
    state = {"a": torch.ones(5), "b": torch.ones(5), "c": torch.ones(7)}
    first = {name: tensor.data_ptr() for name, tensor in snapshots.take(state).items()}
    second = {name: tensor.data_ptr() for name, tensor in snapshots.take(state).items()}
    assert set(first.values()) == set(second.values()) and len(set(first.values())) == 3


def test_a_second_save_waits_or_is_refused(tmp_path, monkeypatch):
    gate = Gate(monkeypatch)
    checkpoints = AsyncCheckpointer(tmp_path, busy="refuse")
    assert checkpoints.save({"x": 1}, 1)
    assert gate.reached.wait(30)
    assert not checkpoints.save({"x": 2}, 2)
    gate.open.set()
    checkpoints.wait()
    assert checkpoints.save({"x": 3}, 3)
    assert checkpoints.load() == (3, {"x": 3})
    assert latest_checkpoint(tmp_path).name == "step-000000000003.pt"

    gate.open.clear()
    gate.reached.clear()
    waiting = AsyncCheckpointer(tmp_path)
    waiting.save({"x": 4}, 4)
    assert gate.reached.wait(30)
    second = threading.Thread(target=waiting.save, args=({"x": 5}, 5))
    second.start()
    assert not (tmp_path / "step-000000000004.pt").exists() and second.is_alive()
    gate.open.set()
    second.join()
    assert (tmp_path / "step-000000000004.pt").exists(), "the first was written before the second was begun"
    assert waiting.load() == (5, {"x": 5})


def test_an_error_is_raised_by_the_next_call_and_once(tmp_path, monkeypatch):
    checkpoints = AsyncCheckpointer(tmp_path)
    checkpoints.save({"x": 1}, 1)
    checkpoints.wait()

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("whyidle.feed.files.os.fsync", full)
        checkpoints.save({"x": 2}, 2)
        with pytest.raises(CheckpointError, match="No space left"):
            checkpoints.save({"x": 3}, 3)
    assert sorted(os.listdir(tmp_path)) == ["step-000000000001.pt"], "nothing is left of the one that failed"
    assert checkpoints.save({"x": 3}, 3)
    assert checkpoints.load() == (3, {"x": 3})
    with (
        pytest.raises(CheckpointError, match="key that is neither"),
        AsyncCheckpointer(tmp_path, format="safetensors") as bad,
    ):
        bad.save({(1, 2): 3}, 4)
    with pytest.warns(UserWarning, match="not written"), pytest.raises(ZeroDivisionError):
        with AsyncCheckpointer(tmp_path, format="safetensors") as bad:
            bad.save({"x": object()}, 4)
            raise ZeroDivisionError


@pytest.mark.parametrize("format", FORMATS)
def test_only_the_newest_are_kept(tmp_path, format):
    with AsyncCheckpointer(tmp_path, keep=2, format=format) as checkpoints:
        (tmp_path / "notes.txt").write_text("not a checkpoint")
        for step in (1, 2, 10, 9, 3):
            checkpoints.save({"step": step}, step)
            checkpoints.wait()
            assert step in {int(path.stem[5:]) for path in tmp_path.glob("step-*")}
    assert sorted(int(path.stem[5:]) for path in tmp_path.glob("step-*")) == [3, 9, 10]
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_checkpoint_is_passed_over(tmp_path, format):
    with AsyncCheckpointer(tmp_path, format=format) as checkpoints:
        for step in (1, 2):
            checkpoints.save({"x": torch.full((5000,), float(step))}, step)
    newest = latest_checkpoint(tmp_path)
    good = newest.read_bytes()
    middle = len(good) // 2
    for bad in (good[:-1], good[:middle], b"", good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]):
        newest.write_bytes(bad)
        with pytest.warns(UserWarning, match="damaged"):
            step, state = AsyncCheckpointer(tmp_path, format=format).load()
        assert step == 1 and state["x"].eq(1).all()
        with pytest.raises(CheckpointError, match="damaged"):
            load_checkpoint(newest)
    assert latest_checkpoint(tmp_path / "nowhere") is None


def test_other_readers_open_the_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    state = training_state()
    with AsyncCheckpointer(tmp_path, format="safetensors") as checkpoints:
        checkpoints.save(state["model"], 1)
    loaded = safetensors.load_file(checkpoints.latest())
    assert set(state["model"]) - set(loaded) == {"2.weight"}, "a tied tensor is written once"
    assert all(torch.equal(tensor, state["model"][name]) for name, tensor in loaded.items())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("format", FORMATS)
def test_the_last_good_one_survives_a_kill_at_any_moment(tmp_path, format):
    script = Path(__file__).with_name("kill_checkpoints.py")
    path = os.pathsep.join(filter(None, [str(script.parents[1]), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, script, tmp_path, format, "30"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert done.returncode == 0 and not found["wrong"], found
    assert found["kills"] == 30 and found["partial"] >= 5 and len(found["loaded"]) >= 3, found


@pytest.mark.parametrize("arguments", [{"keep": 0}, {"format": "pickle"}, {"busy": "queue"}])
def test_arguments_that_mean_nothing_are_refused(tmp_path, arguments):
    with pytest.raises(ValueError):
        AsyncCheckpointer(tmp_path, **arguments)
    with pytest.raises(ValueError, match="step"):
        AsyncCheckpointer(tmp_path).save({}, -1)
