"""The workers of a training: of a cluster, local ones with a memory limit, or none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.parallel import Executor, LocalExecutor, Workers, open_cluster
from myriad.progress import Progress
from myriad.training import Context, Method
from myriad.training.distributed.workers import WEIGHTS_BYTES, TrainingWorkers

APART = 192 << 20
"""Bytes that training takes in addition to weights: chunks of rows, scores of held-out rows."""
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
    """Yield the workers of other machines with a temporary folder; None if there are none."""
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
    """Yield the workers that train shards; None to train everything in this process.

    Parameters
    ----------
    folder : for weights in training; it is removed in the end.
    memory : the most bytes that a worker may take.
    """
    if executor is None and memory is None:
        yield None
        return
    size = WEIGHTS_BYTES if memory is None else (memory - APART) // 2
    try:
        if executor is None:
            yield TrainingWorkers(LocalExecutor(1), folder, size, threads)
        else:
            yield TrainingWorkers(executor, folder, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def note_unused(context: Context, method: Method) -> None:
    """Print a note if a method cannot use the workers of other machines."""
    workers = context.workers
    if workers is not None and workers.executor.remote and not method.supports_workers:
        context.progress.note(
            f"The objective {method.objective} is trained on this machine: it cannot use workers."
        )


def check_memory(memory: int | None) -> None:
    """Raise `InputError` for a limit of memory that no training can keep."""
    if memory is not None and memory < LEAST:
        raise InputError(f"--memory must be at least {LEAST // 1_000_000}MB.")
