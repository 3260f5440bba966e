"""Decorators that compile kernels: the only module that imports Numba.

Kernels release the GIL, so that Python threads run them in parallel, and are cached on disk.

Importing Numba takes longer than classifying an image by a network. So a decorator here returns a
placeholder, and Numba is imported when the first kernel is called.

Numba compiles a kernel again when its own file has changed, but not when another kernel that it
calls, or a constant of another file, has. The cached code would be wrong and might write outside
its arrays; so the cache is given a hash of all that a kernel depends on.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any

from myriad.kernel_cache import fallback_folder, report_compiling
from myriad.lazy import LazyModule, import_name

ir: Any = LazyModule("llvmlite.ir")
"""LLVM's intermediate representation, for the code of intrinsics."""
types: Any = LazyModule("numba.types")
"""Numba's types, for the signatures of intrinsics."""

_LOCK = threading.RLock()
_FUNCTIONS: dict[int, Any] = {}
"""The Python function of each of Numba's objects, by the `id` of the object; these stay alive."""


class Kernel:
    """A function that Numba compiles when it is first called.

    Numba must find its own objects where a kernel names other kernels. So before a kernel is
    handed to it, the placeholders that the kernel names are replaced.

    Parameters
    ----------
    function : the function to compile.
    make : returns Numba's object for it: a dispatcher or an intrinsic.
    """

    def __init__(self, function: Any, make: Callable[[Any], Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._make = function, make
        self._made: Any = None
        self._being_made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; compile it first if it is neither loaded nor cached."""
        return (self._made or self.make())(*arguments)

    def make(self) -> Any:
        """Return Numba's object, the same one each time."""
        if self._made is None:
            with _LOCK:
                if self._being_made is not None:  # a kernel that it names, names it as well
                    return self._being_made
                self._being_made = self._make(self._function)
                _FUNCTIONS[id(self._being_made)] = self._function
                _replace_placeholders(self._function)
                _stamp_cache(self._being_made, hash_sources(self._function))
                self._made = self._being_made  # other threads see it when it is complete
        return self._made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.make(), name)

    def __reduce__(self) -> Any:
        return import_name, (self._function.__module__, self._function.__name__)


def _replace_placeholders(function: Any) -> None:
    """Replace each `Kernel` that a function names by Numba's object."""
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, Kernel):
            cell.cell_contents = cell.cell_contents.make()
    found = function.__globals__
    for name in _names_in(function):
        if isinstance(found.get(name), Kernel):
            found[name] = found[name].make()


def _names_in(function: Any) -> Iterator[str]:
    """Yield the global names in the code of a function."""
    codes: list[CodeType] = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        yield from code.co_names


def hash_sources(function: Any) -> str:
    """Return a hash of the files of a kernel and of all kernels it calls, and of their constants.

    Parameters
    ----------
    function : the function of a kernel.
    """
    sources: set[str] = set()
    visited: set[int] = set()
    pending = [function]
    while pending:
        current = pending.pop()
        if id(current) in visited:
            continue
        visited.add(id(current))
        sources.add(_hash_file(current.__code__.co_filename))
        cells = [cell.cell_contents for cell in current.__closure__ or ()]
        named = [(name, current.__globals__.get(name)) for name in _names_in(current)]
        for name, value in [*named, *(("", cell) for cell in cells)]:
            if isinstance(value, Kernel):  # not made yet
                pending.append(value._function)
            elif id(value) in _FUNCTIONS:
                pending.append(_FUNCTIONS[id(value)])
            elif isinstance(value, (bool, int, float, str, tuple)):
                sources.add(f"{current.__module__} {name} {value!r}")
    return sha256("\n".join(sorted(sources)).encode()).hexdigest()


@functools.cache
def _hash_file(path: str) -> str:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:  # code that is not in a file
        return path


def _stamp_cache(made: Any, stamp: str) -> None:
    """Make the cached code of a kernel valid for this hash of its sources only."""
    file = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if file is not None:  # intrinsics and kernels without a cache have none
        file._source_stamp = stamp


def is_uncached(kernel: Any) -> bool:
    """Return whether no code of a kernel is in the cache yet; False if nothing can be cached."""
    made = kernel.make() if isinstance(kernel, Kernel) else kernel
    file = getattr(getattr(made, "_cache", None), "_cache_file", None)
    try:
        return file is not None and not file._load_index()
    except OSError:
        return False


@functools.cache
def _import_numba() -> Any:
    """Return Numba, with a listener that reports how long it compiles."""
    import numba
    from numba.core import event

    _import_array_functions()

    class CompileTimer(event.Listener):
        """Reports how long kernels were compiled that were not in the cache.

        Compiling a kernel compiles those that it calls; Numba's lock allows one thread at a time to
        compile.
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

    event.register("numba:compile", CompileTimer())
    return numba


def _import_array_functions() -> None:
    """Import a module of Numba that would otherwise import SciPy's linear algebra, to check for it.

    That takes about as long as the import of Numba itself, and no kernel here needs it. Where a
    kernel does, Numba checks again as it compiles, so nothing else changes.
    """
    from numba.np import linalg

    check = getattr(linalg, "ensure_blas", None)
    if check is not None:
        linalg.ensure_blas = lambda: None
        try:
            from numba.np import arraymath as arraymath
        finally:
            linalg.ensure_blas = check


def _widen_literals(made: Any) -> Any:
    """Compile literals such as ``0`` or ``True`` in calls of kernels as any integer or boolean.

    Numba would compile a kernel once more for each constant that another kernel passes to it.
    """
    find = made.get_call_template

    def find_widened(args: Any, kws: Any) -> Any:
        widen = types.unliteral
        return find([widen(one) for one in args], {name: widen(kws[name]) for name in kws})

    made.get_call_template = find_widened
    return made


def _compiler(**flags: Any) -> Any:
    """Return a decorator that compiles a function with these flags, and caches its code."""

    def make(function: Any) -> Any:
        numba = _import_numba()
        compile_ = functools.partial(numba.njit, nogil=True, error_model="numpy", **flags)
        try:
            return _widen_literals(compile_(cache=True)(function))
        except RuntimeError as error:  # raised as the function is defined, before it is compiled
            if "no locator available" not in str(error):
                raise
        folder = fallback_folder()
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)
        return _widen_literals(compile_(cache=folder is not None)(function))

    def decorate(function: Any) -> Any:
        return Kernel(function, make)

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


@functools.cache
def has_instructions(name: str) -> bool:
    """Return whether Numba compiles for a processor with these instructions, such as ``avx2``."""
    features = os.environ.get("NUMBA_CPU_FEATURES", "")
    if features or os.environ.get("NUMBA_CPU_NAME"):  # the user has stated a processor
        return f"+{name}" in features.split(",")
    from llvmlite.binding import get_host_cpu_features

    return bool(get_host_cpu_features().get(name, False))


def intrinsic(function: Any) -> Any:
    """Return a function whose code is written by hand, in LLVM's intermediate representation."""
    return Kernel(function, _make_intrinsic)


def _make_intrinsic(function: Any) -> Any:
    _import_numba()
    from numba.extending import intrinsic as make

    return make(function)
