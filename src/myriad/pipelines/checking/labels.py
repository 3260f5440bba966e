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
from myriad.progress import Progress
from myriad.store import ArrayRows, Rows, StoreRows
from myriad.training import Automatic, Context, Fitted
from myriad.training.calibrating import score_held

MOST_SUSPECTS = 100
"""Labels that are probably wrong which the evidence of a model keeps."""


@dataclass(frozen=True, eq=False)
class CheckedLabels:
    """Labels that are probably wrong.

    Attributes
    ----------
    ranked : all labels, ranked.
    wrong : int64, positions in it of those that are probably wrong, the most certain first.
    twins : pairs of classes that are probably duplicates.
    file : the CSV file with suggested labels.
    """

    ranked: RankedLabels
    wrong: NDArray[np.int64]
    twins: list[TwinClasses]
    file: Path

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
    *,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> CheckedLabels:
    """Rank the labels of all rows, and write those that are probably wrong to a CSV file.

    Parameters
    ----------
    kept : which rows may be listed; a fixed manifest lacks the others.
    """
    method = Automatic(seed=seed, search="quick")
    context = Context(threads=threads, progress=progress)
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
    findings, n_wrong = [], len(checked.wrong)
    ranked = checked.ranked
    certain = (int(ranked.likely[checked.wrong].sum()), int(ranked.sure[checked.wrong].sum()))
    if n_wrong:
        share = 100.0 * n_wrong / len(ranked.held)
        findings.append(
            Finding(
                "labels",
                False,
                n_wrong,
                f"{n_wrong:,} of {len(ranked.held):,} labels ({share:.1f} %) may be wrong: "
                "cross-validated models are more confident in another label. "
                f"{count_certain(*certain)}Keep the lines of {checked.file} that are correct, "
                "then train with --corrections.",
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
                f"{len(checked.twins):,} {'pair' if len(checked.twins) == 1 else 'pairs'} of "
                f"classes are indistinguishable and may be duplicates, the first is "
                f"{names}.",
            )
        )
    return findings


def count_certain(likely: int, sure: int) -> str:
    """Return a sentence on how many labels are likely wrong, and how many of these very likely."""
    if not likely:
        return ""
    verb = "is" if likely == 1 else "are"
    if not sure:
        return f"{likely:,} {verb} likely wrong. "
    if sure == likely:
        return f"{likely:,} {verb} very likely wrong. "
    return f"{likely:,} {verb} likely wrong, {sure:,} of them very likely. "


def list_suspects(
    fitted: Fitted, crossed: HeldScores | None, train: StoreRows, val: StoreRows | None
) -> list[dict[str, Any]]:
    """Return rows whose label is probably wrong, the most certain first, for the report.

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
    found = [HeldProbabilities.of(scores, numbers, calibration) for scores, numbers in parts]
    ranked = rank_labels(HeldProbabilities.concatenate(found), len(store.class_names))
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
