"""The compilers of kernels: the only module that names Numba's flags.

Kernels release the GIL, so that Python threads run them side by side, and are cached on disk.
"""

from __future__ import annotations

from typing import Any

import numba
import numba.extending

jit = numba.njit(cache=True, nogil=True, error_model="numpy")
"""A kernel whose sums are computed in the order in which they are written."""

jit_reassociated = numba.njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
)
"""A kernel whose sums may be reordered, so that they run in vector registers. Each one has a test
that bounds its rounding error against the same sum in float64."""

jit_fused = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
"""A kernel whose products and sums may be fused into one operation, which rounds once."""

inlined = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
"""A small function that is inlined into the kernels calling it: a call with arrays is not free."""

intrinsic: Any = numba.extending.intrinsic
"""A function whose code is written by hand, in LLVM's intermediate representation."""

nothing = numba.types.void
"""The return type of an intrinsic that returns nothing."""

integer, truth = numba.types.int64, numba.types.boolean
"""Types of its arguments and results."""
