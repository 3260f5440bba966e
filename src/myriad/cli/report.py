"""``myriad report``: the HTML report of a model or a store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.tables import print_summary
from myriad.cli.verb import verb
from myriad.locks import locked
from myriad.pipelines.run import Run
from myriad.progress import Progress

if TYPE_CHECKING:
    from myriad.store import Store


@dataclass(frozen=True)
class Result:
    """The path of the report."""

    report: Path

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return {"report": str(self.report)}


def show(result: Result, run: Run) -> None:
    """Print the path of the report."""
    print_summary({"Report": result.report})


@verb(show=show, writes=["out"])
def report(
    subject: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|STORE", help="A model folder or a store.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; by default MODEL/report.html or STORE.html."),
    ] = None,
    *,
    run: Run,
) -> Result:
    """Write the HTML report of a model or a store.

    Example: myriad report birds
    """
    from myriad.pipelines.outputs import check_file_output, page_beside
    from myriad.pipelines.training.train import read_evidence
    from myriad.store import Store, is_store

    of_store = is_store(subject)
    path = out or (page_beside(subject) if of_store else subject / "report.html")
    apart = out is not None or of_store  # not the model's own page, which is always replaced
    with locked(path if apart else subject, make_parents=False, progress=run.progress):
        if apart:
            check_file_output(path, option="--out", overwrite=run.overwrite)
        if of_store:
            return Result(write_store_html(Store.open(subject), path, run))
        return Result(write_html(read_evidence(subject), path, subject, run.progress))


def write_html(evidence: dict[str, Any], path: Path, model: Path, progress: Progress) -> Path:
    """Write the report of some evidence of a model; return its path."""
    from myriad.pipelines.evidence.documentation import read_picture
    from myriad.pipelines.predicting.explain import MistakeExplainer
    from myriad.report import write_report

    explain = MistakeExplainer(model)
    write_report(evidence, path, read_image=read_picture, explain=explain, progress=progress)
    return path


def write_store_html(store: Store, path: Path, run: Run) -> Path:
    """Write the report of a store; return its path."""
    from myriad.pipelines.evidence.documentation import read_picture
    from myriad.pipelines.stores.inspection import inspect_store
    from myriad.report import write_store_report

    inspection = inspect_store(
        store, read_picture=read_picture, seed=run.seed, progress=run.progress
    )
    write_store_report(inspection, path)
    return path
