"""``myriad evaluate``: how well a model ranks labelled images or rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import (
    Cluster,
    DataArgument,
    Extraction,
    Labels,
    ModelArgument,
    RowsColumn,
    choose_extraction,
)
from myriad.cli.tables import print_accuracies, print_facts
from myriad.cli.verb import Run, verb

if TYPE_CHECKING:
    from myriad.pipelines.evaluate import Evaluated

read_limit = choose_extraction("max_bad")
"""The limit of bad images, an option of extraction."""


def show(evaluated: Evaluated, run: Run) -> None:
    """Print the accuracies, and the measures that know which classes are similar."""
    print_accuracies(evaluated.measures, split=evaluated.split)
    rows = {
        "Class-confusion loss": evaluated.class_confusion,
        "Sibling precision": evaluated.sibling,
    }
    print_facts({name: f"{value:.2f} %" for name, value in rows.items() if value is not None})


@verb(show=show, lists={"extracting": read_limit})
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    split: Annotated[
        str | None,
        typer.Option(
            help="train, val, test or all; by default test where the data has one, else all."
        ),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Let a model of bits score float values, without coding them first."
        ),
    ] = False,
    hierarchy: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file with the columns class and parent: siblings count as correct, too.",
            show_default=False,
        ),
    ] = None,
    *,
    extracting: Extraction,
    labels: Labels = None,
    rows: RowsColumn = None,
    cluster: Cluster = None,
    run: Run,
) -> Evaluated:
    """Measure a model's accuracy on images, on a store or on files of rows."""
    from myriad.pipelines.evaluate import evaluate as work

    return work(
        model,
        data,
        split=split,
        plain=plain,
        max_bad=extracting().max_bad,
        labels=labels or (),
        column=rows,
        hierarchy=hierarchy,
        threads=run.threads,
        cluster=cluster,
        progress=run.progress,
    )
