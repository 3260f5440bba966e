"""Duplicates and near duplicates among images or rows.

Candidates are nearest neighbours of the rows that a signature made. Where there are thumbnails,
`myriad.checks.alignment` decides whether two candidates show the same picture; where there are only
rows, they must be nearly equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.checks.alignment import (
    COARSE_CORRELATION,
    coarsen,
    correlate_coarsely,
    match_thumbnails,
)
from myriad.parallel import map_ordered, thread_count, thread_executor
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.store import Rows

NEIGHBOURS = 8
"""Nearest rows of each row that are candidates."""
CANDIDATE_COSINE = 0.5
"""The least cosine of centred rows of candidates; copies of an image have 0.6 and more."""
SAME_COSINE = 0.95
"""The least cosine of centred rows that count as near duplicates by themselves. Fewer than one
image in a thousand has another image so close by."""
PROJECTED = 256
"""Features of the random projection in which neighbours are searched."""
EXACT_ROWS = 50_000
"""Rows up to which all are compared with all; more are searched through an inverted file."""
PROBED_CELLS, CELL_ROWS, TRAINING_ROWS = 32, 64, 64
"""Cells that are searched; rows of a cell, about; rows of a cell to learn the cells from."""
BLOCK_ROWS, MEAN_ROWS, PAIR_BLOCK = 4096, 20_000, 4096
MATCHED_TOGETHER = 32


class DuplicatePair(NamedTuple):
    """Two items that are copies of each other.

    Attributes
    ----------
    first, second : their numbers, the lower one first.
    likeness : 1 for equal files or rows, else the correlation of details or the cosine of rows.
    mirrored : whether one is the mirror image of the other.
    """

    first: int
    second: int
    likeness: float
    mirrored: bool = False

    @property
    def exact(self) -> bool:
        """Whether the files or rows are equal, byte for byte."""
        return self.likeness == 1.0


def find_equal(keys: Sequence[Any]) -> list[DuplicatePair]:
    """Return pairs of items with equal keys, each with the first item of its key."""
    first: dict[Any, int] = {}
    pairs = []
    for item, key in enumerate(keys):
        original = first.setdefault(key, item)
        if original != item:
            pairs.append(DuplicatePair(original, item, 1.0))
    return pairs


def find_near_images(
    rows: Rows,
    thumbnails: NDArray[np.uint8],
    sizes: NDArray[np.int64] | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> list[DuplicatePair]:
    """Return pairs of images that show the same picture, ordered by their numbers.

    Parameters
    ----------
    rows : the rows that a signature made of the images.
    thumbnails : uint8 array of shape (n_images, side, side); see `make_grey_thumbnail`.
    sizes : width and height of each image, (n_images, 2), to compare images that have fewer pixels
        than thumbnails with larger ones.
    """
    pairs, _ = find_candidates(rows, seed=seed, threads=threads, progress=progress)
    coarse = coarsen(thumbnails)
    kept = [
        pairs[start : start + PAIR_BLOCK][
            correlate_coarsely(coarse, *pairs[start : start + PAIR_BLOCK].T) >= COARSE_CORRELATION
        ]
        for start in range(0, len(pairs), PAIR_BLOCK)
    ]
    pairs = np.concatenate(kept) if kept else pairs

    def match(some: NDArray[np.int64]) -> tuple[int, list[DuplicatePair]]:
        pairs = []
        for first, second in some.tolist():
            both = None if sizes is None else sizes[[first, second]]
            agreed = match_thumbnails(thumbnails[first], thumbnails[second], both)
            if agreed is not None:
                likeness = min(agreed.detail, 0.9999)  # 1 is for equal files
                pairs.append(DuplicatePair(first, second, likeness, agreed.mirrored))
        return len(some), pairs

    blocks = (pairs[i : i + MATCHED_TOGETHER] for i in range(0, len(pairs), MATCHED_TOGETHER))
    matched: list[DuplicatePair] = []
    with (
        thread_executor(threads) as executor,
        progress.step("Comparing similar images", len(pairs), "pairs") as advance,
    ):
        for n_pairs, found in map_ordered(match, blocks, executor, ahead=2 * thread_count(threads)):
            matched += found
            advance(n_pairs)
    return matched


def find_near_rows(
    rows: Rows, *, seed: int = 0, threads: int | None = None, progress: Progress = SILENT
) -> list[DuplicatePair]:
    """Return pairs of rows that are nearly equal, for rows whose images are not available."""
    pairs, cosines = find_candidates(rows, seed=seed, threads=threads, progress=progress)
    pairs = pairs[cosines >= SAME_COSINE - 0.1]  # the projection changes cosines a little
    centre = _estimate_mean(rows, seed=seed)
    found = []
    for start in range(0, len(pairs), PAIR_BLOCK):
        some = pairs[start : start + PAIR_BLOCK]
        numbers, positions = np.unique(some, return_inverse=True)
        X = _normalise(rows.read(numbers) - centre)
        first, second = positions.reshape(-1, 2).T
        exact = np.einsum("ij,ij->i", X[first], X[second])
        for (i, j), cosine in zip(some.tolist(), exact.tolist(), strict=True):
            if cosine >= SAME_COSINE:
                found.append(DuplicatePair(i, j, min(cosine, 0.9999)))
    return found


def find_candidates(
    rows: Rows, *, seed: int = 0, threads: int | None = None, progress: Progress = SILENT
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return pairs of rows that are among the nearest neighbours of each other, and their cosines.

    Rows are centred, and projected at random if they are long; neighbours are found by faiss,
    exactly up to `EXACT_ROWS` rows.

    Returns
    -------
    int64 array of shape (n_pairs, 2), the lower number first, sorted; float32 (n_pairs,).
    """
    if rows.n_rows < 2:
        return np.zeros((0, 2), np.int64), np.zeros(0, np.float32)
    X = _project(rows, seed=seed)
    k = min(NEIGHBOURS + 1, rows.n_rows)  # the row itself is among them
    cosines = np.empty((rows.n_rows, k), np.float32)
    nearest = np.empty((rows.n_rows, k), np.int64)
    with (
        _faiss_threads(threads) as faiss,
        progress.step("Searching for near duplicates", rows.n_rows, "rows") as advance,
    ):
        index = _make_index(faiss, X)
        for start in range(0, rows.n_rows, BLOCK_ROWS):
            some = slice(start, start + BLOCK_ROWS)
            cosines[some], nearest[some] = index.search(X[some], k)
            advance(len(cosines[some]))
    items = np.repeat(np.arange(rows.n_rows), k)
    others, values = nearest.reshape(-1), cosines.reshape(-1)
    kept = (others >= 0) & (others != items) & (values >= CANDIDATE_COSINE)
    pairs = np.sort(np.stack([items[kept], others[kept]], axis=1), axis=1)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    return pairs, values[kept][first]


def _make_index(faiss: Any, X: Float) -> Any:
    """Return an index of rows by their inner product."""
    n_rows, dim = X.shape
    index = faiss.IndexFlatIP(dim)
    if n_rows > EXACT_ROWS:
        n_cells = n_rows // CELL_ROWS
        n_cells = min(n_cells, int(4 * n_rows**0.5))
        index = faiss.IndexIVFFlat(index, dim, n_cells, faiss.METRIC_INNER_PRODUCT)
        index.cp.max_points_per_centroid = TRAINING_ROWS
        index.nprobe = PROBED_CELLS
        index.train(X)
    index.add(X)
    return index


@contextmanager
def _faiss_threads(threads: int | None) -> Iterator[Any]:
    """Yield faiss, limited to a number of threads."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(thread_count(threads))
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


def _estimate_mean(rows: Rows, *, seed: int) -> Float:
    """Return the mean of some rows, float32 (dim,)."""
    order = generator(seed, "rows to centre by").permutation(rows.n_rows)[:MEAN_ROWS]
    total = np.zeros(rows.dim)
    for start in range(0, len(order), BLOCK_ROWS):
        total += rows.read(np.sort(order[start : start + BLOCK_ROWS])).sum(axis=0, dtype=np.float64)
    return (total / len(order)).astype(np.float32)


def _project(rows: Rows, *, seed: int) -> Float:
    """Return all rows, centred, projected and normalised, float32 (n_rows, at most PROJECTED)."""
    centre = _estimate_mean(rows, seed=seed)
    draws = generator(seed, "projection to compare rows in")
    matrix = None
    if rows.dim > PROJECTED:
        matrix = draws.standard_normal((rows.dim, PROJECTED), np.float32)
    X = np.empty((rows.n_rows, min(rows.dim, PROJECTED)), np.float32)
    for start in range(0, rows.n_rows, BLOCK_ROWS):
        some = range(start, min(start + BLOCK_ROWS, rows.n_rows))
        block = rows.read(some) - centre
        X[start : some.stop] = _normalise(block if matrix is None else block @ matrix)
    return X


def _normalise(X: NDArray[np.floating]) -> Float:
    """Return rows divided by their norms; rows of zeros stay zero."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.maximum(norms, 1e-12), np.float32)
