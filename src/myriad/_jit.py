"""The only place that spells Numba flags.

Kernels release the GIL, so that they run side by side in our own threads, and are cached on disk.
"""

from __future__ import annotations

from typing import Any

import numba
import numba.extending

jit = numba.njit(cache=True, nogil=True, error_model="numpy")
"""A kernel whose sums keep the order in which they are written."""

jit_reassociated = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
)
"""A kernel whose sums may be reordered, so that they run in vector registers. Each one has a test
that bounds the rounding error against its float64 twin."""

jit_fused = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
"""A kernel whose products and sums may be fused into one operation, which rounds once."""

inlined = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
"""A small function that becomes part of the kernels calling it: a call with arrays is not free."""

intrinsic: Any = numba.extending.intrinsic
"""A function whose code is written by hand, in LLVM's language."""

nothing = numba.types.void
"""The type of what such a function returns."""

integer, truth = numba.types.int64, numba.types.boolean
"""Types of what it takes or returns."""
