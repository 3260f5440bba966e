"""Sites: where the pieces of a training are done, and where what they leave to each other lies."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.parallel import Workers
from myriad.store import LocalRows, Rows, SharedRows, share_rows

PIECE_BYTES = 2 << 30
"""Bytes of weights that a worker holds at a time, unless stated."""
ROUNDS = 8
"""Rounds in an epoch of a joint objective, after each of which weights are averaged."""
MOST_ROUNDS = 10_000


@dataclass(frozen=True)
class TrainingWorkers(Workers):
    """Workers, and a folder that all of them see.

    Attributes
    ----------
    mapper : the workers.
    folder : for weights in training and for what is known of the rows.
    memory : bytes of weights that a worker may hold at a time.
    threads : that a worker uses; None for all cores.
    """

    memory: int = PIECE_BYTES
    threads: int | None = 1

    def leave(self, rows: Rows) -> SharedRows | LocalRows:
        """Return rows as workers take them: by address, or as they are where all is one process."""
        if not self.executor.remote:
            return LocalRows(rows)
        address = share_rows(rows, self.folder)
        self.executor.require(*address.files)
        return address


def check_rounds(rounds: int) -> None:
    """Raise `InputError` unless so many rounds can be made of an epoch."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise InputError(f"rounds must be a number from 1 to {MOST_ROUNDS}, not {rounds}.")


def make_mapped(folder: Path, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros in a file that ends with it: it may be larger than the memory."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(dir=folder) as stream:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        stream.truncate(size)
        return np.asarray(np.memmap(stream, dtype, "r+", shape=shape))
