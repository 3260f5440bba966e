"""Compilation of kernels in another process while features are extracted from images.

A new installation would otherwise compile the kernels of the automatic method and of product codes,
which take longest, on one core between extraction and training. Here they are in Numba's cache when
they are needed. The process is a program, and not a worker of `myriad.parallel`, because
it shares nothing with this process but that cache.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from myriad._jit import is_uncached
from myriad.codes.product import learn_product
from myriad.kernel_cache import LONG_COMPILING, report_compiling
from myriad.parallel import LearningContext, thread_count
from myriad.store import ArrayRows
from myriad.training import Automatic, Context

LONGEST_WAIT = 120.0
"""Timeout in seconds, after which the caller compiles the kernels itself."""
ROWS, FEATURES, CLASSES = 200, 48, 10

_running: subprocess.Popen[bytes] | None = None


@contextmanager
def compiling_ahead(threads: int | None = None) -> Iterator[None]:
    """Within this context, compile the kernels of the automatic method, unless they are cached.

    Nothing is done where kernels cannot be cached, or a job is to run on one core. The process ends
    with the context, or when this process ends in any other way; if it fails, nothing else does.
    """
    global _running
    if _running is not None or thread_count(threads) == 1 or not _is_needed():
        yield
        return
    _running = _start()
    try:
        yield
    finally:
        process, _running = _running, None
        if process is not None:
            process.kill()
            process.communicate()


def wait_for_kernels() -> None:
    """Wait until the kernels of the automatic method are compiled, if that is being done."""
    process = _running
    if process is None:
        return
    try:
        process.wait(LONG_COMPILING)
    except subprocess.TimeoutExpired:
        report_compiling(LONG_COMPILING)
        with suppress(subprocess.TimeoutExpired):
            process.wait(LONGEST_WAIT)


def _is_needed() -> bool:
    """Return whether kernels that the automatic method always uses are not cached yet."""
    from myriad.training.dual.one_vs_rest_kernels import step_columns
    from myriad.training.sgd.softmax_kernels import run_softmax_chunk

    return any(is_uncached(kernel) for kernel in (run_softmax_chunk, step_columns))


def _start() -> subprocess.Popen[bytes] | None:
    """Start this module as a program, which reads from a pipe that closes with this process."""
    # -P: as for the command, no modules are imported from the current folder.
    command = [sys.executable, "-P", "-m", __name__]
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
    except OSError:
        return None


def compile_kernels() -> None:
    """Train the automatic method on a few drawn rows, and compress them as long rows are."""
    draws = np.random.default_rng(0)
    labels = np.arange(ROWS, dtype=np.int32) % CLASSES
    means = draws.normal(size=(CLASSES, FEATURES))
    X = (means[labels] + draws.normal(size=(ROWS, FEATURES))).astype(np.float32)
    # Two threads: work that they share has kernels of its own.
    Automatic().fit(ArrayRows(X, labels), None, n_classes=CLASSES, context=Context(threads=2))
    code = learn_product(X, bits=4, period=FEATURES // 4, context=LearningContext(threads=1))
    code.decode(code.encode(X))


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this
    threading.Thread(target=_end_with_parent, daemon=True).start()
    compile_kernels()
    os._exit(0)
