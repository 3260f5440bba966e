"""``myriad train``: images or a store to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.methods import MethodReader
from myriad.cli.report import write_html
from myriad.cli.shared_options import Cluster, DataArgument, Extraction, Memory, read_extraction
from myriad.cli.tables import (
    describe_calibration,
    describe_settings,
    print_accuracies,
    print_facts,
    print_summary,
)
from myriad.cli.text import format_bytes, format_seconds, parse_bytes
from myriad.cli.verb import Lists, verb
from myriad.pipelines.run import Run
from myriad.training import Method

if TYPE_CHECKING:
    from myriad.pipelines.training.train import Trained


@dataclass(frozen=True)
class Result:
    """A trained model and its report."""

    trained: Trained
    report: Path

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return self.trained.to_json() | {"report": str(self.report)}


def show(result: Result, run: Run) -> None:
    """Print accuracies, settings and times, and what to do next."""
    trained = result.trained
    print_accuracies(trained.validation, split="val", noun=trained.store.noun)
    print_facts(
        describe_settings(trained.settings)
        | describe_calibration(trained.fitted.calibration or trained.fitted.label_calibration)
        | {
            "Epochs": trained.fitted.epochs,
            "Training": format_seconds(trained.seconds_training),
            "Classifier": format_bytes(trained.model_bytes),
        }
    )
    commands = [("myriad", "evaluate", trained.model, "DATA")]
    if trained.store.recipe is not None:
        commands.insert(0, ("myriad", "predict", trained.model, "IMAGE"))
    print_summary(
        {"Model": trained.model, "Report": result.report, "Rows": trained.store.path}, commands
    )


OPTION_LISTS: Lists = {
    "extracting": read_extraction,
    "training": MethodReader(),
}


@verb(show=show, writes=["out"], resumes=True, lists=OPTION_LISTS, locks=["out"])
def train(
    data: DataArgument,
    *,
    out: Annotated[Path, typer.Option(help="The model folder to write.", show_default=False)],
    training: Callable[..., Method],
    extracting: Extraction,
    store: Annotated[
        Path | None,
        typer.Option(help="Store for the rows extracted from images.", show_default="OUT.store"),
    ] = None,
    corrections: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of corrected labels (path,label), as check --labels writes it; an empty "
            "label removes the image.",
            show_default=False,
        ),
    ] = None,
    memory: Memory = None,
    cluster: Cluster = None,
    run: Run,
) -> Result:
    """Train a model on images or on a store.

    Example: myriad train photos --out birds
    """
    from myriad.pipelines.training.train import train as work

    trained = work(
        data,
        out,
        store=store,
        extracting=extracting(),
        method=training(seed=run.seed),
        corrections=corrections,
        memory=None if memory is None else parse_bytes(memory, "--memory"),
        run=replace(run, cluster=cluster),
    )
    return Result(trained, write_html(trained.evidence, out / "report.html", out, run.progress))
