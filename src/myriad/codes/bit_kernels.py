# mypy: disable-error-code="no-untyped-def"
"""Kernels that turn signs into bits and bits into +1 and -1, eight at a time.

Bit k of byte m stands for value ``8 m + k`` of a row. It is set where the value is at least 0
[CC, section 3.3].
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit

_ZERO, _ONE, _TWO, _THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_SINGLE, _BYTE, _SEVEN = np.uint32(1), np.uint32(3), np.uint32(7)


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


@inlined
def _bit(bits, j):
    """Return bit `j` of a row of bytes, 0 or 1."""
    return (np.uint32(bits[j >> _BYTE]) >> (j & _SEVEN)) & _SINGLE


@jit
def pick_bits(packed, chosen, codes):
    """Fill `codes` with the bits of `packed` (n_samples, bytes) that `chosen` (n,) uint32 names.

    Eight are written out at a time: as a loop they take one and a half times as long.
    """
    n = chosen.shape[0]
    for i in range(packed.shape[0]):
        bits, out = packed[i], codes[i]
        for m in range(n // 8):
            c = chosen[8 * m : 8 * m + 8]
            low = _bit(bits, c[0]) | _bit(bits, c[1]) << 1 | _bit(bits, c[2]) << 2
            middle = _bit(bits, c[3]) << 3 | _bit(bits, c[4]) << 4 | _bit(bits, c[5]) << 5
            high = _bit(bits, c[6]) << 6 | _bit(bits, c[7]) << 7
            out[m] = low | middle | high
        if n % 8:
            last = np.uint32(0)
            for k in range(n % 8):
                last |= _bit(bits, chosen[n - n % 8 + k]) << k
            out[n // 8] = last


@jit
def look_up_bits(codes, table, out):
    """Copy the eight values of each byte into `out`, uint64 (n_samples, n_bytes, 4).

    `codes` may have one byte more a row than `out` has places: the last one, of fewer than 8 bits,
    is left to the caller. Counters are unsigned, which spares the checks for negative indices.
    """
    for i in range(np.uint64(out.shape[0])):
        for m in range(np.uint64(out.shape[1])):
            c = codes[i, m]
            out[i, m, _ZERO] = table[c, _ZERO]
            out[i, m, _ONE] = table[c, _ONE]
            out[i, m, _TWO] = table[c, _TWO]
            out[i, m, _THREE] = table[c, _THREE]
