"""``myriad evaluate``: how well a model ranks labelled images or rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.shared_options import (
    Cluster,
    DataArgument,
    Deciding,
    Extraction,
    Labels,
    ModelArgument,
    RowsColumn,
    choose_extraction,
    read_decisions,
)
from myriad.cli.tables import print_accuracies, print_facts, print_table
from myriad.cli.verb import Lists, OptionPanel, verb
from myriad.pipelines.describing.options import SEVERAL
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.predicting.evaluate import Evaluated

MOST_LABELS = 20
"""Labels that are printed; all are in the JSON object."""
read_limit = choose_extraction("max_bad", *SEVERAL)
"""The limit of bad images, and labels of manifests: options of extraction."""


def show(evaluated: Evaluated, run: Run) -> None:
    """Print the accuracies, and the measures that know which classes are similar."""
    print_accuracies(evaluated.measures, split=evaluated.split, noun=evaluated.noun)
    rows = {
        "Class-confusion loss": evaluated.class_confusion,
    }
    for k, value in (evaluated.siblings or {}).items():
        rows["Sibling precision" if k == 1 else f"Sibling precision at {k}"] = value
    facts = {name: f"{value:.2f} %" for name, value in rows.items() if value is not None}
    print_facts(facts | describe_probabilities(evaluated))
    if evaluated.sets is not None:
        sizes = evaluated.sets["sizes"].items()
        print_table(["Set size", "% of rows"], [[size, share] for size, share in sizes])
    labels = evaluated.labels
    if labels is not None:
        names = {"micro average": "micro", "macro average": "macro"}
        columns = ["Assigned labels, %", "Precision", "Recall", "F1"]
        print_table(columns, [[name, *labels[key].values()] for name, key in names.items()])
        show_labels(labels["each"])
    if evaluated.levels is not None:
        columns = ["Level", "Accuracy in %", "Answered in %", "Correct in %"]
        print_table(columns, [list(level.values()) for level in evaluated.levels])


def show_labels(each: list[dict[str, Any]]) -> None:
    """Print how well each label is given: of many, those with the lowest F1."""
    known = [label for label in each if label["present"]]
    shown = sorted(known, key=lambda label: label["f1"])[:MOST_LABELS]
    if len(known) <= MOST_LABELS:
        shown = known
    columns = ["Label", "Images", "Given", "Precision", "Recall", "F1", "Average precision"]
    title = "" if shown is known else f"The {MOST_LABELS} labels with the lowest F1"
    print_table(columns, [list(label.values()) for label in shown], title=title)


def describe_probabilities(evaluated: Evaluated) -> dict[str, str]:
    """Return what probabilities, prediction sets and rejection reached, in words."""
    facts: dict[str, str] = {}
    found, sets, rejection = evaluated.calibration, evaluated.sets, evaluated.rejection
    labels = evaluated.labels
    if found is not None:
        facts["Calibration error"] = f"{found.error:.3f} ({found.chance:.3f} by chance alone)"
        facts["Brier score"] = f"{found.brier:.3f}"
        facts["Log loss"] = f"{found.log_loss:.3f}"
        facts["Risk-coverage area"] = f"{100 * found.risk_area:.2f} %"
    if sets is not None:
        facts["Coverage"] = (
            f"{sets['coverage']:.2f} % with sets of {sets['mean_size']:.2f} labels on average "
            f"(top-{sets['top_k']['k']}: {sets['top_k']['coverage']:.2f} %)"
        )
    if labels is not None:
        facts["Calibration error"] = f"{labels['calibration_error']:.3f} (of the best label)"
        facts["Brier score"] = f"{labels['brier']:.3f} (mean over labels)"
        facts["Log loss"] = f"{labels['log_loss']:.3f} (mean over labels)"
        facts["Labels per row"] = (
            f"{labels['present']:.2f}, assigned {labels['given']:.2f}, "
            f"expected {labels['expected']:.2f}"
        )
    if rejection is not None:
        facts["Answered"] = f"{rejection['answered']:.2f} %"
        if rejection["precision"] is not None:
            facts["Accuracy when answered"] = f"{rejection['precision']:.2f} %"
    return facts


OPTION_LISTS: Lists = {
    "extracting": read_limit,
    "deciding": OptionPanel(read_decisions, "Decisions", first=()),
}


@verb(show=show, lists=OPTION_LISTS)
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    split: Annotated[
        str | None,
        typer.Option(
            help="Split to evaluate: train, val, test or all; by default test if present, else all."
        ),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Let a model of binary codes score float rows directly, without encoding them.",
        ),
    ] = False,
    *,
    deciding: Deciding,
    extracting: Extraction,
    labels: Labels = None,
    rows: RowsColumn = None,
    cluster: Cluster = None,
    run: Run,
) -> Evaluated:
    """Measure a model's accuracy on images, on a store or on files of rows.

    Example: myriad evaluate birds labelled-photos
    """
    from myriad.pipelines.predicting.evaluate import evaluate as work

    options = extracting()
    return work(
        model,
        data,
        split=split,
        plain=plain,
        max_bad=options.max_bad,
        several=options.several,
        labels=labels or (),
        column=rows,
        deciding=deciding(),
        run=replace(run, cluster=cluster),
    )
