"""Measures of answers other than one label: prediction sets, "unknown", levels of a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE_BOUNDS = (1, 2, 5, 10, 20, 50)
"""Upper bounds of the groups in which the sizes of sets are counted."""


def measure_sets(
    sizes: NDArray[np.int64], covered: NDArray[np.bool_], ranks: NDArray[np.int32]
) -> dict[str, Any] | None:
    """Return coverage and sizes of prediction sets; None without rows.

    Parameters
    ----------
    sizes : the number of classes in the set of each row.
    covered : whether the true class is in it.
    ranks : the rank of the true class, for comparison with sets of the same size for all rows.
    """
    if len(sizes) == 0:
        return None
    mean = float(sizes.mean())
    same = max(1, round(mean))
    groups = np.digitize(sizes, SIZE_BOUNDS, right=True)
    counts = np.bincount(groups, minlength=len(SIZE_BOUNDS) + 1)
    lows = [1, *(bound + 1 for bound in SIZE_BOUNDS)]
    names = [
        f"{low}" if low == high else f"{low}-{high}"
        for low, high in zip(lows, SIZE_BOUNDS, strict=False)
    ]
    names.append(f"{lows[-1]}+")
    shares = (100.0 * counts / len(sizes)).tolist()
    return {
        "coverage": 100.0 * float(covered.mean()),
        "mean_size": mean,
        "median_size": float(np.median(sizes)),
        "sizes": {name: share for name, share in zip(names, shares, strict=True) if share > 0},
        "top_k": {"k": same, "coverage": 100.0 * float((ranks <= same).mean())},
    }


def measure_rejection(
    answered: NDArray[np.bool_], correct: NDArray[np.bool_]
) -> dict[str, Any] | None:
    """Return how many rows have an answer, and how many answers are right, in percent."""
    if len(answered) == 0:
        return None
    precision = 100.0 * float(correct[answered].mean()) if answered.any() else None
    return {"answered": 100.0 * float(answered.mean()), "precision": precision}


def measure_labels(
    right: NDArray[np.int64], given: NDArray[np.int64], present: NDArray[np.int64], n_rows: int
) -> dict[str, Any] | None:
    """Return precision, recall and F1 of the labels given to rows, which may have several, in %.

    ``micro`` counts all labels together, ``macro`` is the mean over the labels that rows have; a
    label that is never given has the precision 0.

    Parameters
    ----------
    right, given, present : int64 arrays of shape (n_classes,), in how many rows each label is given
        rightly, is given, and is true.
    """
    if n_rows == 0 or present.sum() == 0:
        return None
    known = present > 0
    each = _rate(right[known], given[known], present[known])
    return {
        "micro": {name: float(value[0]) for name, value in _rate(*_total(right, given, present))},
        "macro": {name: float(value.mean()) for name, value in each},
        "given": float(given.sum() / n_rows),
        "present": float(present.sum() / n_rows),
    }


def list_labels(
    names: Sequence[str],
    right: NDArray[np.int64],
    given: NDArray[np.int64],
    present: NDArray[np.int64],
    precisions: NDArray[np.float64],
) -> list[dict[str, Any]]:
    """Return precision, recall and F1 of each label, in %; None where they are not defined.

    Parameters
    ----------
    names : of the labels.
    right, given, present : as for `measure_labels`.
    precisions : float64 array of shape (n_classes,), average precisions in percent; NaN for none.
    """
    divisors = {"precision": given, "recall": present, "f1": given + present}
    columns = {
        name: np.where(divisors[name] > 0, values, np.nan)
        for name, values in _rate(right, given, present)
    } | {"average_precision": precisions}
    return [
        {"label": name, "present": int(present[c]), "given": int(given[c])}
        | {
            key: None if np.isnan(values[c]) else float(values[c])
            for key, values in columns.items()
        }
        for c, name in enumerate(names)
    ]


def _total(*counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [count.sum(keepdims=True) for count in counts]


def _rate(
    right: NDArray[np.int64], given: NDArray[np.int64], present: NDArray[np.int64]
) -> list[tuple[str, NDArray[np.float64]]]:
    """Return precision, recall and F1 in percent."""
    return [
        ("precision", 100.0 * right / np.maximum(given, 1)),
        ("recall", 100.0 * right / np.maximum(present, 1)),
        ("f1", 200.0 * right / np.maximum(given + present, 1)),
    ]


def measure_levels(
    names: Sequence[str],
    right: Sequence[NDArray[np.bool_]],
    levels: NDArray[np.int64],
    answers_right: NDArray[np.bool_],
) -> list[dict[str, Any]]:
    """Return for each level its accuracy, how many answers it gives, and how many are right.

    Parameters
    ----------
    names : of the levels, from the classes to the coarsest.
    right : for each level, whether its best group is the right one.
    levels : the level of the answer of each row, -1 for none.
    answers_right : whether that answer is right.
    """
    found = []
    for number, (name, correct) in enumerate(zip(names, right, strict=True)):
        here = levels == number
        found.append(
            {
                "level": name,
                "accuracy": 100.0 * float(correct.mean()) if len(correct) else None,
                "answered": 100.0 * float(here.mean()) if len(here) else None,
                "precision": 100.0 * float(answers_right[here].mean()) if here.any() else None,
            }
        )
    return found
