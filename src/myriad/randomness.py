"""Counter-based random numbers: each is a function of its key, not of the draws before it.

A key made of (seed, epoch, row, draw) gives the same number on any number of threads or workers, in
a kernel and in plain NumPy, and no draw needs memory. `mix` is the finaliser of SplitMix64 over a
chained key.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@inlined
def mix(key, value):
    """Return a new 64-bit key from a key and a number; all its bits depend on both."""
    z = (np.uint64(key) ^ np.uint64(value)) + _GOLDEN
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@inlined
def unit(key):
    """Return a uniform number in the open interval (0, 1), from the upper 53 bits of a key."""
    return (np.float64(np.uint64(key) >> _S11) + 0.5) * (1.0 / 9007199254740992.0)


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return NumPy's generator for one named purpose of a seed.

    Two purposes never share a stream, so a new use of randomness changes no earlier result.
    """
    return np.random.Generator(np.random.Philox(key=[seed, zlib.crc32(purpose.encode())]))


def draw_in_ball(
    n_rows: int, dim: int, radius: float, draws: np.random.Generator
) -> NDArray[np.float64]:
    """Return points drawn uniformly from a ball, float64 of shape (n_rows, dim)."""
    points = draws.standard_normal((n_rows, dim))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # The volume within a distance grows with its power `dim`.
    points *= radius * draws.random((n_rows, 1)) ** (1.0 / dim)
    return points
