"""Confusions between classes, and measures that count some errors less than others.

Confusions are counted sparsely: C x C counts are never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Confusion:
    """How many rows of class `truth` were predicted as class `predicted`, and one such row."""

    truth: int
    predicted: int
    count: int
    row: int


def count_confusions(
    truths: NDArray[np.int32], predictions: NDArray[np.int32], *, n_classes: int
) -> list[Confusion]:
    """Return every confused pair, most frequent first (then by class number).

    Parameters
    ----------
    truths, predictions : int32 arrays of shape (n_samples,); rows with a truth of -1 are left out.
    """
    rows = np.flatnonzero((truths != predictions) & (truths >= 0))
    keys = truths[rows].astype(np.int64) * n_classes + predictions[rows]
    pairs, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.lexsort((pairs, -counts))
    return [
        Confusion(
            truth=int(pairs[o] // n_classes),
            predicted=int(pairs[o] % n_classes),
            count=int(counts[o]),
            row=int(rows[first[o]]),
        )
        for o in order
    ]


def class_confusion(truths: NDArray[np.int32], predictions: NDArray[np.int32]) -> float | None:
    """Return the mean class-confusion loss in percent [HM, Eq. 7]; None without a known class.

    An error counts as the fraction of its class's rows that are *not* predicted as the same wrong
    class: a single error of a class counts nearly 1, each error of a class that is always predicted
    as its twin nearly 0. The mean lies between 0 and 100 minus the accuracy over the same rows.

    Parameters
    ----------
    truths, predictions : int32 arrays of shape (n_samples,); rows with a truth of -1 are left out.
    """
    known = truths >= 0
    truths, predictions = truths[known].astype(np.int64), predictions[known].astype(np.int64)
    if len(truths) == 0:
        return None
    sizes = np.bincount(truths)
    wrong = truths != predictions
    width = int(predictions.max()) + 1
    pairs, counts = np.unique(truths[wrong] * width + predictions[wrong], return_counts=True)
    losses = counts * (1.0 - counts / sizes[pairs // width])
    return float(100.0 * losses.sum() / len(truths))


def sibling_precision(
    truths: NDArray[np.int32], ranked: NDArray[np.int32], parents: NDArray[np.int32]
) -> float | None:
    """Return the mean sibling precision in percent [HM, 10]; None without a known class.

    Of the k best classes of a row, it is the fraction that are its class or siblings of it (classes
    with the same parent in a hierarchy), relative to the largest fraction possible.

    Parameters
    ----------
    truths : int32 array of shape (n_samples,); rows with a truth of -1 are left out.
    ranked : int32 array of shape (n_samples, k), the best classes of each row.
    parents : int32 array of shape (n_classes,), a number for the parent of each class.
    """
    known = truths >= 0
    truths, ranked = truths[known], ranked[known]
    if len(truths) == 0:
        return None
    _, families, sizes = np.unique(parents, return_inverse=True, return_counts=True)
    hits = (families[ranked] == families[truths][:, None]).sum(axis=1)
    most = np.minimum(ranked.shape[1], sizes[families[truths]])
    return float(100.0 * (hits / most).mean())
