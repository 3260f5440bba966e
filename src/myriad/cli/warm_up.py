"""``myriad warm-up``: compile the kernels before they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.cli.tables import print_facts
from myriad.cli.text import format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.warm_up import WarmedUp


def show(found: WarmedUp, run: Run) -> None:
    """Print how many kernels were compiled."""
    print_facts(
        {
            "Compiled": f"{found.compiled} kernels in {format_seconds(found.seconds)}",
            "In cache": f"{found.kernels} kernels, {found.folder}",
        }
    )


@verb(show=show)
def warm_up(*, run: Run) -> WarmedUp:
    """Compile the kernels for this processor, so that the first jobs are as fast as later ones.

    Example: myriad warm-up
    """
    from myriad.pipelines.warm_up import warm_up

    return warm_up(threads=run.threads, progress=run.progress)
