"""``myriad extract``: images to a store of coded rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import Cluster, Extraction, ImagesArgument, read_extraction
from myriad.cli.tables import print_facts, print_store
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.outputs import WrittenStore


def show(extracted: WrittenStore, run: Run) -> None:
    """Print what was extracted."""
    store = extracted.store
    print_facts(
        {
            "Rows": store.n_rows,
            "Bad images": len(store.bad),
            "Features": store.dim,
            "Bytes per row": store.bytes_per_row,
            "Size": format_bytes(store.n_rows * store.bytes_per_row),
            "Time": format_seconds(extracted.seconds),
        }
    )
    print_store(store)


@verb(show=show, writes=["out"], resumes=True, lists={"extracting": read_extraction})
def extract(
    images: ImagesArgument,
    out: Annotated[Path, typer.Option(help="The store to write.", show_default=False)],
    *,
    extracting: Extraction,
    cluster: Cluster = None,
    run: Run,
) -> WrittenStore:
    """Extract feature vectors (rows) from images into a store to train on.

    Example: myriad extract photos --out photos.store
    """
    from myriad.pipelines.describing.extract import extract as work

    return work(
        images,
        out,
        options=extracting(),
        run=replace(run, cluster=cluster),
    )
