"""Scores of a block of rows, computed by the threads of a pool: a shard of classes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.panels import multiply_transposed
from myriad.parallel import ThreadPool
from myriad.training.engine.linear_trainer import class_shards

SHARD = 256
"""Classes of one product: it fixes the bits of the scores, whatever the number of threads."""
TASK = 96
"""Classes that one thread scores at a time: whole tiles, which have the same bits in any shard."""


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
    """Return ``X V^T`` of packed rows (see `panels`), computed a range of classes at a time."""
    S = np.empty((n_rows, len(V)), V.dtype)

    def score(first: int) -> None:
        multiply_transposed(V[first : first + size], panels, S, first)

    size = len(V) if pool is None or pool.threads == 1 else TASK
    share(pool, score, range(0, len(V), size))
    return S


def share(pool: ThreadPool | None, function: Callable[[Any], None], shards: Sequence[Any]) -> None:
    """Call a function with every shard, from the threads of a pool if there is one."""
    if pool is not None:
        pool.share(function, shards)
        return
    for shard in shards:
        function(shard)
