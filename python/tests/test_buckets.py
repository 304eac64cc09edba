"""Every sample comes once, batches keep to a rung, and an epoch goes on where it stopped."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from whyidle import BucketSampler

RUNGS = (16, 32, 64, 128)


def lengths(seed: int, count: int = 500) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).lognormal(3, 1, count).astype(int), 1, 128)


def epoch(seed: int, world: int, **more) -> list[list[list[int]]]:
    """The batches of every rank."""
    return [
        list(BucketSampler(lengths(seed), rungs=RUNGS, seed=seed, rank=rank, world=world, **more))
        for rank in range(world)
    ]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("world", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [{"batch_size": 5}, {"max_tokens": 300}])
@pytest.mark.parametrize("drop_last", [False, True])
def test_each_sample_comes_once_and_no_batch_mixes_rungs(seed, world, size, drop_last):
    ranks = epoch(seed, world, drop_last=drop_last, **size)
    sampler = BucketSampler(lengths(seed), rungs=RUNGS, world=world, drop_last=drop_last, **size)
    assert {len(rank) for rank in ranks} == {len(sampler)}
    for step in zip(*ranks, strict=True):
        rungs = {sampler.rung_of(sample) for batch in step for sample in batch}
        assert len(rungs) == 1, "all ranks take one rung at a step"
        (rung,) = rungs
        for batch in step:
            assert 1 <= len(batch) <= size.get("batch_size", 300 // rung)
            assert not drop_last or len(batch) == size.get("batch_size", 300 // rung)
    seen = Counter(sample for rank in ranks for batch in rank for sample in batch)
    per_rung = Counter(sampler.rung_of(sample) for sample in range(500))
    if drop_last:
        assert max(seen.values()) == 1
        for rung, count in per_rung.items():
            came = sum(sampler.rung_of(sample) == rung for sample in seen)
            assert count - came < world * size.get("batch_size", 300 // rung)
    else:
        assert len(seen) == 500
        for rung in per_rung:
            again = sum(times - 1 for sample, times in seen.items() if sampler.rung_of(sample) == rung)
            assert again < world


def test_the_order_depends_on_seed_and_epoch_alone():
    sampler = BucketSampler(lengths(1), 4, rungs=RUNGS, seed=3)
    first = list(sampler)
    assert list(sampler) == first == list(BucketSampler(lengths(1), 4, rungs=RUNGS, seed=3))
    sampler.set_epoch(1)
    second = list(sampler)
    assert second != first
    assert list(BucketSampler(lengths(1), 4, rungs=RUNGS, seed=4)) != first
    unshuffled = list(BucketSampler(lengths(1), 4, rungs=RUNGS, shuffle=False))
    assert unshuffled[0] == np.flatnonzero(lengths(1) <= 16)[:4].tolist()


@pytest.mark.parametrize("stop", [0, 1, 17, -1])
def test_an_epoch_goes_on_at_any_batch(stop):
    sampler = BucketSampler(lengths(2), 8, rungs=RUNGS, seed=5)
    sampler.set_epoch(3)
    whole = list(sampler)
    stop %= len(whole) + 1
    batches = iter(sampler)
    for _ in range(stop):
        next(batches)
    handed_out = sampler.state_dict() if stop else sampler.state_dict(batch=0)
    assert handed_out == sampler.state_dict(batch=stop)
    resumed = BucketSampler(lengths(2), 8, rungs=RUNGS)
    resumed.load_state_dict(handed_out)
    resumed.set_epoch(3)
    assert list(resumed) == whole[stop:]
    assert list(resumed) == whole, "only the first iteration starts in the middle"
    # Another position, in the middle of an iteration.
    going = iter(resumed)
    next(going)
    resumed.load_state_dict(sampler.state_dict(batch=10))
    assert list(resumed) == whole[10:]


def test_a_state_of_other_batches_is_refused():
    state = BucketSampler(lengths(2), 8, rungs=RUNGS).state_dict()
    for other in (
        BucketSampler(lengths(3), 8, rungs=RUNGS),
        BucketSampler(lengths(2), 4, rungs=RUNGS),
        BucketSampler(lengths(2), 8, rungs=RUNGS, world=2),
    ):
        with pytest.raises(ValueError, match="other lengths"):
            other.load_state_dict(state)
    same = BucketSampler(lengths(2), 8, rungs=RUNGS)
    with pytest.raises(ValueError, match="not in this epoch"):
        same.load_state_dict({**state, "batch": len(same) + 1})


def test_the_report_counts_what_the_batches_hold():
    sampler = BucketSampler(lengths(4), 10, rungs=RUNGS)
    report = sampler.report()
    padded = sum(len(batch) * sampler.rung_of(batch[0]) for batch in sampler)
    assert report.padded_after == padded
    assert report.tokens == report.tokens_before == lengths(4).sum()
    assert report.waste_after == pytest.approx(1 - lengths(4).sum() / padded)
    assert report.waste_after < report.waste_before < 1
    # By hand: two samples of 3 and 9 on rungs of 4 and 16; one random batch is padded to 9.
    by_hand = BucketSampler([3, 9], 2, rungs=(4, 16)).report()
    assert (by_hand.tokens, by_hand.padded_before, by_hand.padded_after) == (12, 18, 20)


def test_long_samples_are_refused_dropped_or_clipped():
    with pytest.raises(ValueError, match="sample 1 with 200.*too_long"):
        BucketSampler([5, 200], 1, rungs=RUNGS)
    dropped = BucketSampler([5, 200], 1, rungs=RUNGS, too_long="drop")
    assert list(dropped) == [[0]]
    with pytest.raises(IndexError):
        dropped.rung_of(1)
    clipped = BucketSampler([5, 200], 1, rungs=RUNGS, too_long="clip")
    assert sorted(clipped) == [[0], [1]] and clipped.rung_of(1) == 128


@pytest.mark.parametrize(
    "arguments",
    [{}, {"batch_size": 2, "max_tokens": 9}, {"batch_size": 0}, {"max_tokens": 8}, {"batch_size": 1, "rank": 2},
     {"batch_size": 1, "rungs": (4, 4)}, {"batch_size": 1, "too_long": "cut"}],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(arguments):
    with pytest.raises(ValueError):
        BucketSampler([5, 12], **{"rungs": (16,), **arguments})


def test_a_loader_takes_it():
    data = [torch.full((int(length),), at) for at, length in enumerate(lengths(6, 40))]
    sampler = BucketSampler(lengths(6, 40), 4, rungs=RUNGS)

    def collate(samples):
        rung = sampler.rung_of(int(samples[0][0]))
        return torch.stack([torch.nn.functional.pad(sample, (0, rung - len(sample)), value=-1) for sample in samples])

    shapes = {batch.shape[1] for batch in DataLoader(data, batch_sampler=sampler, collate_fn=collate)}
    assert shapes <= set(RUNGS)
