"""Chunks: rows of an epoch in memory, with the Gram matrices of their blocks, prefetched.

A chunk holds consecutive rows in the order of the epoch, cut into blocks of B rows. While one chunk
is trained on, the next is read, decoded and multiplied with itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from myriad.panels import count_panels, multiply_blocks
from myriad.parallel import Lazy, ThreadPool
from myriad.store import Rows
from myriad.training.engine.targets import make_targets

CHUNK_BYTES = 32 << 20
CHUNK_ROWS = 1024
MULTIPLIED_ROWS = 384
"""Rows of a chunk with Gram matrices: few enough to be in the cache still when they are scored."""


@dataclass(frozen=True)
class Products:
    """Packed rows and Gram matrices of a chunk, in blocks of B rows.

    Attributes
    ----------
    block : B.
    panels : each block as `pack_rows` packs it, one after the other, ceil(B / 16) panels each.
    grams : float array of shape (m, B); row i holds its products with the rows of its block.
    """

    block: int
    panels: NDArray[Any]
    grams: NDArray[Any]


@dataclass(frozen=True)
class ChunkLayout:
    """How rows are divided into chunks, and which products are computed for them.

    Attributes
    ----------
    block : rows of a block.
    grams : whether blocks are packed and multiplied with themselves.
    rows : maximum number of rows per chunk otherwise.
    zero_copy_rows : rows of a chunk that is not copied from memory; 0 if chunks must be copies.
    """

    block: int
    grams: bool = True
    rows: int = CHUNK_ROWS
    zero_copy_rows: int = 0

    def make(self, X: NDArray[Any]) -> Products | None:
        """Return the products of the rows of a chunk, or None if the layout has none."""
        if not self.grams:
            return None
        return Products(self.block, *multiply_blocks(X, self.block))

    def count_rows(self, dim: int) -> int:
        """Return the number of rows per chunk: whole blocks, bounded in rows and in bytes."""
        rows = min(MULTIPLIED_ROWS if self.grams else self.rows, CHUNK_BYTES // (4 * dim))
        return max(self.block, rows // self.block * self.block)


@dataclass(frozen=True)
class Chunk:
    """Rows ``start`` to ``start + m`` of an epoch.

    Attributes
    ----------
    X : float array of shape (m, n_features), C-contiguous; in a zero-copy chunk the whole array
        that holds the rows, whose values were not checked.
    targets, classes : weights, keys and labels of the rows; see `targets`.
    index, labels : int64 and int32 arrays of shape (m,), the rows' numbers in their source and
        their class, of several the lowest.
    start : position of the first row in the order of the epoch.
    products : packed rows and Gram matrices of the blocks; None where they are not needed.
    positions : int64 array of shape (m,), the rows of X in a zero-copy chunk; None for all.
    """

    X: NDArray[Any]
    targets: NDArray[Any]
    classes: NDArray[np.int32]
    index: NDArray[np.int64]
    labels: NDArray[np.int32]
    start: int
    products: Products | None = None
    positions: NDArray[np.int64] | None = None

    @cached_property
    def grams(self) -> list[NDArray[Any]]:
        """The Gram matrix of each block, (n, n)."""
        assert self.products is not None
        return [
            np.ascontiguousarray(self.products.grams[block, : block.stop - block.start])
            for block in self.blocks(self.products.block)
        ]

    @cached_property
    def panels(self) -> list[NDArray[Any]]:
        """The panels of each block of rows; see `pack_rows`."""
        assert self.products is not None
        size = count_panels(self.products.block)
        return [
            self.products.panels[n * size : n * size + count_panels(block.stop - block.start)]
            for n, block in enumerate(self.blocks(self.products.block))
        ]

    def scaled(self, scale: NDArray[Any], layout: ChunkLayout) -> Chunk:
        """Return the chunk with scaled features, a copy of the targets, and the products."""
        X = self.X * scale
        return replace(self, X=X, targets=self.targets.copy(), products=layout.make(X))

    def blocks(self, size: int) -> Iterator[slice]:
        """Yield the slice of each block of `size` rows."""
        for first in range(0, len(self.X), size):
            yield slice(first, min(first + size, len(self.X)))


@dataclass(frozen=True)
class EpochCost:
    """The cost of an epoch of a trainer, from which ``plan`` estimates times.

    Attributes
    ----------
    kind : epochs of the same kind have the same speed, in multiply-adds per second.
    multiply_adds : of each row, with all classes that it is compared with.
    layout : the chunks that the trainer reads.
    copies : arrays of the size of all weights that steps change: the weights, and their averages.
    """

    kind: str
    multiply_adds: float
    layout: ChunkLayout
    copies: int = 1

    def averaged(self) -> EpochCost:
        """Return the cost where weights are averaged, so that a step changes twice as many."""
        return replace(self, kind=f"{self.kind}, averaged", copies=2)


def read_chunks(
    rows: Rows,
    *,
    layout: ChunkLayout,
    seed: int,
    epoch: int,
    dtype: DTypeLike,
    pool: ThreadPool,
    with_targets: bool = True,
) -> Iterator[Chunk]:
    """Yield the chunks of one epoch; the next two are prepared while the current one is used.

    Parameters
    ----------
    with_targets : whether chunks have targets and classes, which are empty otherwise.
    """
    source, order = None, {"seed": seed, "epoch": epoch}
    if layout.zero_copy_rows and rows.dtype == dtype:
        source = rows.zero_copy_blocks(layout.zero_copy_rows, **order)
    if source is None:
        source = rows.blocks(layout.count_rows(rows.dim), **order)

    def prepare(start: int) -> Chunk | None:
        block = next(source, None)
        if block is None:
            return None
        X = block.X.astype(dtype, copy=False)
        index, products = block.index, layout.make(X)
        known = make_targets(rows, index if with_targets else index[:0], start)
        return Chunk(X, *known, index, rows.labels[index], start, products, block.positions)

    def prepare_next(before: Lazy[Chunk | None]) -> Chunk | None:
        last = before.result()
        return None if last is None else prepare(last.start + len(last.index))

    if pool.threads == 1:
        start = 0
        while (chunk := prepare(start)) is not None:
            yield chunk
            start += len(chunk.index)
        return
    first = prepare(0)  # in the calling thread, which has nothing else to do
    ahead = deque([Lazy(lambda: first)])
    ahead.append(pool.start(prepare_next, ahead[-1]))
    while (chunk := ahead.popleft().result()) is not None:
        ahead.append(pool.start(prepare_next, ahead[-1]))
        yield chunk
