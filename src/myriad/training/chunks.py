"""Chunks: rows of an epoch in memory, with the Gram matrices of their blocks, prepared ahead.

A chunk is a run of rows in the order of the epoch, cut into blocks of B rows. While one chunk is
trained on, the next is read, decoded and multiplied with itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from myriad.panels import multiply_with_itself, pack_rows
from myriad.parallel import Team
from myriad.store import Rows
from myriad.training.targets import make_targets

CHUNK_BYTES = 32 << 20
CHUNK_ROWS = 1024
MULTIPLIED_ROWS = 256
"""Rows of a chunk with Gram matrices: so they are still in the cache when they are scored."""


@dataclass(frozen=True)
class Chunk:
    """Rows ``start`` to ``start + len(X)`` of an epoch.

    Attributes
    ----------
    X : float array of shape (m, n_features), C-contiguous.
    targets, classes : what is known of the rows, and their labels; see `targets`.
    index, labels : int64 and int32 arrays of shape (m,), the rows' numbers in their source and
        their class, of several the lowest.
    start : position of the first row in the epoch's order.
    grams : ``X_b X_b^T`` of each block of rows; empty when nobody needs them.
    panels : each block of rows as `panels` packs them; empty likewise.
    """

    X: NDArray[Any]
    targets: NDArray[Any]
    classes: NDArray[np.int32]
    index: NDArray[np.int64]
    labels: NDArray[np.int32]
    start: int
    grams: list[NDArray[Any]] = field(default_factory=list)
    panels: list[NDArray[Any]] = field(default_factory=list)

    def multiply(self, block: int) -> None:
        """Pack the blocks of rows and multiply each with itself."""
        for part in self.blocks(block):
            panels = pack_rows(self.X[part])
            self.panels.append(panels)
            self.grams.append(multiply_with_itself(self.X[part], panels))

    def scaled(self, scale: NDArray[Any], block: int | None) -> Chunk:
        """Return the chunk with scaled features, and Gram matrices of its blocks if wanted.

        Its targets are its own.
        """
        own = {"X": self.X * scale, "targets": self.targets.copy(), "grams": [], "panels": []}
        view = replace(self, **own)
        if block is not None:
            view.multiply(block)
        return view

    def blocks(self, size: int) -> Iterator[slice]:
        """Yield the rows of each block."""
        for first in range(0, len(self.X), size):
            yield slice(first, min(first + size, len(self.X)))


def chunk_rows(dim: int, block: int, *, with_grams: bool) -> int:
    """Return how many rows a chunk holds: whole blocks, bounded in rows and in bytes."""
    rows = min(MULTIPLIED_ROWS if with_grams else CHUNK_ROWS, CHUNK_BYTES // (4 * dim))
    return max(block, rows // block * block)


def read_chunks(
    rows: Rows,
    *,
    block: int,
    seed: int,
    epoch: int,
    with_grams: bool,
    dtype: DTypeLike,
    team: Team,
    with_targets: bool = True,
) -> Iterator[Chunk]:
    """Yield the chunks of one epoch, the next being prepared while the current one is used.

    Without targets, they and the classes of a chunk are empty.
    """
    source = rows.blocks(chunk_rows(rows.dim, block, with_grams=with_grams), seed=seed, epoch=epoch)

    def prepare(start: int) -> Chunk | None:
        taken = next(source, None)
        if taken is None:
            return None
        X = taken.X.astype(dtype, copy=False)
        known = make_targets(rows, taken.index if with_targets else taken.index[:0], start)
        chunk = Chunk(X, *known, taken.index, rows.labels[taken.index], start)
        if with_grams:
            chunk.multiply(block)
        return chunk

    upcoming = team.start(prepare, 0)
    while (chunk := upcoming.result()) is not None:
        upcoming = team.start(prepare, chunk.start + len(chunk.X))
        yield chunk
