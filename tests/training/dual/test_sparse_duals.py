"""Sparse dual variables: rows that grow, shrink and move within the pool."""

import numpy as np

from myriad.training.dual.sparse_duals import SparseDuals
from myriad.training.dual.sparse_duals_kernels import SparseBlock

N_ROWS, N_CLASSES = 64, 150


def store(duals, index, count):
    classes = np.tile(np.arange(N_CLASSES, dtype=np.int32), (len(index), 1))
    values = np.random.default_rng(len(index)).random((len(index), N_CLASSES))
    duals.store(index, SparseBlock(classes, values, np.full(len(index), count, np.int32)))
    return values


def test_rows_that_lost_their_spare_room_still_fit_into_the_pool():
    """Packing takes the spare room away: rows that would have fitted move to the end as well."""
    duals, every = SparseDuals(N_ROWS), np.arange(N_ROWS)
    half = every[: N_ROWS // 2]
    store(duals, half, N_CLASSES)
    store(duals, half, 0)
    values = store(duals, every, N_CLASSES)
    assert (duals.starts + duals.counts).max() <= len(duals.classes)
    found = np.stack([duals.values[start : start + N_CLASSES] for start in duals.starts])
    np.testing.assert_array_equal(found, values)
