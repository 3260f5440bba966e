"""Held-out accuracy of weights in training, scored against all classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.measures import Measures, Truths, measure, rank_truths
from myriad.parallel import ThreadPool
from myriad.store import Rows

if TYPE_CHECKING:
    from myriad.training.trainer import Trainer

BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class Scorer:
    """Stored weights of some classes of a setting: scores are ``scale (V x) + bias``.

    Classes are scored a shard at a time, whose bounds depend on their number alone: so scores are
    the same, bit for bit, wherever the weights are kept.
    """

    classes: slice
    V: NDArray[Any]
    scales: NDArray[np.float32]
    biases: NDArray[np.float32]

    def score(self, X: NDArray[np.float32], scores: NDArray[np.float32]) -> None:
        """Fill the columns of `scores` (n_samples, n_classes) that belong to the classes."""
        part = scores[:, self.classes]
        np.matmul(X, self.V.T, out=part)
        part *= self.scales
        part += self.biases


def validate(training: Trainer, rows: Rows, *, pool: ThreadPool) -> list[Measures]:
    """Return the measures of every setting in training on held-out rows."""
    known = rows.labels if rows.sets is None else rows.sets
    ranks = training.rank(rows, pool=pool)
    return [measure(r, known, n_classes=training.n_classes) for r in ranks]


def cut_ranges(rows: Rows, n_classes: int) -> list[range]:
    """Return the ranges of rows that are ranked at a time; the number of threads is no matter."""
    size = max(1, min(1024, BLOCK_BYTES // (4 * max(rows.dim, n_classes))))
    starts = range(0, rows.n_rows, size)
    return [range(start, min(start + size, rows.n_rows)) for start in starts]


@np.errstate(over="ignore", invalid="ignore")
def rank_range(
    scorers: Sequence[Sequence[Scorer]], rows: Rows, some: range, n_classes: int
) -> NDArray[np.int32]:
    """Return the ranks of the truths of a range of rows, (n_settings, m).

    Parameters
    ----------
    scorers : of each setting, those of all classes.
    """
    X = rows.read(some)
    truths: Truths = rows.labels[some.start : some.stop]
    if rows.sets is not None:
        truths = rows.sets.part(slice(some.start, some.stop))
    ranks = np.empty((len(scorers), len(some)), np.int32)
    scores = np.empty((len(some), n_classes), np.float32)
    for number, parts in enumerate(scorers):
        for part in parts:
            part.score(X, scores)
        ranks[number] = rank_truths(scores, truths)
    return ranks
