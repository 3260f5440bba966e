"""Rows to learn a code from: a sample that fits into memory, and what each feature tells of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import HadamardRotation, inform_by, measure_information
from myriad.measures import LabelSets
from myriad.parallel import Workers, map_ordered, thread_executor
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.store.counting import SpreadCounter, labels_of, rows_at_a_time, turn_block
from myriad.store.rows import Rows

SAMPLE_ROWS, SAMPLE_BYTES = 2048, 512 << 20
"""Rows of a sample and the memory they may take, at most."""


def sample_rows(rows: Rows, *, most: int = SAMPLE_ROWS, seed: int) -> Float:
    """Return some of the rows, at most `most`, the same for a seed."""
    most = max(1, min(most, SAMPLE_BYTES // (4 * rows.dim)))
    order = generator(seed, "rows to learn a code from").permutation(rows.n_rows)[:most]
    return rows.read(np.sort(order))


def inform_rows(
    rows: Rows,
    *,
    bins: int | None = None,
    turning: HadamardRotation | None = None,
    threads: int | None = None,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.float64]:
    """Return what each feature of rows says about the class, in bits, by streaming over them.

    See `measure_information`; the features are those of turned rows if `turning` is given.

    Parameters
    ----------
    place : whose workers count; None for this machine. The result is the same, bit for bit.
    """
    passes = 1 if bins is None else 2
    asked: dict[str, Any] = {
        "dim": rows.dim,
        "n_classes": len(rows.class_names),
        "bins": bins,
        "several": rows.sets is not None,
    }
    with progress.step("Measuring information", passes * rows.n_rows, "rows") as advance:

        def read() -> Iterator[tuple[Float, LabelSets]]:
            with thread_executor(threads) as executor:
                blocks = rows.blocks(rows_at_a_time(rows.dim))
                turn = partial(turn_block, turning)
                turned = blocks if turning is None else map_ordered(turn, blocks, executor, ahead=4)
                for block in turned:
                    yield block.X, labels_of(rows, block.index)
                    advance(len(block.X))

        if workers is None:
            return measure_information(read, threads=threads, **asked)
        with closing(SpreadCounter(rows, turning, workers, advance)) as counter:
            return inform_by(counter, **asked)
