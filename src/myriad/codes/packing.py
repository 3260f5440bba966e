# mypy: disable-error-code="no-untyped-def"
"""Bits packed into bytes: indices of fewer than 8 bits, and the signs of values.

A row of indices is a little-endian stream of bits. For signs, bit k of byte m stands for value
``8 m + k`` of a row; it is set where the value is at least 0 [CC, section 3.3], and unpacked to +1
and -1, eight at a time.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
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
    """Pack indices of `bits` < 8 bits, the lowest bits of a byte first."""
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
    """Fill `indices` (n_samples, count) from bytes that `_pack` packed."""
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


_ZERO, _ONE, _TWO, _THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_S7, _S14, _S28 = np.uint64(7), np.uint64(14), np.uint64(28)
_M7, _M14 = np.uint64(0x00AA00AA00AA00AA), np.uint64(0x0000CCCC0000CCCC)
_M28 = np.uint64(0x00000000F0F0F0F0)
_NO_BIT, _TILE = np.uint8(0), 8192


def _make_table() -> np.ndarray:
    """Return the 8 values of each byte, float32 (256, 8), seen as four words of 8 bytes."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.where(bits == 1, np.float32(1), np.float32(-1)).view(np.uint64)


TABLE = _make_table()
"""uint64 (256, 4): the eight values +1 and -1 that each byte stands for."""


@jit
def pack_signs(values, codes):
    """Fill `codes` (n_samples, n // 8 rounded up) with the signs of `values` (n_samples, n)."""
    n = values.shape[1]
    for i in range(values.shape[0]):
        x, out = values[i], codes[i]
        for m in range(n // 8):
            byte = np.int64(0)
            for k in range(8):
                byte |= np.int64(x[8 * m + k] >= 0) << k
            out[m] = byte
        if n % 8:
            byte = np.int64(0)
            for k in range(n % 8):
                byte |= np.int64(x[n - n % 8 + k] >= 0) << k
            out[n // 8] = byte


@jit
def stack_signs(values, planes):
    """Fill byte j of `planes` (n,) with the signs of feature j of up to 8 rows, row i in bit i.

    `values` is float32 (up to 8, n). Features are taken in tiles that stay in the cache of a core.
    """
    n = values.shape[1]
    for first in range(0, n, _TILE):
        tile = planes[first : min(first + _TILE, n)]
        tile[:] = 0
        for i in range(values.shape[0]):
            x = values[i, first : first + _TILE]
            bit = np.uint8(1 << i)
            for j in range(tile.shape[0]):
                tile[j] |= bit if x[j] >= 0 else _NO_BIT


@inlined
def _transpose_bits(x):
    """Return the 8 x 8 bits of a word transposed; byte i is row i."""
    # Three exchanges of ever larger blocks: single bits, then 2 x 2, then 4 x 4 (Hacker's Delight).
    t = (x ^ (x >> _S7)) & _M7
    x = x ^ t ^ (t << _S7)
    t = (x ^ (x >> _S14)) & _M14
    x = x ^ t ^ (t << _S14)
    t = (x ^ (x >> _S28)) & _M28
    return x ^ t ^ (t << _S28)


@jit
def pick_signs(planes, chosen, words, codes):
    """Fill `codes` (up to 8 rows, n // 8 rounded up) with the features that `chosen` (n,) lists.

    `planes` is the result of `stack_signs`: a feature is looked up once for 8 rows. `words`, uint64
    (n // 8 rounded up,), is working space: byte i of each belongs to row i.
    """
    n = chosen.shape[0]
    for m in range(words.shape[0]):
        word = np.uint64(0)
        for k in range(min(8, n - 8 * m)):
            word |= np.uint64(planes[chosen[8 * m + k]]) << np.uint64(8 * k)
        words[m] = _transpose_bits(word)
    for i in range(codes.shape[0]):
        shift = np.uint64(8 * i)
        for m in range(words.shape[0]):
            codes[i, m] = np.uint8(words[m] >> shift)


@jit
def look_up_bits(codes, table, out):
    """Copy the eight values of each byte into `out`, uint64 (n_samples, n_bytes, 4).

    `codes` may have one byte more per row than `out` has words for: the last one, of fewer than 8
    bits, is left to the caller. Counters are unsigned, so that no check for negative indices is
    compiled.
    """
    for i in range(np.uint64(out.shape[0])):
        for m in range(np.uint64(out.shape[1])):
            c = codes[i, m]
            out[i, m, _ZERO] = table[c, _ZERO]
            out[i, m, _ONE] = table[c, _ONE]
            out[i, m, _TWO] = table[c, _TWO]
            out[i, m, _THREE] = table[c, _THREE]
