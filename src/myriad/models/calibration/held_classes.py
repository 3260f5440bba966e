"""Held-out scores of a model whose classes change: some are added, left out or merged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models.calibration.held_scores import HeldScores


def rank_held(held: HeldScores) -> Ints:
    """Return the rank of the true class of each row, 1 for the best; ties count against it."""
    better = (held.scores >= held.true[:, None]) & (held.classes != held.labels[:, None])
    beyond = np.where(held.rest_scores >= held.true[:, None], held.rest_counts, 0)
    listed = (held.classes == held.labels[:, None]).any(axis=1)
    ranks = 1 + better.sum(axis=1) + np.where(listed, 0, beyond.sum(axis=1) - 1)
    return np.maximum(ranks, 1).astype(np.int32)


def relabel_held(held: HeldScores, labels: Ints) -> HeldScores:
    """Return the scores with another label for each class; see `Model.relabelled`.

    Rows of a class that is left out are left out too. The score of merged classes is the highest
    of theirs. Classes whose scores are kept in groups only cannot be separated, and stay there.
    """
    held = held.select(np.flatnonzero(labels[held.labels] >= 0))
    own, classes = labels[held.labels], labels[held.classes]
    kept = classes >= 0
    for column in range(1, classes.shape[1]):
        # Scores are in descending order: of merged classes the first one counts.
        before = classes[:, :column] == classes[:, column : column + 1]
        kept[:, column] &= ~before.any(axis=1)
    true = np.where(classes == own[:, None], held.scores, -np.inf).max(axis=1, initial=-np.inf)
    true = np.maximum(true, held.true)
    return pack(own, true, classes, held.scores, kept, held.rest_scores, held.rest_counts)


def add_classes(held: HeldScores, scores: Float, first: int) -> HeldScores:
    """Return the scores with those of more classes, whose numbers begin with `first`.

    Parameters
    ----------
    scores : float32 array of shape (n_rows, n_more).
    """
    more = first + np.arange(scores.shape[1], dtype=np.int32)
    numbers = np.broadcast_to(more, scores.shape)
    classes = np.concatenate([held.classes, numbers], axis=1)
    every = np.concatenate([held.scores, scores], axis=1)
    kept = np.ones(every.shape, bool)
    return pack(held.labels, held.true, classes, every, kept, held.rest_scores, held.rest_counts)


def pack(
    labels: Ints,
    true: Float,
    classes: Ints,
    scores: Float,
    kept: NDArray[np.bool_],
    rest_scores: Float,
    rest_counts: Float,
) -> HeldScores:
    """Return the scores marked as kept, best first, with the same number of classes in each row.

    Further classes of a row become groups of one class.
    """
    order = np.argsort(np.where(kept, -scores, np.inf), axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    classes = np.take_along_axis(classes, order, axis=1)
    k = int(kept.sum(axis=1).min(initial=kept.shape[1]))
    more = slice(k, int(kept.sum(axis=1).max(initial=0)))
    rest_scores = np.concatenate([rest_scores, np.where(kept[:, more], scores[:, more], 0)], axis=1)
    rest_counts = np.concatenate([rest_counts, kept[:, more]], axis=1)
    return HeldScores(
        labels.astype(np.int32),
        true.astype(np.float32),
        np.ascontiguousarray(classes[:, :k], np.int32),
        np.ascontiguousarray(scores[:, :k], np.float32),
        rest_scores.astype(np.float32),
        rest_counts.astype(np.float32),
    )


def join_held(parts: list[HeldScores]) -> HeldScores:
    """Return several sets of rows as one; they may keep different numbers of classes."""
    k = min(part.classes.shape[1] for part in parts)
    width = max(part.rest_scores.shape[1] + part.classes.shape[1] - k for part in parts)
    even = []
    for part in parts:
        means = np.concatenate([part.rest_scores, part.scores[:, k:]], axis=1)
        counts = np.concatenate([part.rest_counts, np.ones_like(part.scores[:, k:])], axis=1)
        missing = ((0, 0), (0, width - means.shape[1]))
        even.append(
            HeldScores(
                part.labels,
                part.true,
                part.classes[:, :k],
                part.scores[:, :k],
                np.pad(means, missing),
                np.pad(counts, missing),
            )
        )
    return HeldScores.concatenate(even)
