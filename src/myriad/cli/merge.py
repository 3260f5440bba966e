"""``myriad merge``: classes of a model that become one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.forget import show
from myriad.cli.shared_options import ModelArgument
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.updating.relabelling import Relabelled


@verb(show=show, writes=["out"])
def merge(
    model: ModelArgument,
    labels: Annotated[
        list[str],
        typer.Argument(metavar="LABEL", help="Classes to merge.", show_default=False),
    ],
    *,
    into: Annotated[str, typer.Option(help="The name of the merged class.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The model folder to write.", show_default=False)],
    run: Run,
) -> Relabelled:
    """Merge classes of a model into one.

    Example: myriad merge birds gull tern --into seabird --out birds2
    """
    from myriad.pipelines.updating.relabelling import merge as work

    return work(model, labels, into, out, run=run)
