"""The compilers of kernels: the only module that names Numba's flags.

Kernels release the GIL, so that Python threads run them side by side, and are cached on disk.
"""

from __future__ import annotations

import time
from typing import Any

import numba
import numba.extending
from numba.core import event

from myriad.kernel_cache import fall_back, report_compiling


class _CompileTimer(event.Listener):
    """Reports how long kernels were compiled that were not in the cache.

    Compiling a kernel compiles those that it calls; Numba's lock lets one thread do so at a time.
    """

    def __init__(self) -> None:
        self._depth, self._began = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Note when a kernel begins to be compiled."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Report the time when it is compiled."""
        self._depth -= 1
        if self._depth == 0:
            report_compiling(time.perf_counter() - self._began)


event.register("numba:compile", _CompileTimer())


def _compiler(**flags: Any) -> Any:
    """Return a decorator that compiles a function with these flags, and caches its code."""

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, error_model="numpy", **flags)(function)
        except RuntimeError as error:  # raised as the function is defined, before it is compiled
            if "no locator available" not in str(error):
                raise
        folder = fall_back()
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
        cached = folder is not None
        return numba.njit(cache=cached, nogil=True, error_model="numpy", **flags)(function)

    return decorate


jit = _compiler()
"""A kernel whose sums are computed in the order in which they are written."""

jit_reassociated = _compiler(fastmath={"reassoc", "contract", "nsz"})
"""A kernel whose sums may be reordered, so that they run in vector registers. Each one has a test
that bounds its rounding error against the same sum in float64."""

jit_fused = _compiler(fastmath={"contract"})
"""A kernel whose products and sums may be fused into one operation, which rounds once."""

inlined = _compiler(inline="always")
"""A small function that is inlined into the kernels calling it: a call with arrays is not free."""

intrinsic: Any = numba.extending.intrinsic
"""A function whose code is written by hand, in LLVM's intermediate representation."""

nothing = numba.types.void
"""The return type of an intrinsic that returns nothing."""

integer, truth = numba.types.int64, numba.types.boolean
"""Types of its arguments and results."""
