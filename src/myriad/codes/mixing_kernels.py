# mypy: disable-error-code="no-untyped-def"
"""Kernels of the fast Walsh-Hadamard transform: sums and differences, no multiplications."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit

_TILE = 4096


@inlined
def _combine(x, first, size, h):
    """Replace pairs of values, h apart, by their sums and differences; `size` from `first` on."""
    for start in range(first, first + size, 2 * h):
        a, b = x[start : start + h], x[start + h : start + 2 * h]
        for j in range(h):
            total = a[j] + b[j]
            b[j] = a[j] - b[j]
            a[j] = total


@inlined
def _combine_twice(x, first, size, h):
    """Do the steps h and 2 h of `_combine` in one pass over the values."""
    for start in range(first, first + size, 4 * h):
        a, b = x[start : start + h], x[start + h : start + 2 * h]
        c, d = x[start + 2 * h : start + 3 * h], x[start + 3 * h : start + 4 * h]
        for j in range(h):
            ab, a_b, cd, c_d = a[j] + b[j], a[j] - b[j], c[j] + d[j], c[j] - d[j]
            a[j], b[j], c[j], d[j] = ab + cd, a_b + c_d, ab - cd, a_b - c_d


@jit
def mix(values, flips, backwards):
    """Turn each row of `values`, float32 (n_samples, n), n a power of 2, in place.

    Values change their signs where `flips` (n,) is -1 and are then transformed, or the other way
    round if `backwards`, which undoes it; lengths stay. Small steps are made on tiles that stay in
    the cache of a core, a pair of steps in each pass.
    """
    n = values.shape[1]
    tile = min(n, _TILE)
    scale = np.float32(1 / np.sqrt(n))
    for i in range(values.shape[0]):
        x = values[i]
        if not backwards:
            for j in range(n):
                x[j] *= flips[j]
        for first in range(0, n, tile):
            h = 1
            while 4 * h <= tile:
                _combine_twice(x, first, tile, h)
                h *= 4
            if h < tile:
                _combine(x, first, tile, h)
        h = tile
        while 4 * h <= n:
            _combine_twice(x, 0, n, h)
            h *= 4
        if h < n:
            _combine(x, 0, n, h)
        for j in range(n):
            x[j] *= scale * flips[j] if backwards else scale
