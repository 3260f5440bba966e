"""Rows to learn a code from: a sample that fits into memory, and what each feature tells of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import Turn, measure_information
from myriad.measures import LabelSets
from myriad.parallel import map_ordered, pool
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.store.rows import Block, Rows

SAMPLE_ROWS, SAMPLE_BYTES = 2048, 512 << 20
"""Rows of a sample and the memory they may take, at most."""
READ_BYTES = 16 << 20
"""Rows read at a time."""


def sample_rows(rows: Rows, *, most: int = SAMPLE_ROWS, seed: int) -> Float:
    """Return some of the rows, at most `most`, the same for a seed."""
    most = max(1, min(most, SAMPLE_BYTES // (4 * rows.dim)))
    order = generator(seed, "rows to learn a code from").permutation(rows.n_rows)[:most]
    return rows.read(np.sort(order))


def rows_at_a_time(dim: int) -> int:
    """Return how many rows of float32 to read at a time."""
    return max(1, min(4096, READ_BYTES // (4 * dim)))


def labels_of(rows: Rows, index: NDArray[np.int64]) -> LabelSets:
    """Return the labels of some rows as sets."""
    if rows.sets is not None:
        return rows.sets.select(index)
    return LabelSets.from_labels(rows.labels[index])


def inform_rows(
    rows: Rows,
    *,
    bins: int | None = None,
    turning: Turn | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.float64]:
    """Return what each feature of rows says about the class, in bits, by streaming over them.

    See `measure_information`; the features are those of turned rows if `turning` is given.
    """
    passes = 1 if bins is None else 2
    with progress.step("Measuring information", passes * rows.n_rows, "rows") as advance:

        def read() -> Iterator[tuple[Float, LabelSets]]:
            with pool(threads) as executor:
                blocks = rows.blocks(rows_at_a_time(rows.dim))
                turned = blocks if turning is None else map_ordered(turn, blocks, executor, ahead=4)
                for block in turned:
                    yield block.X, labels_of(rows, block.index)
                    advance(len(block.X))

        def turn(block: Block) -> Block:
            assert turning is not None
            return Block(block.index, turning.turn(block.X))

        return measure_information(
            read,
            dim=rows.dim,
            n_classes=len(rows.class_names),
            bins=bins,
            several=rows.sets is not None,
            threads=threads,
        )
