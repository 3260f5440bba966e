"""Sparse dual variables: rows that grow, shrink and move within the pool."""

import numpy as np

from myriad.training.dual.sparse_duals import SparseDuals

N_ROWS, N_CLASSES = 64, 150


def test_rows_that_lost_their_spare_room_still_fit_into_the_pool():
    """Packing takes the spare room away: rows that had fitted move to the end as well."""
    rng = np.random.default_rng(0)
    duals, kept = SparseDuals(N_ROWS), np.zeros((N_ROWS, N_CLASSES))
    for step in range(60):
        index = np.arange(N_ROWS) if step % 2 else rng.permutation(N_ROWS)[: N_ROWS // 2]
        counts = rng.integers(0, N_CLASSES if step % 3 else 4, len(index)).astype(np.int32)
        classes = np.zeros((len(index), N_CLASSES), np.int32)
        values = np.zeros((len(index), N_CLASSES))
        for i, row in enumerate(index):
            classes[i, : counts[i]] = np.sort(rng.permutation(N_CLASSES)[: counts[i]])
            values[i, : counts[i]] = rng.random(counts[i])
            kept[row] = 0.0
            kept[row, classes[i, : counts[i]]] = values[i, : counts[i]]
        duals.store(index, classes, values, counts)
        ends = duals.starts + duals.counts
        assert ends.max() <= len(duals.classes), "a row ends outside of the pool"
    found = np.zeros_like(kept)
    for row in range(N_ROWS):
        own = slice(duals.starts[row], duals.starts[row] + duals.counts[row])
        found[row, duals.classes[own]] = duals.values[own]
    np.testing.assert_array_equal(found, kept)
