"""The workers of a training: of a cluster, local ones with a memory limit, or none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from myriad.errors import InputError
from myriad.parallel import Executor, LocalExecutor, Workers, open_cluster
from myriad.pipelines.run import Run
from myriad.training import Context, Method
from myriad.training.distributed.workers import WEIGHTS_BYTES, TrainingWorkers

APART = 192 << 20
"""Bytes that training takes in addition to weights: chunks of rows, scores of held-out rows."""
LEAST = 256_000_000


@contextmanager
def connected(run: Run) -> Iterator[Run]:
    """Yield the run with a connection to its cluster, if it has one, as an `Executor`."""
    if run.cluster is None:
        yield run
        return
    with open_cluster(run.cluster, progress=run.progress) as executor:
        yield replace(run, cluster=executor)


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
def open_context(run: Run, folder: Path, *, memory: int | None = None) -> Iterator[Context]:
    """Yield the context of a training, with workers that train shards where they are needed.

    Parameters
    ----------
    run : a connected one.
    folder : for weights in training; it is removed in the end.
    memory : the most bytes that a worker may take; None for no limit.
    """
    context = Context(threads=run.threads, progress=run.progress)
    if run.cluster is None and memory is None:
        yield context
        return
    size = WEIGHTS_BYTES if memory is None else (memory - APART) // 2
    workers = (
        TrainingWorkers(LocalExecutor(1), folder, size, run.threads)
        if run.cluster is None
        else TrainingWorkers(run.cluster, folder, size)
    )
    try:
        yield replace(context, workers=workers)
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
