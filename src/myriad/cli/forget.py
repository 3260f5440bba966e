"""``myriad forget``: a model without some of its classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import ModelArgument
from myriad.cli.tables import describe_calibration, print_facts, print_summary
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.updating.relabelling import Relabelled


def show(changed: Relabelled, run: Run) -> None:
    """Print what was changed, and how many classes there are now."""
    labels = ", ".join(changed.changed)
    print_facts(
        {
            **({"Removed": labels} if changed.into is None else {"Merged": labels}),
            **({} if changed.into is None else {"Into": changed.into}),
            "Classes": len(changed.class_names),
            **describe_calibration(changed.calibration),
        }
    )
    print_summary({"Model": changed.model}, [("myriad", "evaluate", changed.model, "DATA")])


@verb(show=show, writes=["out"])
def forget(
    model: ModelArgument,
    labels: Annotated[
        list[str],
        typer.Argument(metavar="LABEL", help="Classes to remove.", show_default=False),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The model folder to write.", show_default=False)],
    run: Run,
) -> Relabelled:
    """Remove classes from a model.

    Example: myriad forget birds heron --out fewer-birds
    """
    from myriad.pipelines.updating.relabelling import forget as work

    return work(model, labels, out, run=run)
