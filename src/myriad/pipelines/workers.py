"""The workers of a training, from what a user says: a cluster, a limit of memory, or neither."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.parallel import Executor, LocalExecutor, Workers, open_cluster
from myriad.progress import Progress
from myriad.training import Method
from myriad.training.distributed.workers import PIECE_BYTES, TrainingWorkers

APART = 192 << 20
"""Bytes that training takes beside weights: chunks of rows, scores of held-out rows."""
LEAST = 256_000_000


@contextmanager
def open_executor(cluster: Any, *, progress: Progress) -> Iterator[Executor | None]:
    """Yield the workers of a cluster; None if there is none."""
    if cluster is None:
        yield None
        return
    with open_cluster(cluster, progress=progress) as executor:
        yield executor


@contextmanager
def open_shared_workers(executor: Executor | None, folder: Path) -> Iterator[Workers | None]:
    """Yield the workers of other machines with a folder, removed in the end; None without them."""
    if executor is None or not executor.remote:
        yield None
        return
    shutil.rmtree(folder, ignore_errors=True)  # what a killed run left
    try:
        yield Workers(executor, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_training_workers(
    executor: Executor | None, folder: Path, *, memory: int | None, threads: int | None
) -> Iterator[TrainingWorkers | None]:
    """Yield where pieces of a training are done; None if it is done whole, here.

    Parameters
    ----------
    folder : for weights in training; it is removed in the end.
    memory : the most bytes that a worker may take.
    """
    if memory is not None and memory < LEAST:
        raise InputError(f"--memory must be at least {LEAST // 1_000_000}MB.")
    if executor is None and memory is None:
        yield None
        return
    size = PIECE_BYTES if memory is None else (memory - APART) // 2
    try:
        if executor is None:
            yield TrainingWorkers(LocalExecutor(1), folder, size, threads)
        else:
            yield TrainingWorkers(executor, folder, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def workers_option(
    workers: TrainingWorkers | None, method: Method, progress: Progress
) -> dict[str, Any]:
    """Return what a method's `fit` is told of a workers; a method that cannot use it says so."""
    if workers is None:
        return {}
    if method.spreads:
        return {"workers": workers}
    if workers.executor.remote:
        progress.note(f"The objective {method.objective} is trained on this machine alone.")
    return {}
