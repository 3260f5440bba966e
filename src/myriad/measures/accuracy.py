"""Top-k accuracy, as a mean over samples [HM] and as a mean over the classes present [GP].

Everything here follows from one value per row, the rank of its true class. Ties count against the
classifier: a score equal to that of the truth ranks before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.errors import InputError
from myriad.measures.label_sets import LabelSets
from myriad.measures.precision import ClassPrecisions

DEPTH = 10
"""Accuracies are reported at k = 1 to 10."""

UNKNOWN = np.iinfo(np.int32).max
"""The rank of a label that the model does not know: beyond every k."""


@jit
def ranks_of_truth(scores, labels):
    """Return the rank of each row's true class, 1 for the best.

    Parameters
    ----------
    scores : float array of shape (n_samples, n_classes)
    labels : int32 array of shape (n_samples,); -1 for a class the model does not know.

    Returns
    -------
    int32 array of shape (n_samples,); `UNKNOWN` where the label is -1 or a score is NaN.
    """
    n_samples, n_classes = scores.shape
    ranks = np.empty(n_samples, np.int32)
    for i in range(n_samples):
        label = labels[i]
        if label < 0 or np.isnan(scores[i, label]):
            ranks[i] = UNKNOWN
            continue
        # Ties count against the classifier; the label itself is counted, so the best rank is 1.
        truth = scores[i, label]
        better = 0
        for c in range(n_classes):
            better += scores[i, c] >= truth
        ranks[i] = better
    return ranks


@jit
def ranks_of_sets(scores, starts, classes):
    """Return the rank of each row's best true class among the classes that are not true.

    Parameters
    ----------
    scores : float array of shape (n_samples, n_classes)
    starts, classes : the true classes of the rows; see `LabelSets`.

    Returns
    -------
    int32 array of shape (n_samples,); `UNKNOWN` for a row without a class or with a NaN for one.
    """
    n_samples, n_classes = scores.shape
    ranks = np.empty(n_samples, np.int32)
    for i in range(n_samples):
        labels = classes[starts[i] : starts[i + 1]]
        truth = -np.inf
        for c in labels:
            truth = max(truth, scores[i, c])
        if len(labels) == 0 or np.isnan(truth):
            ranks[i] = UNKNOWN
            continue
        # Counted over all classes without a branch; the row's other labels are taken out below.
        better = 1
        for c in range(n_classes):
            better += scores[i, c] >= truth
        for c in labels:
            better -= scores[i, c] >= truth
        ranks[i] = better
    return ranks


Truths = NDArray[np.int32] | LabelSets


def select_truths(truths: Truths, index: NDArray[np.int64]) -> Truths:
    """Return the true labels of some rows."""
    return truths.select(index) if isinstance(truths, LabelSets) else truths[index]


def rank_truths(scores: NDArray[Any], truths: Truths) -> NDArray[np.int32]:
    """Return the rank of each row's label, or of the best of its labels [HM, 8.4].

    Raises `InputError` unless there is a label for each row and a score for each label.
    """
    if len(truths) != len(scores):
        raise InputError(f"{len(scores)} rows need as many true classes, not {len(truths)}.")
    classes = truths.classes if isinstance(truths, LabelSets) else truths
    if classes.max(initial=-1) >= scores.shape[1]:
        raise InputError(
            f"A true class is number {classes.max()}, but there are {scores.shape[1]} classes."
        )
    if isinstance(truths, LabelSets):
        return ranks_of_sets(scores, truths.starts, truths.classes)
    return ranks_of_truth(scores, truths)


@np.errstate(invalid="ignore")
def rank_all_labels(scores: NDArray[Any], truths: Truths) -> NDArray[np.int32]:
    """Return the rank of each row's label, or of the worst of its labels among other classes.

    A row of several labels has the rank 1 if all of them are above all other classes. Models are
    chosen by this one: the best of several labels is first even where a model knows only the
    frequent ones.
    """
    if not isinstance(truths, LabelSets):
        return rank_truths(scores, truths)
    rows = np.repeat(np.arange(len(truths)), truths.sizes)
    worst = np.full(len(truths), np.inf, scores.dtype)
    np.minimum.at(worst, rows, scores[rows, truths.classes])
    # The labels themselves are at least as good as the worst of them, and do not count.
    ranks = (scores >= worst[:, None]).sum(axis=1) + 1 - truths.sizes
    ranks[(truths.sizes == 0) | np.isnan(worst)] = UNKNOWN
    return ranks.astype(np.int32)


@dataclass(frozen=True)
class Measures:
    """How well rows were ranked; every accuracy is a percentage, or None where no row was scored.

    Attributes
    ----------
    n : rows scored.
    bad : rows that could not be scored (bad images).
    unknown : rows whose class the model does not know; they count as wrong.
    classes : how many classes the model knows.
    sample_at, class_at : accuracy at k = 1..10 over samples, and as the mean over classes present.
        A row of several classes is right if any of them is among the k, and counts for each.
    map, map11 : mean average precision over the classes present, as an area and by the eleven
        points of VOC; None unless rows have several labels.
    """

    n: int
    bad: int
    unknown: int
    classes: int
    sample_at: tuple[float | None, ...]
    class_at: tuple[float | None, ...]
    seconds: float = 0.0
    map: float | None = None
    map11: float | None = None

    def at(self, k: int) -> float:
        """Return the accuracy over samples at `k`, 0 where nothing was scored."""
        return self.sample_at[k - 1] or 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the keys that every evaluation reports."""
        return {
            "n": self.n,
            "bad": self.bad,
            "unknown": self.unknown,
            "classes": self.classes,
            "top1": self.sample_at[0],
            "top5": self.sample_at[4],
            "class_top1": self.class_at[0],
            "class_top5": self.class_at[4],
            "accuracy_at": {str(k): self.sample_at[k - 1] for k in range(1, DEPTH + 1)},
            "map": self.map,
            "map11": self.map11,
            "seconds": round(self.seconds, 3),
        }


def measure(
    ranks: NDArray[np.int32],
    truths: Truths,
    *,
    n_classes: int,
    bad: int = 0,
    seconds: float = 0.0,
    precisions: ClassPrecisions | None = None,
) -> Measures:
    """Compute accuracies from ranks.

    Parameters
    ----------
    ranks : the rank of each row's truth, `UNKNOWN` where the model does not know the class.
    truths : a number for each row's true class, unknown classes having numbers of their own, so
        that the mean over classes counts them as classes that are always wrong. With several
        classes per row, rows without one are left out.
    n_classes : how many classes the model knows; accuracy at k beyond it is that at `n_classes`.
    precisions : average precisions, where rows have several classes.
    """
    by_row = np.arange(len(ranks))
    if isinstance(truths, LabelSets):
        some = np.flatnonzero(truths.sizes)
        ranks, truths = ranks[some], truths.select(some)
        by_row = np.repeat(np.arange(len(ranks)), truths.sizes)
    classes = truths.classes if isinstance(truths, LabelSets) else truths
    n = len(ranks)
    unknown = int(np.count_nonzero(ranks == UNKNOWN))
    nothing: tuple[float | None, ...] = (None,) * DEPTH
    sample_at = class_at = nothing
    if n:
        hits = ranks[:, None] <= np.minimum(np.arange(1, DEPTH + 1), n_classes)[None, :]
        sample_at = tuple(float(v) for v in 100.0 * hits.mean(axis=0, dtype=np.float64))
        _, present = np.unique(classes, return_inverse=True)
        sizes = np.bincount(present)
        by_class = [np.bincount(present, weights=column[by_row]) / sizes for column in hits.T]
        class_at = tuple(float(100.0 * column.mean()) for column in by_class)
    means = (None, None) if precisions is None else precisions.means()
    return Measures(n, bad, unknown, n_classes, sample_at, class_at, seconds, *means)
