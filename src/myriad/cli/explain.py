"""``myriad explain``: which parts of an image support or oppose a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import ModelArgument
from myriad.cli.tables import print_facts, print_summary
from myriad.cli.verb import verb
from myriad.locks import locked
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.predicting.explain import Explained


def show(explained: Explained, run: Run) -> None:
    """Print the score and its parts."""
    found = explained.explanation
    against = "" if found.against is None else f", and not {found.against}"
    print_facts(
        {
            "Class": f"{found.label}{against}",
            "Score": f"{found.score:.2f}",
            "from the image": f"{found.score - found.bias:.2f}",
            "bias": f"{found.bias:.2f}",
        }
    )
    print_summary({"Picture": explained.picture})


@verb(show=show, writes=["out"])
def explain(
    model: ModelArgument,
    image: Annotated[
        Path, typer.Argument(metavar="IMAGE", help="An image file.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The picture to write: .png, .jpg or .webp.")],
    label: Annotated[
        str | None,
        typer.Option(help="The class to explain.", show_default="the best one"),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Class to compare with: explain why the model prefers the other.",
            show_default=False,
        ),
    ] = None,
    *,
    run: Run,
) -> Explained:
    """Show which parts of an image support or oppose a class.

    Example: myriad explain birds heron.jpg --out why.png
    """
    from myriad.pipelines.outputs import check_file_output
    from myriad.pipelines.predicting.explain import explain as work

    with locked(out, make_parents=False, progress=run.progress):
        check_file_output(out, option="--out", overwrite=run.overwrite, is_picture=True)
        return work(model, image, out, label=label, against=against)
