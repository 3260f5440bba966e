"""The HTML reports that verbs end with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from myriad.progress import Progress

if TYPE_CHECKING:
    from myriad.cli.verb import Run
    from myriad.store import Store


def write_html(evidence: dict[str, Any], path: Path, progress: Progress) -> Path:
    """Write the report of some evidence; return its path."""
    from myriad.pipelines.evidence import read_picture
    from myriad.report import write_report

    write_report(evidence, path, read_image=read_picture, progress=progress)
    return path


def write_store_html(store: Store, path: Path, run: Run) -> Path:
    """Write the report of a store; return its path."""
    from myriad.pipelines.evidence import read_picture
    from myriad.pipelines.store_inspection import inspect_store
    from myriad.report import write_store_report

    inspection = inspect_store(
        store, read_picture=read_picture, seed=run.seed, progress=run.progress
    )
    write_store_report(inspection, path)
    return path
