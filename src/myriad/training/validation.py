"""Held-out accuracy of trainers and models, scored against all classes.

The rows that are scored by one product are stated by the model or trainer: a product of another
shape may round differently, so a number of rows that depended on the number of threads would
change the last bits of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.images.splitting import draw_groups
from myriad.measures import LabelSets, Measures, Truths, measure, rank_all_labels
from myriad.models import Model
from myriad.parallel import ThreadPool
from myriad.randomness import generator
from myriad.store import Rows

BLOCK_ROWS, BLOCK_BYTES = 1024, 16 << 20
"""Most held-out rows that are ranked at a time, and most bytes of their features or scores."""


class Ranker(Protocol):
    """Ranks the true labels of held-out rows: a trainer, or a `ModelRanker`."""

    @property
    def n_classes(self) -> int:
        """The number of classes that are ranked."""

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels, of shape (n_settings, n_rows)."""


def validate(ranker: Ranker, rows: Rows, *, pool: ThreadPool) -> list[Measures]:
    """Return the accuracies on held-out rows, one entry for each setting that is trained.

    Rows of several labels are ranked by `rank_all_labels`.
    """
    truths: Truths = rows.labels if rows.sets is None else rows.sets
    ranks = ranker.rank(rows, pool=pool)
    return [measure(some, truths, n_classes=ranker.n_classes) for some in ranks]


def count_block_rows(
    dim: int, n_classes: int, *, most: int = BLOCK_ROWS, most_bytes: int = BLOCK_BYTES
) -> int:
    """Return the number of held-out rows to rank at a time."""
    return max(1, min(most, most_bytes // (4 * max(dim, n_classes))))


def cut_ranges(rows: Rows, size: int) -> list[range]:
    """Return the ranges of rows to rank at a time."""
    starts = range(0, rows.n_rows, size)
    return [range(start, min(start + size, rows.n_rows)) for start in starts]


def truths_of(rows: Rows, some: range) -> Truths:
    """Return the true label, or the set of labels, of each row of a range."""
    part = slice(some.start, some.stop)
    return rows.labels[part] if rows.sets is None else rows.sets.part(part)


def rank_ranges(
    rank: Callable[[range], NDArray[np.int32]],
    rows: Rows,
    *,
    n_settings: int,
    size: int,
    pool: ThreadPool,
) -> NDArray[np.int32]:
    """Return the ranks of the true labels, of shape (n_settings, n_rows).

    Parameters
    ----------
    rank : returns those of a range of rows, of shape (n_settings, m); called from all threads.
    size : rows of a range.
    """
    ranks = np.empty((n_settings, rows.n_rows), np.int32)

    def fill(some: range) -> None:
        ranks[:, some.start : some.stop] = rank(some)

    pool.share(fill, cut_ranges(rows, size))
    return ranks


@dataclass(frozen=True)
class ModelRanker:
    """Ranks by a model.

    Attributes
    ----------
    model : the model.
    size : rows that are ranked at a time.
    """

    model: Model
    size: int = BLOCK_ROWS

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.model.n_classes

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels, of shape (1, n_rows)."""

        def rank(some: range) -> NDArray[Any]:
            X, truths = rows.read(some).astype(np.float32, copy=False), truths_of(rows, some)
            if isinstance(truths, LabelSets):
                return rank_all_labels(self.model.scores(X), truths)[None]
            return self.model.rank_true_labels(X, truths)[0][None]

        return rank_ranges(rank, rows, n_settings=1, size=self.size, pool=pool)


def hold_out(rows: Rows, fraction: float, *, seed: int) -> tuple[Rows, Rows | None]:
    """Split off a fraction of the rows of each class for validation.

    A class with one row stays in training, and so do rows without a label. Returns the rows to
    train on and the held-out ones, None where no class can spare a row. Rows of a group stay
    together.
    """
    order = generator(seed, "hold out").permutation(rows.n_rows)
    order = order[rows.labels[order] >= 0]
    labels = rows.labels[order]
    by_class = order[np.argsort(labels, kind="stable")]
    sizes = np.bincount(labels)
    spared = np.minimum(np.ceil(fraction * sizes), sizes - 1).clip(0).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    if rows.groups is None:
        ranges = zip(starts, spared, strict=True)
        held = np.concatenate([by_class[s : s + n] for s, n in ranges] or [by_class[:0]])
    else:
        held = order[draw_groups(labels, rows.groups[order], np.arange(len(order)), spared[labels])]
    if len(held) == 0:
        return rows, None
    kept = np.setdiff1d(np.arange(rows.n_rows), held)
    return rows.select(kept), rows.select(np.sort(held))
