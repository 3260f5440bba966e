"""Products of rows of +1 and -1 from their bits: how many agree, counted a word at a time."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray


@intrinsic
def _count_ones(typing: Any, word: Any) -> Any:
    """Return the number of set bits of a word, by the instruction of the processor."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), generate


@numba.njit(nogil=True)
def _count(words: Any, others: Any, agreeing: Any, n_bits: int) -> None:
    for first in range(0, others.shape[0], 64):  # so many rows stay in the cache
        for i in range(words.shape[0]):
            for j in range(first, min(first + 64, others.shape[0])):
                a, b, total = words[i], others[j], np.uint64(0)
                for k in range(a.shape[0]):
                    total += _count_ones(a[k] ^ b[k])
                agreeing[i, j] = n_bits - total


def count_agreeing(
    codes: NDArray[np.uint8], others: NDArray[np.uint8], agreeing: NDArray[np.float32]
) -> None:
    """Fill `agreeing` (n, m) with the numbers of bits that rows of codes have in common.

    Parameters
    ----------
    codes, others : uint8 (n, bytes) and (m, bytes), whole words of 8 bytes.
    """
    _count(codes.view(np.uint64), others.view(np.uint64), agreeing, 8 * codes.shape[1])
