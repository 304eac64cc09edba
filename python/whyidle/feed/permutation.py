"""An order of n things that needs no memory: the place of each is computed.

A Feistel network on pairs of half words is a bijection whatever its round function (Luby and Rackoff, 1988). Where n is
not the size of its domain, a value outside is sent through again until it falls inside: cycle walking, after J. Black
and P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002. The round function is the mixer of splitmix64
(Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). It serves to shuffle, not to
keep secrets.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Permutation"]

_ROUNDS = 6


class Permutation:
    """A permutation of 0 … ``size - 1`` that ``seed`` and ``stream`` (e.g. an epoch) choose.

    Args:
        size: Number of things, 1 to 2⁶².
        seed: Any whole number.
        stream: Another order for the same seed.
    """

    def __init__(self, size: int, seed: int, stream: int = 0) -> None:
        if not 1 <= size <= 1 << 62:
            raise ValueError(f"a permutation has 1 to 2**62 things, not {size}")
        self.size = size
        # The domain has 2^(2 half) values: at least `size`, less than 4 × `size` unless that is tiny.
        half = max(1, -(-(size - 1).bit_length() // 2))
        self._half, self._mask = np.uint64(half), np.uint64((1 << half) - 1)
        entropy = np.random.SeedSequence([seed % (1 << 64), stream % (1 << 64)])
        self._keys = entropy.generate_state(_ROUNDS, np.uint64)

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """What comes at each place.

        Args:
            places: Whole numbers from 0 to ``size - 1``, any shape.

        Returns:
            int64, the same shape; different places give different numbers from 0 to ``size - 1``.
        """
        values = self._once(np.asarray(places).astype(np.uint64))
        outside = values >= self.size
        while outside.any():
            values[outside] = self._once(values[outside])
            outside = values >= self.size
        return values.astype(np.int64)

    def _once(self, values: np.ndarray) -> np.ndarray:
        left, right = values >> self._half, values & self._mask
        for key in self._keys:
            left, right = right, left ^ (_mixed(right + key) & self._mask)
        return (left << self._half) | right


def _mixed(values: np.ndarray) -> np.ndarray:
    """splitmix64's finalizer; whole numbers modulo 2⁶⁴."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed
