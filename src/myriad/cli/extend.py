"""``myriad extend``: new classes for a model, without its old images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import DataArgument, ModelArgument
from myriad.cli.tables import describe_calibration, print_accuracies, print_facts, print_summary
from myriad.cli.text import format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.updating.extend import Extended


def show(extended: Extended, run: Run) -> None:
    """Print how the classes did, and what to do next."""
    task = extended.growth
    if extended.held_out.n:
        print_accuracies(extended.held_out, split="held-out", noun="row")
    old = "of the store" if task.from_store else "drawn around the class means of the model"
    print_facts(
        {
            "Classes": f"{len(task.class_names):,}, {len(task.added):,} of them new",
            "Old weights": f"{len(extended.found.updated):,} classes updated"
            if extended.found.updated
            else "unchanged",
            "Rows": f"{len(task.new):,} new, {len(task.old):,} {old}",
            **describe_calibration(extended.calibration),
            "Training": format_seconds(extended.seconds_training),
        }
    )
    print_summary(
        {"Model": extended.model, "Rows": extended.store},
        [("myriad", "evaluate", extended.model, "DATA")],
    )


@verb(show=show, writes=["out"], resumes=True)
def extend(
    model: ModelArgument,
    data: DataArgument,
    *,
    out: Annotated[Path, typer.Option(help="The model folder to write.", show_default=False)],
    store: Annotated[
        list[Path] | None,
        typer.Option(
            help="A store of rows of the old classes, such as the one that the model was trained "
            "on; may be repeated. Without it, rows are drawn around the class means that the model "
            "stores.",
            show_default=False,
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Train old classes too: all of them with --store, else those with new images.",
        ),
    ] = False,
    run: Run,
) -> Extended:
    """Add classes to a model, from new images alone.

    Example: myriad extend birds new-species --out more-birds
    """
    from myriad.pipelines.updating.extend import extend as work

    return work(
        model,
        data,
        out,
        old=store or (),
        update=update,
        run=run,
    )
