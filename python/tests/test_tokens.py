"""Token files come back as they were written, each sequence once over ranks and workers, and bad files say why."""

from __future__ import annotations

import pickle
import struct
from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from whyidle import TokenDataset, TokenFileError, TokenSampler, TokenWriter
from whyidle.feed.permutation import Permutation
from whyidle.feed.token_files import TokenFile

EOS = 0


def documents(seed: int = 0, count: int = 40) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.append(rng.integers(1, 1000, size=rng.integers(0, 60)), EOS) for _ in range(count)]


def written(path, format="raw", dtype=np.uint16, seed=0):
    with TokenWriter(path, dtype, format=format, eos=EOS) as writer:
        for document in documents(seed):
            writer.add(document[:-1])
    return path


@pytest.mark.parametrize(("format", "dtype"), [("raw", "u2"), ("raw", "u4"), ("megatron", "u2"), ("megatron", "i4")])
def test_what_was_written_is_read(tmp_path, format, dtype):
    path = written(tmp_path / "data.bin", format, dtype)
    wanted = np.concatenate(documents())
    file = TokenFile(path, dtype)
    assert np.array_equal(file.tokens, wanted) and file.dtype == np.dtype(dtype)
    if format == "megatron":
        ends = np.cumsum([len(document) for document in documents()])
        assert file.starts.tolist() == [0, *ends.tolist()]
        assert [len(TokenFile(tmp_path / name)) for name in ("data", "data.idx", "data.bin")] == [len(wanted)] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == (
        ["data.bin", "data.idx"] if format == "megatron" else ["data.bin"]
    )
    length = 16
    data = TokenDataset(path, length, dtype=dtype)
    assert len(data) == (len(wanted) - 1) // length and data.left_out == (len(wanted) - 1) % length
    for at in (0, 1, len(data) - 1, -1):
        start = (at % len(data)) * length
        assert data[at].numpy().tolist() == wanted[start : start + length + 1].tolist()
    with pytest.raises(IndexError):
        data[len(data)]


def test_the_index_is_megatrons_byte_for_byte(tmp_path):
    """Against the layout in megatron/core/datasets/indexed_dataset.py, `_IndexWriter`."""
    with TokenWriter(tmp_path / "x.bin", np.int32, format="megatron") as writer:
        writer.add([1, 2, 3])
        writer.add([4, 5])
    wanted = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 4, 2, 3)
    wanted += struct.pack("<2i", 3, 2) + struct.pack("<2q", 0, 12) + struct.pack("<3q", 0, 1, 2)
    assert (tmp_path / "x.idx").read_bytes() == wanted
    assert (tmp_path / "x.bin").read_bytes() == struct.pack("<5i", 1, 2, 3, 4, 5)
    # Two sequences in one document, with modes, as its builder writes multimodal data.
    other = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 4, 2, 2)
    other += struct.pack("<2i", 3, 2) + struct.pack("<2q", 0, 12) + struct.pack("<2q", 0, 2) + b"\x00\x01"
    (tmp_path / "x.idx").write_bytes(other)
    assert TokenFile(tmp_path / "x").starts.tolist() == [0, 5]


def test_samples_are_views_and_the_file_is_safe(tmp_path):
    path = written(tmp_path / "data.bin")
    before = path.read_bytes()
    data = TokenDataset(path, 8)
    assert data[1].data_ptr() - data[0].data_ptr() == 8 * 2
    data[0].fill_(7)
    assert path.read_bytes() == before
    assert data[0].tolist() == [7] * 9, "it is the mapped memory, not a copy"


def test_a_data_set_is_sent_as_its_path(tmp_path):
    path = written(tmp_path / "data.bin", "megatron")
    data = TokenDataset(path, 8)
    sent = pickle.dumps(data)
    assert len(sent) < 1500
    assert torch.equal(pickle.loads(sent)[3], data[3])


@pytest.mark.parametrize("format", ["raw", "megatron"])
def test_separate_sequences_cross_no_document(tmp_path, format):
    data = TokenDataset(written(tmp_path / "data.bin", format), 7, documents="separate", eos=EOS)
    wanted = []
    for document in documents():
        wanted += [document[at : at + 8].tolist() for at in range(0, len(document) - 7, 7)]
    assert [sample.tolist() for sample in data] == wanted
    assert all(EOS not in sample[:-1] for sample in data)
    assert data.left_out == sum((len(document) - 1) % 7 for document in documents())


@pytest.mark.parametrize("format", ["raw", "megatron"])
def test_boundaries_are_those_of_the_documents(tmp_path, format):
    data = TokenDataset(written(tmp_path / "data.bin", format), 50, documents="boundaries", eos=EOS)
    for sample in data:
        inputs = sample["tokens"][:-1].tolist()
        bounds = sample["cu_seqlens"].tolist()
        assert bounds == [0, *[at + 1 for at in range(49) if inputs[at] == EOS], 50]
        positions, at = [], 0
        for token in inputs:
            positions.append(at)
            at = 0 if token == EOS else at + 1
        assert sample["position_ids"].tolist() == positions


def test_documents_in_a_raw_file_need_their_end(tmp_path):
    with pytest.raises(ValueError, match="give eos"):
        TokenDataset(written(tmp_path / "data.bin"), 8, documents="separate")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_ranks_and_workers_share_every_sequence(tmp_path, workers):
    data = TokenDataset(written(tmp_path / "data.bin"), 4)
    seen: Counter[tuple[int, ...]] = Counter()
    for rank in range(2):
        sampler = TokenSampler(len(data), seed=1, rank=rank, world=2, drop_last=False)
        for batch in DataLoader(data, batch_size=8, sampler=sampler, num_workers=workers):
            seen.update(map(tuple, batch.long().tolist()))
    wanted = Counter(tuple(sample.tolist()) for sample in data)
    assert sum((seen - wanted).values()) == len(data) % 2 and not wanted - seen


@pytest.mark.parametrize("size", [1, 2, 3, 10, 97, 1000, 20_000])
@pytest.mark.parametrize("world", [1, 3])
def test_every_sequence_comes_once_an_epoch(size, world):
    ranks = [list(TokenSampler(size, seed=2, rank=rank, world=world)) for rank in range(world)]
    assert {len(rank) for rank in ranks} == {size // world}
    together = [sequence for rank in ranks for sequence in rank]
    assert len(set(together)) == len(together) == size // world * world
    padded = [list(TokenSampler(size, seed=2, rank=rank, world=world, drop_last=False)) for rank in range(world)]
    assert {len(rank) for rank in padded} == {-(-size // world)}
    assert {sequence for rank in padded for sequence in rank} == set(range(size))


@pytest.mark.parametrize("stop", [0, 1, 99, 250])
@pytest.mark.parametrize("world", [1, 2, 5])
def test_an_epoch_goes_on_anywhere_with_any_number_of_ranks(stop, world):
    whole = list(TokenSampler(1000, seed=3))
    samplers = [TokenSampler(1000, seed=3, rank=rank, world=2) for rank in range(2)]
    taken = []
    for sampler in samplers:
        sequences = iter(sampler)
        taken.append([next(sequences) for _ in range(stop)])
    assert [one for pair in zip(*taken, strict=True) for one in pair] == whole[: 2 * stop]
    state = samplers[0].state_dict()
    assert state == samplers[1].state_dict(taken=stop)
    rest = []
    for rank in range(world):
        resumed = TokenSampler(1000, rank=rank, world=world)
        resumed.load_state_dict(state)
        resumed.set_epoch(0)
        rest.append(list(resumed))
        resumed.set_epoch(1)
        assert len(list(resumed)) == 1000 // world
    assert [one for turn in zip(*rest, strict=True) for one in turn] == whole[2 * stop :][: len(rest[0]) * world]


def test_epochs_and_seeds_give_other_orders():
    sampler = TokenSampler(500, seed=1)
    first = list(sampler)
    assert first == list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first != list(TokenSampler(500, seed=2))
    assert list(TokenSampler(5, shuffle=False)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="data changed"):
        sampler.load_state_dict({**sampler.state_dict(), "size": 501})


def test_the_permutation_is_one_and_is_even():
    for size in [*range(1, 70), 255, 256, 257, 4095, 4097]:
        assert sorted(Permutation(size, size)(np.arange(size)).tolist()) == list(range(size))
    # Where the first of 64 lands over 6400 seeds: each place 100 times, give or take; chi-square with 63 degrees of
    # freedom is beyond 104 once in a thousand.
    landed = np.bincount([int(Permutation(64, seed)(np.array([0]))[0]) for seed in range(6400)], minlength=64)
    assert ((landed - 100) ** 2 / 100).sum() < 104
    # No memory of neighbours: the steps between places that follow each other are nearly all different.
    order = Permutation(100_000, 7)(np.arange(100_000))
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.02
    large = Permutation(10**12, 1)(np.arange(1000) + 5 * 10**11)
    assert len(set(large.tolist())) == 1000 and large.max() < 10**12


def test_bad_raw_files_say_what_is_wrong(tmp_path):
    path = tmp_path / "data.bin"
    for content, said in [
        (b"", "empty"), (b"abc", "whole number of tokens"), (b"MMIDIDX\0\0" + bytes(99), "Megatron index"),
        (struct.pack("<3i", 20240520, 1, 9), "llm.c"),
        (b"\x1f\x8b\x08\x00", "compressed"), (b"\x93NUMPY\x01\x00", "NumPy"),
        (bytes(8), "hold no sequence"),
    ]:  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(TokenFileError, match=said):
            TokenDataset(path, 8)
    with pytest.raises(TokenFileError, match="no such file"):
        TokenDataset(tmp_path / "none", 8)
    with pytest.raises(TokenFileError, match="whole numbers"):
        TokenFile(path, np.float32)


def test_bad_indexed_files_say_what_is_wrong(tmp_path):
    path = written(tmp_path / "data.bin", "megatron")
    index = path.with_suffix(".idx")
    good = index.read_bytes()
    for content, said in [
        (b"nonsense" + good[8:], "MMIDIDX"), (good[:20], "within its header"), (good[:-1], "truncated"),
        (good + bytes(3), "damaged"), (good[:9] + b"\x02" + good[10:], "version 2"),
        (good[:17] + b"\x63" + good[18:], "type code 99"),
        (good[:17] + b"\x06" + good[18:], "(says|float)"), (good[:17] + b"\x05" + good[18:], "says"),
        (good[:18] + b"\xff" * 8 + good[26:], "truncated"),
        (good[:34] + bytes(4) + good[38:-8] + struct.pack("<q", -5), "out of order"),
    ]:  # fmt: skip
        index.write_bytes(content)
        with pytest.raises(TokenFileError, match=said):
            TokenDataset(path, 8)
    index.write_bytes(good)
    with pytest.raises(TokenFileError, match="leave dtype out"):
        TokenDataset(path, 8, dtype=np.int32)
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(TokenFileError, match="truncated"):
        TokenDataset(path, 8)


def test_a_damaged_index_is_an_error_or_reads_within_the_file(tmp_path):
    """No mutation of an index crashes or reaches beyond the tokens."""
    path = written(tmp_path / "data.bin", "megatron")
    index = path.with_suffix(".idx")
    good = index.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(5000):
        content = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
        if rng.random() < 0.1:
            content = content[: int(rng.integers(len(content)))]
        index.write_bytes(content)
        try:
            data = TokenDataset(path, 8, documents="separate")
        except TokenFileError:
            refused += 1
            continue
        assert all(len(sample) == 9 for sample in (data[0], data[len(data) // 2], data[-1]))
    assert 1000 < refused


def test_ids_beyond_the_vocabulary_are_found(tmp_path):
    path = tmp_path / "data.bin"
    np.arange(100, dtype=np.uint16).tofile(path)
    data = TokenDataset(path, 8, vocabulary=50)
    assert data[0].tolist() == list(range(9))
    with pytest.raises(TokenFileError, match="token 50 has id 50.*below 50"):
        data[6]
    with pytest.raises(TokenFileError, match="token 50"):
        data.verify()
    np.arange(-3, 97, dtype=np.int32).tofile(path)
    with pytest.raises(TokenFileError, match="token 0 has id -3.*not be negative"):
        TokenDataset(path, 8, dtype=np.int32).verify()


def test_a_writer_that_fails_leaves_the_old_files(tmp_path):
    path = written(tmp_path / "data.bin", "megatron")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for wrong, said in [([70_000], "do not fit"), ([0.5], "whole numbers"), ([-1], "do not fit")]:
        with pytest.raises(TokenFileError, match=said), TokenWriter(path, format="megatron") as writer:
            writer.add([1, 2, 3])
            writer.add(wrong)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    with pytest.raises(TokenFileError, match="with block"):
        TokenWriter(path).add([1])
    with pytest.raises(TokenFileError, match="ends in .bin"):
        TokenWriter(tmp_path / "x.tokens", format="megatron")


def test_what_is_beside_a_raw_file_says_its_type(tmp_path):
    """As `whyidle tokenize` writes it; what is something else, or of other files, says nothing."""
    import json

    np.array([70_000, 5, 9, 5, 1, 2, 5, 3], dtype=np.uint32).tofile(tmp_path / "tokens.bin")
    about = {"schema": "whyidle.tokens/1", "dtype": "uint32", "eos": 5, "files": [{"name": "tokens.bin"}]}

    def says(about) -> None:
        (tmp_path / "tokens.json").write_text(about if isinstance(about, str) else json.dumps(about))

    says(about)
    for path in (tmp_path, tmp_path / "tokens.bin"):
        file = TokenFile(path)
        assert (file.dtype, file.eos, file.tokens[0]) == (np.dtype("<u4"), 5, 70_000)
    data = TokenDataset(tmp_path, 1, documents="separate")
    assert [sample.tolist() for sample in data] == [[70_000, 5], [9, 5], [1, 2], [2, 5]]
    for other in ["", "[]", "{", {}, {**about, "schema": "x/1"}, {**about, "dtype": "O"}, {**about, "files": 3}, {**about, "files": []}, "[" * 10_000]:  # fmt: skip
        says(other)
        assert TokenFile(tmp_path / "tokens.bin").dtype == np.dtype("<u2")
        with pytest.raises(TokenFileError):
            TokenFile(tmp_path)
    says({**about, "files": [{"name": "a.bin"}, {"name": "b.bin"}]})
    with pytest.raises(TokenFileError, match="ConcatDataset"):
        TokenFile(tmp_path)
