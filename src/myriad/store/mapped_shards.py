"""The memory-mapped shards of one reader of a store, from which rows are gathered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.store.row_kernels import copy_from
from myriad.store.rows import WINDOW_GROUPS

if TYPE_CHECKING:
    from myriad.store.store import Store


class MappedShards:
    """The shards that one reader has mapped: the most recent ones, at most two windows of them.

    Rows that need no conversion are copied from their memory addresses by a kernel.

    Parameters
    ----------
    use : called with the number of every shard that is mapped.
    """

    def __init__(self, store: Store, use: Callable[[int], None] = lambda shard: None) -> None:
        self.store, self._use = store, use
        self._mapped: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._addresses = np.zeros(len(store.starts), np.int64)  # 0: not mapped, or to be converted
        self._kinds: set[tuple[Any, int]] = set()  # (dtype, width) of the mapped shards

    def fill(self, numbers: NDArray[np.int64], out: Float) -> None:
        """Fill `out` (m, dim) with the decoded rows of the given numbers."""
        code = self.store.code
        if code is None:
            self.gather(numbers, out)
        else:
            codes = np.empty((len(numbers), code.bytes_per_row), np.uint8)
            self.gather(numbers, codes)
            code.decode(codes, out)

    def gather(self, numbers: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Fill `out` (m, width) with the stored rows of the given numbers."""
        starts = self.store.starts
        shard_of = np.searchsorted(starts, numbers, side="right") - 1
        found = self._addresses[shard_of]
        if not found.all():
            for shard in np.unique(shard_of[found == 0]):
                self._map(int(shard))
            found = self._addresses[shard_of]
        if found.all() and self._kinds == {(out.dtype, out.shape[1])} and out.flags.c_contiguous:
            width = out.itemsize * out.shape[1]
            found += (numbers - starts[shard_of]) * width
            copy_from(found, out.view(np.uint8).reshape(-1, width))
            return
        for shard in np.unique(shard_of):
            here = np.flatnonzero(shard_of == shard)
            out[here] = self._map(int(shard))[numbers[here] - starts[shard]]

    def _map(self, shard: int) -> NDArray[Any]:
        """Return the mapped rows of a shard; the shard that was mapped first may be dropped."""
        if shard not in self._mapped:
            self._use(shard)
            rows = self._mapped[shard] = self.store.read_shard(shard)
            if rows.flags.c_contiguous and len(rows) == np.diff(self.store.starts)[shard]:
                self._addresses[shard] = rows.ctypes.data
                self._kinds.add((rows.dtype, rows.shape[1]))
            if len(self._mapped) > 2 * WINDOW_GROUPS:
                self._addresses[self._mapped.popitem(last=False)[0]] = 0
        return self._mapped[shard]
