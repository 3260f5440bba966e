"""``myriad demo``: the main job, on data that it draws itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.methods import Objective
from myriad.cli.report import write_html
from myriad.cli.tables import describe_settings, print_accuracies, print_facts, print_summary
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.demo import Demonstrated


@dataclass(frozen=True)
class Result:
    """A demonstration and its report."""

    demonstrated: Demonstrated
    report: Path

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return self.demonstrated.to_json() | {"report": str(self.report)}


def show(result: Result, run: Run) -> None:
    """Print accuracies, times and sizes, and what to do next."""
    found = result.demonstrated
    trained = found.trained
    print_accuracies(found.test, split="test", noun="image")
    facts = {
        "Training": format_seconds(trained.seconds_training),
        "Total time": format_seconds(found.seconds),
        "Classifier": format_bytes(trained.model_bytes),
        **describe_settings(trained.settings),
    }
    if found.ceiling < 100:
        facts["Best possible top-1"] = f"{found.ceiling:.1f} %, as some classes look the same"
    print_facts(facts)
    model, images = trained.model, trained.model.parent / "images" / "test"
    print_summary(
        {"Model": model, "Report": result.report, "Images": images},
        [
            ("myriad", "predict", model, images),
            ("myriad", "train", "YOUR-IMAGES", "--out", "MODEL"),
        ],
    )


@verb(show=show, locks=["out"])
def demo(
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("myriad-demo"),
    classes: Annotated[int, typer.Option(min=10, help="Number of classes (characters).")] = 50,
    images: Annotated[int, typer.Option(min=5, help="Number of images per class.")] = 20,
    confusables: Annotated[
        bool,
        typer.Option(
            "--confusables", help="Include characters that look alike as separate classes."
        ),
    ] = False,
    objective: Objective = "auto",
    *,
    run: Run,
) -> Result:
    """Draw characters, train a model on them, evaluate it and write a report.

    Example: myriad demo --classes 100
    """
    from myriad.pipelines.demo import demonstrate

    found = demonstrate(
        out,
        classes=classes,
        images=images,
        confusables=confusables,
        objective=objective,
        run=run,
    )
    return Result(
        found, write_html(found.evidence, out / "report.html", found.trained.model, run.progress)
    )
