"""Check the labels of a data set: wrong labels, and duplicate classes."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.checks.cross_fitting import HeldProbabilities
from myriad.checks.findings import DuplicateGroup, Finding, Sample
from myriad.checks.label_errors import (
    RankedLabels,
    TwinClasses,
    find_label_errors,
    find_twins,
    rank_labels,
)
from myriad.files import atomic_write
from myriad.models import HeldScores
from myriad.pipelines.run import Run
from myriad.store import ArrayRows, Rows, StoreRows
from myriad.training import Automatic, Context, Fitted
from myriad.training.calibrating import score_held

MOST_SUSPECTS = 100
"""Labels that may be wrong which the evidence of a model keeps."""


@dataclass(frozen=True, eq=False)
class CheckedLabels:
    """Labels that may be wrong.

    Attributes
    ----------
    ranked : all labels, ranked.
    wrong : int64, positions in it of those that may be wrong, the most certain first.
    twins : pairs of classes that are probably duplicates.
    file : the CSV file with suggested labels.
    """

    ranked: RankedLabels
    wrong: NDArray[np.int64]
    twins: list[TwinClasses]
    file: Path

    @property
    def n_likely(self) -> int:
        """How many of `wrong` are likely wrong."""
        return int(self.ranked.likely[self.wrong].sum())

    @property
    def n_sure(self) -> int:
        """How many of these are surely wrong."""
        return int(self.ranked.sure[self.wrong].sum())

    @property
    def items(self) -> NDArray[np.int64]:
        """The numbers of the items, in the order of `wrong`."""
        return self.ranked.held.numbers[self.wrong]


def check_labels(
    rows: Rows,
    sample: Sample,
    groups: Sequence[DuplicateGroup],
    file: Path,
    kept: NDArray[np.bool_],
    run: Run,
) -> CheckedLabels:
    """Rank the labels of all rows, and write those that may be wrong to a CSV file.

    Parameters
    ----------
    kept : which rows may be listed; a fixed manifest lacks the others.
    """
    method = Automatic(seed=run.seed, search="quick")
    context = Context(threads=run.threads, progress=run.progress)
    n_classes = len(sample.class_names)
    ranked, held = find_label_errors(
        method, group_rows(rows, groups), n_classes=n_classes, context=context
    )
    wrong = ranked.list_wrong()
    wrong = wrong[kept[ranked.held.numbers[wrong]]]
    checked = CheckedLabels(ranked, wrong, find_twins(held, n_classes), file)
    write_suggestions(sample, checked)
    return checked


def group_rows(rows: Rows, groups: Sequence[DuplicateGroup]) -> Rows:
    """Return rows whose groups are those of copies: they are not divided among folds."""
    numbers = np.full(rows.n_rows, -1, np.int32)
    for number, group in enumerate(groups):
        numbers[group.items] = number
    if isinstance(rows, ArrayRows):
        return ArrayRows(rows.X, rows.labels, rows.class_names, groups=numbers)
    assert isinstance(rows, StoreRows)
    grouped = rows.select(np.arange(rows.n_rows))
    grouped.groups = numbers
    return grouped


def write_suggestions(sample: Sample, checked: CheckedLabels) -> None:
    """Write images whose label may be wrong, for a person to edit and give to ``train``.

    Labels that are only possibly wrong stay unchanged, so that an unedited file
    changes only labels that are likely wrong.
    """
    ranked, held = checked.ranked, checked.ranked.held
    with (
        atomic_write(checked.file) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        names = ["path", "label", "given", "suggested", "given_probability"]
        writer.writerow([*names, "suggested_probability", "score", "certainty"])
        for at in checked.wrong.tolist():
            suggested = sample.class_names[ranked.suggested[at]]
            given = sample.class_names[held.labels[at]]
            level = "sure" if ranked.sure[at] else "likely" if ranked.likely[at] else "possible"
            writer.writerow(
                [
                    sample.paths[held.numbers[at]],
                    suggested if ranked.likely[at] else given,
                    given,
                    suggested,
                    f"{held.given[at]:.4f}",
                    f"{ranked.alternative[at]:.4f}",
                    f"{ranked.score[at]:.3f}",
                    level,
                ]
            )


def find_label_faults(sample: Sample, checked: CheckedLabels | None) -> list[Finding]:
    """Return the findings of a check of the labels."""
    if checked is None:
        return []
    findings = []
    if len(checked.wrong):
        findings.append(
            Finding(
                "labels",
                False,
                len(checked.wrong),
                describe_wrong_labels(
                    len(checked.wrong),
                    checked.n_likely,
                    checked.n_sure,
                    len(checked.ranked.held),
                    checked.file,
                ),
            )
        )
    if checked.twins:
        first = checked.twins[0]
        names = " and ".join(repr(sample.class_names[c]) for c in (first.first, first.second))
        findings.append(
            Finding(
                "twins",
                False,
                len(checked.twins),
                f"{len(checked.twins):,} "
                f"{'pair of classes is' if len(checked.twins) == 1 else 'pairs of classes are'} "
                "indistinguishable, and each pair may be one class. The most similar: "
                f"{names}.",
            )
        )
    return findings


def describe_wrong_labels(wrong: int, likely: int, sure: int, checked: int, file: Path) -> str:
    """Return sentences on how many labels may be wrong, how sure that is, and what to do.

    Parameters
    ----------
    wrong, likely, sure : labels that may be wrong, those likely wrong, and those very likely.
    checked : all labels.
    """
    listed = likely or wrong
    share = f"{listed:,} of {checked:,} labels ({100.0 * listed / checked:.1f} %)"
    if not likely:
        return (
            f"{share} {'differs' if wrong == 1 else 'differ'} from what cross-validated models "
            "are more confident in, but no more than expected of correct labels: none is likely "
            f"wrong. {file} lists them."
        )
    very = "very likely" if sure == likely else "likely"
    some = f", {sure:,} of them very likely" if 0 < sure < likely else ""
    others = f"{wrong - likely:,} more may be wrong. " if wrong > likely else ""
    return (
        f"{share} {'is' if likely == 1 else 'are'} {very} wrong{some}: cross-validated models "
        f"are more confident in another label. {others}Keep the lines of {file} that are "
        "correct, then train with --corrections."
    )


def list_suspects(
    fitted: Fitted, crossed: HeldScores | None, train: StoreRows, val: StoreRows | None
) -> list[dict[str, Any]]:
    """Return rows whose label may be wrong, the most certain first, for the report.

    They are among the rows that training held out in any case: rows of cross-validation, and
    validation rows.

    Parameters
    ----------
    fitted : a model, trained without the validation rows.
    crossed : scores of training rows by models that were trained without them.
    """
    calibration, store = fitted.calibration, train.store
    if calibration is None or store.sets is not None:
        return []
    parts = []
    if crossed is not None and crossed.numbers is not None:
        parts.append((crossed, train.chosen[crossed.numbers]))
    if val is not None and (held := score_held(fitted.model, val)) is not None:
        parts.append((held, val.chosen[np.flatnonzero(val.labels >= 0)[: len(held)]]))
    if not parts:
        return []
    probabilities = [
        HeldProbabilities.of(scores, numbers, calibration) for scores, numbers in parts
    ]
    ranked = rank_labels(HeldProbabilities.concatenate(probabilities), len(store.class_names))
    paths, names = store.paths, store.class_names
    # Rows of the same image, such as augmented ones, are listed once.
    listed: dict[Any, int] = {}
    for at in ranked.list_wrong().tolist():
        listed.setdefault(paths[ranked.held.numbers[at]] or at, at)
    return [
        {
            "sample": paths[ranked.held.numbers[at]] or None,
            "given": names[ranked.held.labels[at]],
            "suggested": names[ranked.suggested[at]],
            "probability": 100.0 * float(min(ranked.alternative[at], 1.0)),
        }
        for at in list(listed.values())[:MOST_SUSPECTS]
    ]
