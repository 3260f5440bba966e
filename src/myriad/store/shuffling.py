"""The order in which an epoch visits rows: random, yet kind to the disk.

Rows lie in groups (shards, or runs of an array). Each epoch draws an order of the groups, cuts it
into windows, and within a window visits the rows in random order: every row once, while only one
window of groups has to be in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from myriad.randomness import generator

WINDOW_BYTES = 512 << 20
WINDOW_GROUPS = 64


def window_size(group_bytes: int, most: int = WINDOW_GROUPS) -> int:
    """Return how many groups of so many bytes make a window."""
    return max(1, min(most, WINDOW_BYTES // max(1, group_bytes)))


def shuffle_groups(
    groups: Sequence[NDArray[np.int64]], window: int, *, seed: int, epoch: int
) -> NDArray[np.int64]:
    """Return the indices in `groups` in the order of one epoch.

    Parameters
    ----------
    groups : the indices of the rows that lie together.
    window : how many groups are mixed with each other.
    """
    random = generator(seed, f"row order of epoch {epoch}")
    order = random.permutation(len(groups))
    mixed = [
        random.permutation(np.concatenate([groups[g] for g in order[start : start + window]]))
        for start in range(0, len(order), window)
    ]
    return np.concatenate(mixed) if mixed else np.empty(0, np.int64)
