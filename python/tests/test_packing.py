"""No sample is split or lost, no row overflows, and attention knows the boundaries."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from whyidle import PackedDataset, pack


@pytest.mark.parametrize("seed", range(20))
def test_rows_hold_every_sample_once_and_never_overflow(seed):
    rng = np.random.default_rng(seed)
    capacity = int(rng.integers(1, 3000))
    lengths = rng.integers(1, capacity + 1, size=int(rng.integers(0, 400)))
    packing = pack(lengths, capacity)
    assert sorted(packing.order.tolist()) == list(range(len(lengths)))
    rows = [packing[row] for row in range(len(packing))]
    assert all(len(row) and lengths[row].sum() <= capacity for row in rows)
    assert packing.fewest_rows <= len(packing)
    assert sum(lengths[row].sum() for row in rows) == lengths.sum()
    again = pack(lengths.tolist(), capacity)
    assert np.array_equal(again.order, packing.order) and np.array_equal(again.offsets, packing.offsets)


def naive(lengths: np.ndarray, capacity: int) -> int:
    """Rows of best fit on descending lengths, by looking at every row."""
    free: list[int] = []
    for length in sorted(lengths.tolist(), reverse=True):
        fitting = [at for at, room in enumerate(free) if room >= length]
        if fitting:
            free[min(fitting, key=lambda at: free[at])] -= length
        else:
            free.append(capacity - length)
    return len(free)


@pytest.mark.parametrize("seed", range(10))
def test_it_is_best_fit(seed):
    rng = np.random.default_rng(seed)
    capacity = int(rng.integers(2, 700))
    lengths = rng.integers(1, capacity + 1, size=150)
    assert len(pack(lengths, capacity)) == naive(lengths, capacity)


def test_waste_by_hand():
    packing = pack([6, 5, 4, 3, 2], 10)
    assert [packing.lengths[packing[row]].tolist() for row in range(2)] == [[6, 4], [5, 3, 2]]
    assert packing.waste == 0 and packing.waste_unpacked == pytest.approx(0.6) and packing.fewest_rows == 2
    with pytest.raises(IndexError):
        packing[2]


@pytest.mark.parametrize("wrong", [[3, 0], [3, 11], [3, -1]])
def test_samples_that_fit_no_row_are_refused(wrong):
    with pytest.raises(ValueError, match="sample 1"):
        pack(wrong, 10)


def test_a_row_has_its_positions_labels_and_boundaries():
    data = PackedDataset([[11, 12, 13], torch.tensor([21, 22])], 7, pad=9)
    (row,) = [data[at] for at in range(len(data))]
    assert row["input_ids"].tolist() == [11, 12, 13, 21, 22, 9, 9]
    assert row["position_ids"].tolist() == [0, 1, 2, 0, 1, 0, 1]
    assert row["labels"].tolist() == [-100, 12, 13, -100, 22, -100, -100]
    assert row["cu_seqlens"].tolist() == [0, 3, 5, 7] and row["cu_seqlens"].dtype == torch.int32
    assert row["max_seqlen"] == 3


def test_packed_attention_is_that_of_each_sample_alone():
    """Attention between the boundaries of a batch is what every sample gets by itself."""
    rng = np.random.default_rng(0)
    samples = [torch.from_numpy(rng.integers(1, 50, size=length)) for length in rng.integers(1, 12, size=30)]
    data = PackedDataset(samples, 16)
    torch.manual_seed(0)
    table = torch.nn.Embedding(50, 8)

    def attention(ids: torch.Tensor) -> torch.Tensor:
        x = table(ids)[None]
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)[0]

    found = []
    for batch in DataLoader(data, batch_size=3, collate_fn=PackedDataset.collate):
        bounds = batch["cu_seqlens"].tolist()
        assert bounds[-1] == len(batch["input_ids"]) == len(batch["position_ids"]) == len(batch["labels"])
        assert batch["max_seqlen"] == max(np.diff(bounds))
        for start, end in zip(bounds, bounds[1:], strict=False):
            assert batch["position_ids"][start:end].tolist() == list(range(end - start))
            if batch["input_ids"][start]:
                found.append(attention(batch["input_ids"][start:end]))
    wanted = [attention(samples[at]) for at in data.packing.order.tolist()]
    assert len(found) == len(wanted)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_a_sample_of_another_length_than_said_is_an_error():
    data = PackedDataset([[1, 2, 3]], 8, lengths=[2])
    with pytest.raises(ValueError, match="sample 0 has shape"):
        data[0]
