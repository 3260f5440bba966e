"""``myriad evaluate``: how well a model ranks labelled images or rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.accuracies import print_accuracies
from myriad.cli.choices import DataArgument, MaxBad, ModelArgument
from myriad.cli.verb import Run, verb

if TYPE_CHECKING:
    from myriad.pipelines.evaluate import Evaluated


def show(evaluated: Evaluated, run: Run) -> None:
    """Print the accuracies."""
    print_accuracies(evaluated.measures, part=evaluated.split)


@verb(show=show)
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
            "--plain", help="Let a model of bits score plain values, without coding them first."
        ),
    ] = False,
    max_bad: MaxBad = 0.05,
    *,
    run: Run,
) -> Evaluated:
    """Measure a model's accuracy on images or on a store."""
    from myriad.pipelines.evaluate import evaluate as work

    return work(
        model,
        data,
        split=split,
        plain=plain,
        max_bad=max_bad,
        threads=run.threads,
        progress=run.progress,
    )
