"""Connected components: pairs of items become groups."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class Components:
    """Groups of items that pairs connect, kept as a forest (union-find).

    Parameters
    ----------
    n_items : number of items; at first each is a group by itself.
    """

    def __init__(self, n_items: int) -> None:
        self._parents = list(range(n_items))

    def join(self, first: int, second: int) -> None:
        """Put two items into one group, whose root is the lowest item."""
        low, high = sorted((self.find(first), self.find(second)))
        self._parents[high] = low

    def find(self, item: int) -> int:
        """Return the root of the group of an item; the path to it is halved on the way."""
        parents = self._parents
        while parents[item] != item:
            parents[item] = parents[parents[item]]
            item = parents[item]
        return item

    def roots(self) -> NDArray[np.int64]:
        """Return the root of every item, the lowest item of its group."""
        return np.array([self.find(item) for item in range(len(self._parents))], np.int64)

    def groups(self) -> list[list[int]]:
        """Return the groups of two items and more, each sorted, by their first items."""
        members: dict[int, list[int]] = {}
        for item, root in enumerate(self.roots().tolist()):
            members.setdefault(root, []).append(item)
        return [group for group in members.values() if len(group) > 1]


def join_pairs(pairs: Iterable[tuple[int, int]], n_items: int) -> Components:
    """Return the groups that pairs of items connect."""
    components = Components(n_items)
    for first, second in pairs:
        components.join(first, second)
    return components


def join_equal(keys: Iterable[object], n_items: int) -> Components:
    """Return the groups of items with the same key; None is no key."""
    first: dict[object, int] = {}
    pairs = (
        (first.setdefault(key, item), item) for item, key in enumerate(keys) if key is not None
    )
    return join_pairs(pairs, n_items)
