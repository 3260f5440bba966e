"""``myriad import``: ready-made rows to a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import Labels, RowsColumn
from myriad.cli.tables import print_facts, print_store
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.outputs import WrittenStore


def show(imported: WrittenStore, run: Run) -> None:
    """Print what was imported."""
    store = imported.store
    print_facts(
        {
            "Rows": store.n_rows,
            "Classes": len(store.class_names),
            "Features": store.dim,
            "Kept as": store.dtype,
            "Size": format_bytes(store.n_rows * store.bytes_per_row),
            "Time": format_seconds(imported.seconds),
        }
    )
    print_store(store)


@verb(show=show, writes=["out"], resumes=True)
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of rows, such as .npy, .npz, .parquet or .svm, folders of them, or output "
            "folders of clip-retrieval.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The store to write.", show_default=False)],
    labels: Labels = None,
    rows: RowsColumn = None,
    in_place: Annotated[
        bool,
        typer.Option("--in-place", help="Refer to .npy files where they are instead of copying."),
    ] = False,
    *,
    run: Run,
) -> WrittenStore:
    """Import existing rows, such as embeddings, into a store to train on.

    Example: myriad import clip.npy --labels labels.txt --out clip.store
    """
    from myriad.pipelines.stores.importing import ImportOptions, import_rows

    return import_rows(
        files,
        out,
        options=ImportOptions(tuple(labels or ()), rows, in_place),
        run=run,
    )
