"""The site of a training, from what a user says: a cluster, a limit of memory, or neither."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.parallel import LocalMapper, Mapper, Place, open_cluster
from myriad.progress import Progress
from myriad.training import Method
from myriad.training.sites import PIECE_BYTES, Site

APART = 192 << 20
"""Bytes that training takes beside weights: chunks of rows, scores of held-out rows."""
LEAST = 256_000_000


@contextmanager
def open_mapper(cluster: Any, *, progress: Progress) -> Iterator[Mapper | None]:
    """Yield the workers of a cluster; None if there is none."""
    if cluster is None:
        yield None
        return
    with open_cluster(cluster, progress=progress) as mapper:
        yield mapper


@contextmanager
def open_place(mapper: Mapper | None, folder: Path) -> Iterator[Place | None]:
    """Yield the workers of other machines with a folder, removed in the end; None without them."""
    if mapper is None or not mapper.remote:
        yield None
        return
    shutil.rmtree(folder, ignore_errors=True)  # what a killed run left
    try:
        yield Place(mapper, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_site(
    mapper: Mapper | None, folder: Path, *, memory: int | None, threads: int | None
) -> Iterator[Site | None]:
    """Yield where pieces of a training are done; None if it is done whole, here.

    Parameters
    ----------
    folder : for weights in training; it is removed in the end.
    memory : the most bytes that a worker may take.
    """
    if memory is not None and memory < LEAST:
        raise InputError(f"--memory must be at least {LEAST // 1_000_000}MB.")
    if mapper is None and memory is None:
        yield None
        return
    size = PIECE_BYTES if memory is None else (memory - APART) // 2
    try:
        if mapper is None:
            yield Site(LocalMapper(1), folder, size, threads)
        else:
            yield Site(mapper, folder, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def place_at(site: Site | None, method: Method, progress: Progress) -> dict[str, Any]:
    """Return what a method's `fit` is told of a site; a method that cannot use it says so."""
    if site is None:
        return {}
    if method.spreads:
        return {"site": site}
    if site.mapper.remote:
        progress.note(f"The objective {method.objective} is trained on this machine alone.")
    return {}
