"""k-means by Lloyd's algorithm: sums over blocks of rows, by threads or workers.

As fast as faiss, the reference in the tests, on one thread; and the same bits for a seed on any
number of threads and workers, which faiss does not give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.arrays import Float, Ints, as_rows
from myriad.errors import InputError
from myriad.parallel import DEFAULT_LEARNING, LearningContext
from myriad.randomness import generator
from myriad.serialisation import Serialisable, check_array
from myriad.vocabularies.blocks import open_blocks

_ROWS_PER_CENTRE = 256
_SCORES = 1 << 19  # scores computed at a time: they stay in the cache
_MIN_REMOTE_WORK = 1 << 28  # multiplications of a round; fewer are not worth sending to workers
_SPLIT = 1 / 1024  # distance of the halves of a split cluster, as a fraction of its centre


@dataclass(frozen=True, eq=False)
class Words(Serialisable, kind="words"):
    """A vocabulary of visual words: float32 `centres` of shape (n_words, dim)."""

    centres: Float

    def __post_init__(self) -> None:
        check_array(self.centres, "The centres of visual words", (None, None))

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.centres)

    @property
    def dim(self) -> int:
        """The length of a descriptor."""
        return self.centres.shape[1]

    def assign(self, values: Float) -> Ints:
        """Return the word nearest to each row of `values`, int32."""
        return nearest_centres(values, self.centres)


def learn_words(
    values: Float,
    n_words: int,
    context: LearningContext = DEFAULT_LEARNING,
) -> Words:
    """Learn a vocabulary of `n_words` words from the rows of `values`; see `learn_centres`."""
    return Words(learn_centres(values, n_words, context))


def learn_centres(
    values: Float,
    n_centres: int,
    context: LearningContext = DEFAULT_LEARNING,
    *,
    rounds: int = 15,
) -> Float:
    """Return `n_centres` centres of the rows of `values`, float32, of shape (n_centres, dim).

    At most 256 rows per centre are used, drawn by the seed, and some of them are the initial
    centres. The same values and seed give the same bits on any number of threads and workers.

    Parameters
    ----------
    context : its workers share the rows if there is enough work, otherwise its threads.
    """
    values = as_rows(values, name="The descriptors")
    n_samples, dim = values.shape
    check_enough(n_samples, n_centres)
    seed = context.seed
    sample = values[draw_rows(n_samples, _ROWS_PER_CENTRE * n_centres, seed, "k-means rows")]
    start = generator(seed, "k-means start").choice(len(sample), n_centres, replace=False)
    centres = sample[start]
    if len(sample) * n_centres * dim < _MIN_REMOTE_WORK:
        context = replace(context, workers=None)
    with open_blocks(sample, context) as blocks:
        for _ in range(rounds):
            counts, sums = np.zeros(n_centres, np.int64), np.zeros(centres.shape)
            for some, residuals in blocks.map(_Assignment(centres)):
                counts += some
                sums += residuals
            centres = _move_centres(centres, counts, sums)
    return centres


@dataclass(frozen=True, eq=False)
class _Assignment:
    """Counts the rows of a block nearest to each centre, and sums their residuals."""

    centres: Float

    def __call__(self, block: Float) -> tuple[NDArray[np.int64], Float]:
        nearest = nearest_centres(block, self.centres)
        residuals = np.zeros((1, *self.centres.shape), np.float32)
        add_residuals(block, nearest, np.zeros_like(nearest), self.centres, residuals)
        return np.bincount(nearest, minlength=len(self.centres)), residuals[0]


def _move_centres(centres: Float, counts: NDArray[np.int64], sums: NDArray[np.float64]) -> Float:
    """Return the mean of the rows of each centre; the largest is split for each empty one."""
    moved = centres + sums / np.maximum(counts, 1)[:, None]
    counts = counts.copy()
    for empty in np.flatnonzero(counts == 0):
        largest = counts.argmax()
        offset = _SPLIT * moved[largest] * np.where(np.arange(moved.shape[1]) % 2, -1.0, 1.0)
        moved[empty] = moved[largest] - offset
        moved[largest] += offset
        counts[empty] = counts[largest] // 2
        counts[largest] -= counts[empty]
    return moved.astype(np.float32)


def nearest_centres(values: Float, centres: Float) -> Ints:
    """Return the index of the centre nearest to each row, the lowest in a tie."""
    half_norms = 0.5 * np.einsum("kd,kd->k", centres, centres)
    transposed = np.ascontiguousarray(centres.T)
    nearest = np.empty(len(values), np.int32)
    size = min(max(128, _SCORES // len(centres)), 4096)
    scores = np.empty((min(size, len(values)), len(centres)), np.float32)
    for start in range(0, len(values), size):
        block = values[start : start + size]
        here = scores[: len(block)]
        np.matmul(block, transposed, out=here)
        np.subtract(here, half_norms, out=here)
        nearest[start : start + size] = here.argmax(axis=1)
    return nearest


def draw_rows(n_samples: int, most: int, seed: int, purpose: str) -> slice | np.ndarray:
    """Return indices of at most `most` rows, drawn without replacement, in their order."""
    if n_samples <= most:
        return slice(None)
    drawn = generator(seed, purpose).choice(n_samples, most, replace=False, shuffle=False)
    return np.sort(drawn)


def check_enough(n_samples: int, n_centres: int) -> None:
    """Raise `InputError` unless there are at least as many rows as centres."""
    if n_centres < 1:
        raise InputError(f"A vocabulary needs at least one word, not {n_centres}.")
    if n_samples < n_centres:
        raise InputError(
            f"A vocabulary of {n_centres} cannot be learned from {n_samples} descriptors: "
            "give more images or ask for a smaller vocabulary."
        )


@jit
def add_residuals(rows: Float, words: Ints, cells: Ints, centres: Float, sums: Float) -> None:
    """Add each row's difference from its word, cell by cell and word by word.

    Parameters
    ----------
    rows : float32 array of shape (n, dim).
    words, cells : int32 arrays of shape (n,), the word and the cell of each row.
    centres : float32 array of shape (n_words, dim).
    sums : float32 array of shape (n_cells, n_words, dim), added to.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        centre = centres[words[i]]
        total = sums[cells[i], words[i]]
        for d in range(row.size):
            total[d] += row[d] - centre[d]
