"""Scores of a block of rows, made by the threads of a team: a shard of classes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.panels import multiply_turned
from myriad.parallel import ThreadPool
from myriad.training.engine.linear_trainer import class_shards

SHARD = 256
"""Classes that one product scores."""
PIECE = 96
"""Classes that one thread scores at a time: whole tiles, which have the same bits in any shard."""


def score_block(X: NDArray[Any], V: NDArray[Any], pool: ThreadPool | None) -> NDArray[Any]:
    """Return ``X V^T``, made a shard of classes at a time."""
    S = np.empty((len(X), len(V)), V.dtype)

    @np.errstate(over="ignore", invalid="ignore")
    def score(shard: slice) -> None:
        np.matmul(X, V[shard].T, out=S[:, shard])

    share(pool, score, class_shards(len(V), SHARD))
    return S


def score_panels(
    panels: NDArray[Any], n_rows: int, V: NDArray[Any], pool: ThreadPool | None
) -> NDArray[Any]:
    """Return ``X V^T`` of rows that are packed, made a shard of classes at a time."""
    S = np.empty((n_rows, len(V)), V.dtype)

    def score(first: int) -> None:
        multiply_turned(V[first : first + size], panels, S, first)

    size = len(V) if pool is None or pool.threads == 1 else PIECE
    share(pool, score, range(0, len(V), size))
    return S


def share(pool: ThreadPool | None, function: Callable[[Any], None], shards: Sequence[Any]) -> None:
    """Let a team work through shards, or do it here where the team has other work."""
    if pool is not None:
        pool.share(function, shards)
        return
    for shard in shards:
        function(shard)
