"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A folder with one sub-folder of images per class, a CSV manifest, an archive or a "
        "store.",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder.", show_default=False)
]
ImagesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="IMAGES",
        help="A folder with one sub-folder of images per class, a CSV manifest or an archive.",
        show_default=False,
    ),
]
MaxBad = Annotated[
    float, typer.Option(min=0, max=1, help="Largest fraction of images that may be bad.")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Work on a Dask cluster: the address of its scheduler, or local:N for N processes.",
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory limit of training, such as 4GB; larger weights are trained one class shard "
        "at a time.",
        show_default="as needed",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        help="Labels of rows: a column or array, a file with one per row (.txt, .csv, .npy, "
        ".parquet; may be repeated), or the word folder; by default the column label.",
        show_default=False,
    ),
]
RowsColumn = Annotated[
    str | None,
    typer.Option(help="The column or array of the rows, where a file has several."),
]
StudyStore = Annotated[
    Path | None, typer.Option(help="Where rows made from images are kept; by default OUT.store.")
]


def split_list(text: str | None) -> list[str] | None:
    """Return the words of a list that is separated by commas, or None if there is no list."""
    if text is None:
        return None
    return [word for part in text.split(",") if (word := part.strip())]
