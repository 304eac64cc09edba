"""Durations of any number of steps in bounded memory: exact counts and sums, quantiles to 3 %."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Durations", "Summary"]

#: Parts of an octave: a bucket is 1/32 of a power of two wide.
_PARTS_BITS = 5
#: A step that is so many times longer than the median may be a pause of the run …
_LONG = 10
#: … if no more than one step in so many is.
_RARE = 100


@dataclass(frozen=True)
class Summary:
    """Durations, pauses apart.

    A pause is a step over ten times as long as the median, where fewer than one in a hundred are: an evaluation or a
    save that nothing named. Where more are so long, they belong to how the program runs, and none is a pause.
    """

    #: Steps that are no pauses.
    count: int
    #: Their sum, ns.
    total_ns: int
    #: The median of all, ns, to 3 %.
    median_ns: int
    #: Steps that are pauses.
    pauses: int
    #: Their sum, ns.
    pauses_ns: int

    @property
    def mean_ns(self) -> float:
        """Mean of the steps that are no pauses, ns; 0 where there is none."""
        return self.total_ns / self.count if self.count else 0.0


class Durations:
    """A histogram with buckets that grow with what they hold; at most some two thousand, however many are added."""

    def __init__(self) -> None:
        self.count = 0
        self.total_ns = 0
        # By bucket: how many, and their sum in ns.
        self._buckets: dict[int, list[int]] = {}

    def add(self, ns: int) -> None:
        """Add a duration in nanoseconds; what is negative is none."""
        if ns < 0:
            return
        shift = ns.bit_length() - _PARTS_BITS - 1
        key = ns if shift <= 0 else (shift << (_PARTS_BITS + 1)) + (ns >> shift)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = [0, 0]
        bucket[0] += 1
        bucket[1] += ns
        self.count += 1
        self.total_ns += ns

    def quantile(self, share: float) -> int:
        """The duration below which ``share`` of them lie, ns: the mean of its bucket; 0 where there is none."""
        wanted = share * self.count
        seen = 0
        for key in sorted(self._buckets):
            count, total = self._buckets[key]
            seen += count
            if seen >= wanted and count:
                return total // count
        return 0

    def summary(self) -> Summary:
        """What they come to, pauses apart."""
        median = self.quantile(0.5)
        limit = _LONG * median
        long = [bucket for bucket in self._buckets.values() if bucket[1] > limit * bucket[0]]
        pauses, pauses_ns = sum(bucket[0] for bucket in long), sum(bucket[1] for bucket in long)
        if pauses * _RARE >= self.count:
            pauses, pauses_ns = 0, 0
        return Summary(self.count - pauses, self.total_ns - pauses_ns, median, pauses, pauses_ns)
