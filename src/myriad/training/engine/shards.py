"""Class shards: ranges of classes whose bounds depend on the number of classes alone.

Threads and workers take shards. Since the bounds depend neither on the number of threads nor on
that of workers, products have the same shapes everywhere, and results the same bits.
"""

from __future__ import annotations

from itertools import pairwise

TILE = 8
"""Shards have a multiple of this many classes, whatever the height of a tile on this processor."""
SCORED_SHARD = 96
"""Classes for which one product scores held-out rows."""


def class_shards(n_classes: int, most: int) -> list[slice]:
    """Return shards of nearly equal size, of at most `most` classes each.

    All shards but the last are whole tiles of products, if `most` is.
    """
    n_shards = max(1, -(-n_classes // most))
    size = min(most, max(1, -(-n_classes // (n_shards * TILE))) * TILE)
    return [slice(start, min(start + size, n_classes)) for start in range(0, n_classes, size)]


def scored_shards(n_classes: int) -> list[slice]:
    """Return the shards for which held-out rows are scored: two shards of training each.

    So they end where shards of training do, and classes can be cut there for workers.
    """
    starts = [shard.start for shard in class_shards(n_classes, SCORED_SHARD // 2)][::2]
    return [slice(*ends) for ends in pairwise([*starts, n_classes])]
