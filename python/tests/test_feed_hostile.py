"""The feed parts against wrong arguments and damaged files: refused with a reason, never taken for something else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

import whyidle  # noqa: E402
from whyidle.feed.checkpoint import load_checkpoint  # noqa: E402
from whyidle.feed.prefetch import map_tensors  # noqa: E402

FLIPS = 3000


@pytest.mark.parametrize("kind", ["torch", "safetensors"])
def test_no_flipped_bit_gives_another_state(tmp_path, kind):
    """Headers, names, structure, the zip's own tables: PyTorch trusts what Python's zip reader does not look at."""
    state = {"weight": torch.arange(64.0), "step": 5, "name": "hello", "rates": [1.0, 2.5]}
    with whyidle.AsyncCheckpointer(tmp_path, format=kind) as checkpoints:
        checkpoints.save(state, 1)
        path = checkpoints.latest()
    good, whole = path.read_bytes(), repr(load_checkpoint(path))
    assert whole == repr(state)
    chosen = random.Random(7)
    refused = 0
    for bit in chosen.sample(range(8 * len(good)), min(FLIPS, 8 * len(good))):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert repr(load_checkpoint(path)) == whole, bit
        except whyidle.CheckpointError:
            refused += 1
    assert refused > 0.95 * min(FLIPS, 8 * len(good))
    for length in range(0, len(good), 37):
        path.write_bytes(good[:length])
        with pytest.raises(whyidle.CheckpointError, match="damaged"):
            load_checkpoint(path)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    for kind in ("torch", "safetensors"):
        folder = tmp_path / kind
        with whyidle.AsyncCheckpointer(folder, format=kind) as checkpoints:
            checkpoints.save({"a": 1}, 1)
            checkpoints.save({"a": 2}, 2)
            newest = checkpoints.latest()
            header = b'{"__metadata__": ' + b"[" * 100_000
            newest.write_bytes(len(header).to_bytes(8, "little") + header)
            with pytest.warns(UserWarning):
                assert checkpoints.load() == (1, {"a": 1})


def test_a_file_is_still_one_of_torch_and_one_of_torch_is_still_read(tmp_path):
    with whyidle.AsyncCheckpointer(tmp_path / "own") as checkpoints:
        checkpoints.save({"a": torch.ones(3)}, 1)
        for mapped in (False, True):
            assert torch.load(checkpoints.latest(), mmap=mapped, weights_only=True)["a"].tolist() == [1, 1, 1]
    path = tmp_path / "step-000000000001.pt"
    torch.save({"a": 1}, path)
    assert load_checkpoint(path) == {"a": 1}


def test_what_cannot_be_a_checkpoint_says_so(tmp_path):
    checkpoints = whyidle.AsyncCheckpointer(tmp_path, format="safetensors")
    with pytest.raises(TypeError, match="integer"):
        checkpoints.save({}, 1.5)  # Its name would be none of a checkpoint.
    for odd in (torch.eye(2).to_sparse(), torch.empty(2, device="meta")):
        checkpoints.save({"a": odd}, 1)
        with pytest.raises(whyidle.CheckpointError, match="take format='torch'"):
            checkpoints.wait()
    assert list(Path(tmp_path).iterdir()) == []


@pytest.mark.parametrize("lengths", [[1.7, 511.9], [float("nan")], ["5"], [True], [[3]], [2**70], np.array(3)])
def test_lengths_are_whole_or_refused(lengths):
    with pytest.raises(ValueError, match="one row of whole numbers"):
        whyidle.BucketSampler(lengths, 2)
    with pytest.raises(ValueError, match="one row of whole numbers"):
        whyidle.pack(lengths, 1024)


def test_samplers_refuse_what_they_would_round_or_meet_later():
    for wrong in ({"batch_size": 2.5}, {"batch_size": -1}, {"batch_size": 2, "seed": -1}, {"max_tokens": 0}):
        with pytest.raises((ValueError, TypeError)):
            whyidle.BucketSampler([], **wrong)
    for sampler in (whyidle.BucketSampler([3, 4], 1), whyidle.TokenSampler(4)):
        with pytest.raises(ValueError, match="no state of a"):
            sampler.load_state_dict({})
    assert len(whyidle.BucketSampler([], 2)) == 0


def test_packed_samples_are_rows_of_ids():
    with pytest.raises(ValueError, match="input_ids"):
        whyidle.PackedDataset([{"input_ids": [1, 2]}], 8)
    with pytest.raises(ValueError, match="encode"):
        whyidle.PackedDataset(["text"], 8)
    with pytest.raises(ValueError, match="whole numbers"):
        whyidle.PackedDataset([[1.5, 2.5]], 8)[0]
    with pytest.raises(TypeError, match="integer"):
        whyidle.PackedDataset([[1, 2]], 8.0)
    assert len(whyidle.PackedDataset([], 8)) == 0


def test_a_loader_without_data_says_so():
    class Nothing(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    with pytest.raises(ValueError, match="empty"):
        whyidle.tune_loader([], 2)
    with pytest.raises(whyidle.TuneError, match="no batch"):
        whyidle.tune_loader(Nothing(), 2, max_workers=0, seconds=0.1)
    with pytest.raises(ValueError, match="num_workers"):
        whyidle.tune_loader([1], 1, num_workers=3)


def test_batches_of_odd_lists_still_move():
    class Odd(list):
        def __init__(self, one, two):
            super().__init__([one, two])

    assert map_tensors(Odd(1, torch.ones(1)), lambda tensor: tensor + 1) == [1, torch.tensor([2.0])]
    assert map_tensors(torch.Size([1, 2]), lambda tensor: tensor) == (1, 2)
