"""``myriad tune``: how accuracy depends on the settings of an objective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.methods import Objective
from myriad.cli.shared_options import (
    Cluster,
    DataArgument,
    Extraction,
    StudyStore,
    read_extraction,
    split_list,
)
from myriad.cli.tables import print_summary, print_table
from myriad.cli.text import format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.training.trials import Trial, Tuned


@dataclass(frozen=True)
class Result:
    """Tuned settings and their page."""

    tuned: Tuned
    page: Path

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return self.tuned.to_json() | {"report": str(self.page)}


def show(result: Result, run: Run) -> None:
    """Print all trials in order, and the best one as a command."""
    tuned = result.tuned
    names = list(dict.fromkeys(name for trial in tuned.trials for name in trial.settings))
    print_table(
        ["Trial", *names, "Top-1", "Top-5", "Epochs", "Time", ""],
        [_list(trial, names, best=trial is tuned.best) for trial in tuned.trials],
        title="Accuracy in % over samples on validation rows",
        right=(*names, "Time"),
    )
    print_summary({"Report": result.page, "Rows": tuned.store.path}, [tuned.command])


def _list(trial: Trial, names: list[str], *, best: bool) -> list[Any]:
    from myriad.pipelines.training.trials import STUDIES

    values = [trial.settings.get(name) for name in names]
    seconds = None if trial.seconds is None else format_seconds(trial.seconds)
    remark = f"failed: {trial.error}" if trial.error is not None else "best" if best else ""
    return [
        STUDIES[trial.study],
        *(f"{value:g}" if isinstance(value, float) else value for value in values),
        trial.top1,
        trial.top5,
        trial.epochs or None,
        seconds,
        remark,
    ]


@verb(show=show, writes=["out"], resumes=True, lists={"extracting": read_extraction}, locks=["out"])
def tune(
    data: DataArgument,
    out: Annotated[
        Path, typer.Option(help="The folder to write the table and the report to.")
    ] = Path("myriad-tune"),
    objective: Objective = "ovr",
    betas: Annotated[
        str | None,
        typer.Option(
            help="Negatives per positive of ovr to try: numbers or all, separated by commas.",
            show_default="searched",
        ),
    ] = None,
    etas: Annotated[
        str | None,
        typer.Option(help="Learning rates to try, separated by commas.", show_default="searched"),
    ] = None,
    lams: Annotated[
        str | None,
        typer.Option(
            help="Regularisation strengths to try, separated by commas.",
            show_default="four powers of 10",
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Maximum number of epochs per trial.")] = 20,
    store: StudyStore = None,
    cluster: Cluster = None,
    *,
    extracting: Extraction,
    run: Run,
) -> Result:
    """Search the settings of an objective: learning rate, regularisation, negatives per positive.

    Example: myriad tune photos.store --out tuned
    """
    from myriad.pipelines.training.tune import PAGE
    from myriad.pipelines.training.tune import tune as work
    from myriad.report.studies import write_tuning

    tuned = work(
        data,
        out,
        objective=objective,
        betas=split_list(betas),
        etas=split_list(etas),
        lams=split_list(lams),
        epochs=epochs,
        store=store,
        extracting=extracting(),
        run=replace(run, cluster=cluster),
    )
    write_tuning(tuned.to_json(), out / PAGE)
    return Result(tuned, out / PAGE)
