"""Figures as the program prints them; its own test, `walk`, holds what notebooks show against its reports."""

from __future__ import annotations

import pytest

from whyidle import figures


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (0, "0 ms"), (1, "1 ns"), (999, "999 ns"), (23_400, "23 µs"), (999_600, "1.0 ms"), (5_120_000, "5.1 ms"),
        (9_960_000, "10 ms"), (188_200_000, "188 ms"), (999_600_000, "1.00 s"), (75_400_000_000, "75.4 s"),
        (-5_120_000, "−5.1 ms"),
    ],
)  # fmt: skip
def test_times_take_the_unit_that_reads_best(ns, said):
    assert figures.time(ns) == said


def test_parts_take_the_unit_of_the_whole():
    parts = [(600_000, "0.6 ms"), (131_000_000, "131 ms"), (40_000, "<0.1 ms"), (0, "0.0 ms")]
    assert [figures.time_like(ns, 188_000_000) for ns, _ in parts] == [said for _, said in parts]
    assert figures.time_like(131_000_000, 1_880_000_000) == "0.13 s"


def test_shares_are_set_as_the_language_sets_them():
    shares = [(0.314, "31"), (0.042, "4.2"), (0.05, "5"), (0.0003, "0.03"), (0.00001, "<0.01"), (0.0, "0")]
    for share, digits in shares:
        assert (figures.share(share, "en"), figures.share(share, "zh")) == (f"{digits} %", f"{digits}%")
    assert [figures.share_in_column(share, "en") for share in (0.004, 0.693, 0.0)] == ["<1 %", "69 %", "0 %"]
