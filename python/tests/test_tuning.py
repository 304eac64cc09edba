"""The search decides by what it measured alone, and leaves no process behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

from whyidle import TuneError, tune_loader
from whyidle.feed import tuning
from whyidle.feed.tuning import LoaderSetting, search


class Model:
    """A machine whose loader takes a known time a batch; every turn is slower than the one before by a third."""

    def __init__(self, seconds, memory=lambda setting: 100 * setting.workers):
        self.seconds, self.memory, self.calls = seconds, memory, []

    def __call__(self, setting: LoaderSetting) -> tuple[float, int]:
        self.calls.append(setting)
        return self.seconds(setting), self.memory(setting)


def by_workers(best: int, work: float = 1.0):
    """Workers share the work up to `best` of them."""
    return lambda setting: work / max(1, min(setting.workers, best))


def test_workers_are_doubled_while_it_pays_beyond_the_cores():
    machine = Model(by_workers(16))
    result = search(machine, max_workers=64)
    assert result.kwargs == {
        "num_workers": 16, "pin_memory": False, "prefetch_factor": 2, "persistent_workers": True,
    }  # fmt: skip
    assert [(point.setting.workers, point.outcome) for point in result.curve] == [
        (0, "taken"), (1, "no gain"), (2, "taken"), (4, "taken"), (8, "taken"), (16, "taken"), (32, "no gain"),
        (64, "no gain"), (16, "no gain"),
    ]  # fmt: skip
    assert result.reason == "two doublings brought nothing" and result.seconds == 1 / 16
    assert "num_workers" in str(result)


def test_the_same_times_give_the_same_decision():
    machine = Model(by_workers(4))
    assert search(machine, max_workers=16) == search(Model(by_workers(4)), max_workers=16)
    # In turn, and each pair in both orders.
    assert [setting.workers for setting in machine.calls[:6]] == [0, 1, 1, 0, 0, 1]


def test_a_disturbance_of_one_turn_decides_nothing():
    calls = 0

    def seconds(setting):
        nonlocal calls
        calls += 1
        return by_workers(2)(setting) * (50 if calls == 8 else 1)

    assert search(Model(seconds), max_workers=8).kwargs["num_workers"] == 2


def test_a_loader_without_work_needs_no_workers():
    result = search(Model(lambda setting: 1e-4 * (1 + setting.workers)), max_workers=8)
    assert result.kwargs == {"num_workers": 0, "pin_memory": False}


def test_memory_is_a_limit():
    result = search(Model(by_workers(64)), max_workers=64, memory_limit=500)
    assert result.kwargs["num_workers"] == 4
    last = [point for point in result.curve if point.setting.prefetch == 2][-1]
    assert last.setting.workers == 8 and last.outcome == "memory" and not last.seconds, "it was not even tried"
    jump = search(Model(by_workers(64), lambda setting: setting.workers**3 * 10), max_workers=64, memory_limit=500)
    assert jump.kwargs["num_workers"] == 2


def test_it_stops_where_the_step_is_the_limit():
    result = search(Model(by_workers(64)), max_workers=64, step_seconds=0.35)
    assert result.kwargs["num_workers"] == 4 and "faster than the step" in result.reason


def test_prefetch_and_pinning_are_taken_where_they_pay():
    def seconds(setting):
        return by_workers(2)(setting) * (0.8 if setting.prefetch >= 4 else 1) * (0.7 if setting.pin else 1)

    result = search(Model(seconds), max_workers=4, pin=True)
    assert result.kwargs["prefetch_factor"] == 4 and result.kwargs["pin_memory"]


class Squares(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        return torch.tensor(at * at)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


class Dying(Squares):
    def __getitem__(self, at):
        if torch.utils.data.get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return at


class Failing(Squares):
    def __getitem__(self, at):
        raise KeyError("no such sample")


@pytest.fixture(autouse=True)
def no_process_is_left():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        yield
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("data", [Squares(), Stream()])
def test_a_real_loader_is_measured(data):
    result = tune_loader(data, 4, max_workers=2, batches=4, seconds=0.2, rounds=1)
    assert [point.setting.workers for point in result.curve][:3] == [0, 1, 2]
    assert all(took > 0 for point in result.curve for took in point.seconds)
    if os.path.exists("/proc/self/smaps_rollup"):
        held = {point.setting.workers: point.memory for point in result.curve}
        assert held[0] == 0 and held[2] > held[1] > 0
    torch.utils.data.DataLoader(data, batch_size=4, **result.kwargs)


def test_a_worker_that_dies_is_an_error_with_its_settings():
    with pytest.raises(TuneError, match="'num_workers': 1.*exited unexpectedly"):
        tune_loader(Dying(), 4, max_workers=2, batches=2, rounds=1)


def test_a_sample_that_fails_is_an_error():
    with pytest.raises(TuneError, match="no such sample"):
        tune_loader(Failing(), 4, max_workers=1, batches=2, rounds=1)


def test_an_interrupt_while_workers_run_leaves_none(monkeypatch):
    def consumed(batch, pinned, cuda):
        if multiprocessing.active_children():
            raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "_consumed", consumed)
    with pytest.raises(KeyboardInterrupt):
        tune_loader(Squares(), 4, max_workers=2, batches=4, seconds=0.2, rounds=1)


def test_an_interrupt_while_workers_start_leaves_none(monkeypatch):
    """They run already, and nothing holds the iterator that would end them."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    loader_iterator = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
    monkeypatch.setattr(loader_iterator, "_reset", interrupted)
    monkeypatch.setattr(loader_iterator, "__del__", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        tune_loader(Squares(), 4, max_workers=2, batches=4, seconds=0.2, rounds=1)
