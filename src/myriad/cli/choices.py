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
Components = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=65536,
        help="Gaussians (fisher, by default 256) or words (bov 1024, vlad 256) of the vocabulary.",
    ),
]
Regions = Annotated[int, typer.Option(help="Regions of the spatial pyramid: 1, 4 or 8.")]
Step = Annotated[int, typer.Option(min=1, max=4096, help="Pixels from one patch to the next.")]
Signature = Annotated[
    str,
    typer.Option(
        help="What describes an image: fisher, bov, vlad, efficientnet-lite0 or onnx:FILE."
    ),
]
OnnxSize = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=4096,
        help="Height and width of the images that onnx:FILE takes; by default as it says, or 224.",
    ),
]
OnnxMean = Annotated[
    str,
    typer.Option(
        help="What onnx:FILE wants taken off pixels from 0 to 255: one number, three, or imagenet "
        "or clip."
    ),
]
OnnxDeviation = Annotated[str, typer.Option(help="What the rest is divided by, in the same ways.")]
OnnxOutput = Annotated[
    str | None,
    typer.Option(
        help="The output of onnx:FILE to take, or a value inside it; by default the first."
    ),
]
DescriptorName = Annotated[
    str,
    typer.Option(
        "--descriptor", help="What describes a patch: sift, colour or sift+colour (both together)."
    ),
]
Whiten = Annotated[
    bool, typer.Option("--whiten", help="Divide projected descriptors by their deviation.")
]
Weights = Annotated[
    bool, typer.Option("--weights", help="fisher: add the gradient of the Gaussians' weights.")
]
Soft = Annotated[
    bool, typer.Option("--soft", help="bov: let a patch count for several words near it.")
]
HistogramMap = Annotated[
    str,
    typer.Option(
        "--map",
        help="bov: the kernel that counts are mapped for: hellinger, chi2, intersection or "
        "intersection-pca.",
    ),
]
Within = Annotated[
    bool, typer.Option("--within", help="vlad: bring each word's sum to norm 1 by itself.")
]
Codes = Annotated[
    str, typer.Option(help="How rows are kept: pq, bits, turned, bilinear, scalar; none: float32.")
]
Ratio = Annotated[
    float | None,
    typer.Option(
        help="How many times smaller coded rows are, at least.", show_default="32; scalar 4"
    ),
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
