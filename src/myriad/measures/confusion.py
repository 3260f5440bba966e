"""Which classes are predicted as which, counted sparsely: C x C counts are never formed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Confusion:
    """How often rows of the class `truth` were predicted as `guess`, and one such row."""

    truth: int
    guess: int
    count: int
    row: int


def count_confusions(
    truths: NDArray[np.int32], guesses: NDArray[np.int32], *, n_classes: int
) -> list[Confusion]:
    """Return every confused pair, most frequent first (then by class number).

    Parameters
    ----------
    truths, guesses : int32 arrays of shape (n_samples,); rows with a truth of -1 are left out.
    """
    rows = np.flatnonzero((truths != guesses) & (truths >= 0))
    keys = truths[rows].astype(np.int64) * n_classes + guesses[rows]
    pairs, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.lexsort((pairs, -counts))
    return [
        Confusion(
            truth=int(pairs[o] // n_classes),
            guess=int(pairs[o] % n_classes),
            count=int(counts[o]),
            row=int(rows[first[o]]),
        )
        for o in order
    ]
