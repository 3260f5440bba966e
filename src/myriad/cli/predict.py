"""``myriad predict``: ranked labels for images or rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import ModelArgument
from myriad.cli.tables import print_table
from myriad.cli.verb import Run, verb
from myriad.locks import locked

if TYPE_CHECKING:
    from myriad.pipelines.predict import Predicted


def show(predicted: Predicted, run: Run) -> None:
    """Print a line for each image: its labels, best first."""
    rows = [
        [
            prediction["path"],
            *(f"{entry['label']} ({entry['score']:.2f})" for entry in prediction["labels"]),
        ]
        for prediction in predicted.predictions
    ]
    if rows:
        ranks = ["Best", *(str(rank) for rank in range(2, len(rows[0])))]
        print_table(["Image", *ranks], rows)
    if predicted.bad:
        print_table(
            ["Bad image", "Reason"], [[bad["path"], bad["reason"]] for bad in predicted.bad]
        )


@verb(show=show, writes=True)
def predict(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE|FOLDER|LIST|ROWS...",
            help="Image files, folders of them, .txt files of one path per line, or files of rows.",
            show_default=False,
        ),
    ],
    k: Annotated[int, typer.Option("-k", "--top", min=1, help="Number of labels per image.")] = 5,
    csv: Annotated[Path | None, typer.Option(help="Also write the labels to this file.")] = None,
    *,
    run: Run,
) -> Predicted:
    """Rank labels for images or rows."""
    from myriad.pipelines.outputs import check_file_output
    from myriad.pipelines.predict import predict as work
    from myriad.pipelines.predict import write_csv

    with locked(csv, make_parents=False, progress=run.progress):
        if csv is not None:
            check_file_output(csv, option="--csv", overwrite=run.overwrite)
        predicted = work(model, inputs, k=k, threads=run.threads, progress=run.progress)
        if csv is not None:
            write_csv(predicted, csv)
    return predicted
