"""Batches come in order, the loader's errors where they belong, and no thread stays; copies are ordered by
events."""

from __future__ import annotations

import multiprocessing
import threading
from collections import OrderedDict, namedtuple
from contextlib import nullcontext

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence
from torch.utils.data import DataLoader

from whyidle import Prefetcher
from whyidle.feed import prefetch

Pair = namedtuple("Pair", "left right")


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "whyidle-prefetch"]


def test_batches_come_as_they_are_and_again():
    batches = [{"x": torch.full((3,), at), "name": str(at)} for at in range(7)]
    ahead = Prefetcher(batches, "cpu", depth=3)
    assert len(ahead) == 7
    for _ in range(2):
        assert [one is other for one, other in zip(ahead, batches, strict=True)] == [True] * 7
    assert not threads()


def test_it_stays_depth_batches_ahead():
    """Counted, not timed: the loader says when it was asked, and is never asked for more than there is room."""
    asked = []
    room = threading.Semaphore(0)

    def loader():
        for at in range(20):
            asked.append(at)
            room.release()
            yield at

    batches = iter(Prefetcher(loader(), "cpu", depth=3))
    assert next(batches) == 0
    for _ in range(4):  # The consumer's, and three ahead.
        assert room.acquire(timeout=30)
    assert next(batches) == 1
    assert room.acquire(timeout=30)
    assert asked == [0, 1, 2, 3, 4]
    batches.close()
    assert asked == [0, 1, 2, 3, 4] and not threads()


def test_an_error_comes_where_its_batch_would_have():
    def loader():
        yield 1
        yield 2
        raise ZeroDivisionError("in the loader")

    taken = []
    with pytest.raises(ZeroDivisionError, match="in the loader"):
        for batch in Prefetcher(loader(), "cpu"):
            taken.append(batch)
    assert taken == [1, 2] and not threads()


def test_an_error_of_a_workers_sample_reaches_the_consumer():
    class Bad(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, at):
            if at == 5:
                raise KeyError("sample five")
            return at

    with pytest.raises(KeyError, match="sample five"):
        list(Prefetcher(DataLoader(Bad(), batch_size=2, num_workers=1), "cpu"))
    assert not threads()


@pytest.mark.parametrize("how", ["break", "raise", "drop"])
def test_leaving_early_leaves_no_thread(how):
    ahead = Prefetcher(iter(range(1000)), "cpu", depth=2)
    if how == "drop":
        batches = iter(ahead)
        next(batches)
        del batches
    else:
        with pytest.raises(KeyboardInterrupt) if how == "raise" else nullcontext():
            for _ in ahead:
                if how == "raise":
                    raise KeyboardInterrupt
                break
    del ahead
    assert not threads()


def test_leaving_early_ends_the_workers():
    # The error of another test may keep its loader, and so its workers, as with a loader alone.
    before = set(multiprocessing.active_children())
    for _ in Prefetcher(DataLoader(list(range(64)), batch_size=2, num_workers=2), "cpu"):
        break
    assert not threads() and set(multiprocessing.active_children()) <= before


def test_a_loader_that_cannot_start_says_so():
    class Broken:
        def __iter__(self):
            raise OSError("no data")

    with pytest.raises(OSError, match="no data"):
        next(iter(Prefetcher(Broken(), "cpu")))
    with pytest.raises(ValueError, match="depth"):
        Prefetcher([], "cpu", depth=0)


def test_tensors_are_found_in_any_structure():
    one, two = torch.ones(2), torch.zeros(1)
    packed = pack_sequence([torch.arange(3), torch.arange(2)])
    value = [OrderedDict(a=one, b=(two, "text")), Pair(one, None), 3, packed]
    changed = prefetch.map_tensors(value, lambda tensor: tensor + 1)
    assert type(changed[0]) is OrderedDict and changed[0]["a"].tolist() == [2, 2]
    assert changed[0]["b"][0].tolist() == [1] and changed[0]["b"][1] == "text"
    assert type(changed[1]) is Pair and changed[1].left.tolist() == [2, 2] and changed[1].right is None
    assert changed[2] == 3
    assert torch.equal(changed[3].data, packed.data + 1) and torch.equal(changed[3].batch_sizes, packed.batch_sizes)


def test_streams_and_events_come_in_the_right_order(monkeypatch):
    """Without a GPU: what is asked of CUDA, in which order. On the copy stream each batch is copied and then its event
    recorded; the consumer's stream waits for that event before the batch is handed out, and keeps its memory."""
    log: list[str] = []
    current = ["step"]

    class Stream:
        def __init__(self, device=None, name="copy"):
            self.name = name

        def __enter__(self):
            current.append(self.name)

        def __exit__(self, *_):
            current.pop()

        def wait_event(self, event):
            log.append(f"{self.name} waits for {event.number}")

    class Event:
        count = 0

        def record(self, stream):
            self.number = Event.count
            Event.count += 1
            log.append(f"{stream.name} records {self.number}")

    class OnGpu:
        device = torch.device("cuda")

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream(name="step"))
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: False)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: log.append(f"{current[-1]} pins") or tensor)
    monkeypatch.setattr(
        torch.Tensor,
        "to",
        lambda tensor, device, non_blocking: log.append(f"{current[-1]} copies {non_blocking}") or tensor,
    )
    monkeypatch.setattr(prefetch, "_kept", lambda tensor, stream: log.append(f"{stream.name} keeps") or tensor)
    copier = prefetch._Copier(torch.device("cuda"))
    started = [copier.start({"x": torch.ones(1)}), copier.start({"x": torch.ones(1)})]
    copier.finish(started[0])
    once = ["copy pins", "copy copies True"]
    assert log == [*once, "copy records 0", *once, "copy records 1", "step waits for 0", "step keeps"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_every_value_arrives():
    batches = [{"x": torch.full((1 << 22,), at, dtype=torch.float32)} for at in range(40)]
    for at, batch in enumerate(Prefetcher(batches, "cuda", depth=3)):
        busy = torch.ones(2048, 2048, device="cuda")
        for _ in range(5):
            busy = busy @ busy * 1e-3
        assert batch["x"].device.type == "cuda" and bool((batch["x"] == at).all())
