"""``myriad export``: stores and models for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.tables import print_facts, print_summary
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.stores.exporting import Exported


def show(exported: Exported, run: Run) -> None:
    """Print what was exported."""
    words = {"rows": "Rows", "dim": "Features", "classes": "Classes"}
    answer = dict(exported.facts)
    size, before = answer.pop("bytes", None), answer.pop("bytes_before", 0)
    facts: dict[str, object] = {words[name]: value for name, value in answer.items()}
    if size is not None:
        facts["Size"] = f"{format_bytes(size)}, was {format_bytes(before)}"
    print_facts({**facts, "Time": format_seconds(exported.seconds)})
    if size is not None:
        (model,) = exported.files
        print_summary({"Model": model}, [("myriad", "evaluate", model, "DATA")])
        return
    print_summary(
        {path.name if "rows" in exported.facts else "ONNX": path for path in exported.files}
    )


@verb(show=show, writes=["out"])
def export(
    source: Annotated[
        Path,
        typer.Argument(metavar="STORE|MODEL", help="A store or a model.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="For a store the folder to write rows.npy and rows.parquet in, for a model the "
            ".onnx file, or with --weights the model folder.",
            show_default=False,
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option("-k", "--top", min=1, help="Number of labels that the ONNX graph returns."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="Write a model folder with weights in float16 or int8."),
    ] = None,
    *,
    run: Run,
) -> Exported:
    """Write a store as .npy and Parquet, or a model as ONNX or with smaller weights.

    Example: myriad export birds --out birds.onnx
    """
    from myriad.pipelines.stores.exporting import export as work

    return work(source, out, k=k, weights=weights, run=run)
