# mypy: disable-error-code="no-untyped-def"
"""Indices of fewer than 8 bits in a row of bytes: a little-endian stream of bits."""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.arrays import Bytes


def packed_bytes(count: int, bits: int) -> int:
    """Return how many bytes `count` indices of `bits` bits take."""
    return (count * bits + 7) // 8


def pack(indices: Bytes, bits: int, out: Bytes) -> None:
    """Pack each row of `indices` (n_samples, count) into `out` (n_samples, packed_bytes)."""
    if bits == 8:
        out[:] = indices
    else:
        _pack(indices, out, bits)


def unpack(packed: Bytes, bits: int, count: int) -> Bytes:
    """Return the indices (n_samples, count) that `pack` packed; at 8 bits the bytes themselves."""
    if bits == 8:
        return packed
    indices = np.empty((packed.shape[0], count), np.uint8)
    _unpack(packed, indices, bits)
    return indices


@jit
def _pack(indices, out, bits):
    for i in range(indices.shape[0]):
        # `buffer` holds the `held` bits that have not yet filled a byte of the output.
        buffer = np.int64(0)
        held, byte = 0, 0
        for m in range(indices.shape[1]):
            buffer |= np.int64(indices[i, m]) << held
            held += bits
            if held >= 8:
                out[i, byte] = buffer & 255
                buffer >>= 8
                held -= 8
                byte += 1
        if held > 0:
            out[i, byte] = buffer


@jit
def _unpack(packed, indices, bits):
    mask = (1 << bits) - 1
    for i in range(indices.shape[0]):
        # `buffer` holds the `held` bits that have been read but not yet used.
        buffer = np.int64(0)
        held, byte = 0, 0
        for m in range(indices.shape[1]):
            if held < bits:
                buffer |= np.int64(packed[i, byte]) << held
                held += 8
                byte += 1
            indices[i, m] = buffer & mask
            buffer >>= bits
            held -= bits
