"""``myriad report``: the HTML report of a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from myriad.cli.choices import ModelArgument
from myriad.cli.reporting import write_html
from myriad.cli.tables import print_summary
from myriad.cli.verb import Run, verb


@dataclass(frozen=True)
class Result:
    """Where the report is."""

    report: Path

    def to_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"report": str(self.report)}


def show(result: Result, run: Run) -> None:
    """Say where the report is."""
    print_summary({"Report": result.report})


@verb(show=show, writes=True)
def report(
    model: ModelArgument,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default MODEL/report.html.")
    ] = None,
    *,
    run: Run,
) -> Result:
    """Write the HTML report of a model."""
    from myriad.pipelines.outputs import check_file_place
    from myriad.pipelines.train import read_evidence

    if out is not None:
        check_file_place(out, option="--out", overwrite=run.overwrite)
    path = out or model / "report.html"
    return Result(write_html(read_evidence(model), path, run.progress))
