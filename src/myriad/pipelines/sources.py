"""The rows of a study: a given store, or one made from images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from myriad.pipelines.extract import ExtractOptions, extract
from myriad.pipelines.outputs import store_beside
from myriad.progress import Progress
from myriad.store import Store, is_store


def open_source(
    data: Path,
    out: Path,
    *,
    store: Path | None,
    extracting: ExtractOptions | None,
    seed: int,
    threads: int | None,
    cluster: Any,
    overwrite: bool,
    resume: bool,
    progress: Progress,
) -> Store:
    """Return the store that `data` is, or one made of all its images.

    Parameters
    ----------
    out : the folder of the study.
    store : where rows made from images are written; None for a folder beside `out`.
    """
    if is_store(data):
        return Store.open(data)
    return extract(
        data,
        store or store_beside(out),
        options=extracting,
        seed=seed,
        threads=threads,
        cluster=cluster,
        overwrite=overwrite,
        resume=resume,
        progress=progress,
    ).store
