"""Scores of a block of rows: threads compute a shard of classes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.measures import rank_all_labels
from myriad.panels import multiply_transposed, pack_rows
from myriad.parallel import ThreadPool
from myriad.store import Rows
from myriad.training.engine.shards import class_shards
from myriad.training.validation import truths_of

SHARD = 256
"""Classes of one product: it fixes the bits of the scores, whatever the number of threads."""
PACKED_ROWS = 128
"""Rows that are packed at a time: they stay in the cache while all weights are read."""
TASK = 96
"""Classes that one thread scores at a time: whole tiles, whose bits are the same in any shard."""


def score_block(X: NDArray[Any], V: NDArray[Any], pool: ThreadPool | None) -> NDArray[Any]:
    """Return ``X V^T``, computed a shard of classes at a time."""
    S = np.empty((len(X), len(V)), V.dtype)

    @np.errstate(over="ignore", invalid="ignore")
    def score(shard: slice) -> None:
        np.matmul(X, V[shard].T, out=S[:, shard])

    share(pool, score, class_shards(len(V), SHARD))
    return S


def score_panels(
    panels: NDArray[Any], n_rows: int, V: NDArray[Any], pool: ThreadPool | None
) -> NDArray[Any]:
    """Return ``X V^T`` of rows that are packed, computed a shard of classes at a time."""
    S = np.empty((n_rows, len(V)), V.dtype)

    def score(first: int) -> None:
        multiply_transposed(V[first : first + size], panels, S, first)

    size = len(V) if pool is None or pool.threads == 1 else TASK
    share(pool, score, range(0, len(V), size))
    return S


def score_rows(X: NDArray[Any], V: NDArray[Any]) -> NDArray[Any]:
    """Return ``X V^T`` of many rows in this thread, by tiles."""
    S = np.empty((len(X), len(V)), V.dtype)
    for first in range(0, len(X), PACKED_ROWS):
        part = slice(first, first + PACKED_ROWS)
        multiply_transposed(V, pack_rows(X[part]), S[part], 0)
    return S


def share(pool: ThreadPool | None, function: Callable[[Any], None], shards: Sequence[Any]) -> None:
    """Call a function with each shard, on the threads of a pool; in this thread if it is None."""
    if pool is not None:
        pool.share(function, shards)
        return
    for shard in shards:
        function(shard)


@dataclass(frozen=True, eq=False)
class Scorer:
    """Stored weights of a shard of classes of one setting: scores are ``scale (V x) + bias``.

    Classes are scored a shard at a time, whose bounds depend on their number alone: so scores are
    the same, bit for bit, wherever the weights are kept.

    Attributes
    ----------
    classes : the shard.
    V : float array of shape (m, n_features).
    scales, biases : float32 arrays of shape (m,).
    """

    classes: slice
    V: NDArray[Any]
    scales: NDArray[np.float32]
    biases: NDArray[np.float32]

    def score(self, X: NDArray[np.float32], scores: NDArray[np.float32]) -> None:
        """Fill the columns of `scores`, of shape (n_samples, n_classes), of these classes."""
        part = scores[:, self.classes]
        np.matmul(X, self.V.T, out=part)
        part *= self.scales
        part += self.biases


@np.errstate(over="ignore", invalid="ignore")
def rank_range(
    scorers: Sequence[Sequence[Scorer]], rows: Rows, some: range, n_classes: int
) -> NDArray[np.int32]:
    """Return the ranks of the true labels of a range of rows, of shape (n_settings, m).

    Parameters
    ----------
    scorers : of each setting, those of all classes.
    """
    X, truths = rows.read(some), truths_of(rows, some)
    ranks = np.empty((len(scorers), len(some)), np.int32)
    scores = np.empty((len(some), n_classes), np.float32)
    for number, shards in enumerate(scorers):
        for shard in shards:
            shard.score(X, scores)
        ranks[number] = rank_all_labels(scores, truths)
    return ranks
