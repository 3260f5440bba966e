"""Presence bits: empty cells decode to 0, others to signs times magnitudes; their information."""

import numpy as np
import pytest

from myriad.codes import CODES, CodeOptions, Source
from myriad.codes.presence import EMPTY, Cells, find_cells, learn_presence
from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.pipelines.describing.code_learning import measure_information
from myriad.store import ArrayRows

CELLS = np.repeat(np.arange(6), 8).astype(np.int32)


def draw_rows(n=200, seed=0):
    """Return rows of six cells of eight features; the last three are nearly empty in half of them.

    The label follows the signs of the first cell and the presence of the last.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 1.5, (n, 48)) * rng.choice([-1, 1], (n, 48))
    full = np.ones((n, 6), bool)
    full[:, 3:] = rng.random((n, 3)) < 0.5
    X *= np.where(full[:, CELLS], 1.0, 0.01)
    labels = (X[:, 0] >= 0).astype(np.int32) + 2 * full[:, 5]
    return X.astype(np.float32), labels.astype(np.int32), full


def test_empty_cells_decode_to_zero_and_others_to_mean_magnitudes():
    X, _, full = draw_rows()
    code = learn_presence(X, cells=CELLS)
    decoded = code.decode(code.encode(X))
    here = full[:, CELLS]
    assert (decoded[~here] == 0).all()
    assert (np.sign(decoded[here]) == np.where(X[here] >= 0, 1, -1)).all()
    for j in (0, 47):
        mean = np.abs(X[here[:, j], j]).mean()
        np.testing.assert_allclose(np.abs(decoded[here[:, j], j]), mean, rtol=1e-5)


def test_kernels_sum_over_cells_in_any_order():
    rng = np.random.default_rng(1)
    X, _, _ = draw_rows(20)
    cells = rng.permutation(CELLS)
    found = find_cells(X, cells)
    energies = np.stack([np.square(X[:, cells == c]).sum(axis=1) for c in range(6)], axis=1)
    np.testing.assert_allclose(found.find_energies(X), energies, rtol=1e-5)
    np.testing.assert_allclose(found.thresholds, EMPTY * energies.mean(axis=0), rtol=1e-5)
    present = (energies > found.thresholds)[:, cells]
    assert (found.find_present(X)[:, cells] == present).all()
    order = rng.permutation(48)[:30]
    information = np.concatenate([np.zeros(48), np.zeros(6)])
    information[order] = np.arange(30, 0, -1)
    code = learn_presence(X, bits=38, cells=cells, information=information)
    chosen = code.chosen
    assert len(chosen) == 30
    sizes = np.abs(X * present).sum(axis=0) / present.sum(axis=0)
    expected = np.where(X >= 0, sizes, -sizes) * present
    np.testing.assert_allclose(code.decode(code.encode(X)), expected[:, chosen], rtol=1e-5)


def test_bits_of_cells_are_counted():
    X, _, _ = draw_rows()
    information = np.concatenate([np.arange(48, 0, -1.0), np.zeros(6)])
    code = learn_presence(X, bits=24, cells=CELLS, information=information)
    assert code.bytes_per_row == 3
    assert code.describe() == {"kind": "presence", "features": 16, "cells": 2}
    assert code.ratio == pytest.approx(4 * 48 / 3)
    np.testing.assert_array_equal(code.chosen, np.arange(16))


def test_information_is_what_a_sign_adds_to_presence():
    X, labels, full = draw_rows(2000)
    rows = ArrayRows(X, labels, ["a", "b", "c", "d"])
    options, context = CodeOptions("presence", 64), LearningContext(threads=1)
    source = Source(X, cells=CELLS)
    information = measure_information(rows, source, options, context)
    present = find_cells(X, CELLS).find_present(X)
    assert (present == full).all()

    def entropy(*columns):
        _, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
        shares = counts / counts.sum()
        return -(shares * np.log2(shares)).sum()

    sign = X >= 0
    learned = learn_presence(X, cells=CELLS, information=information).information
    for j in (0, 9, 40, 47):
        here = present[:, CELLS[j]]
        value = np.where(here, np.where(sign[:, j], 1, -1), 0)
        expected = (entropy(value) - entropy(value, labels)) - (
            entropy(here) - entropy(here, labels)
        )
        assert learned[j] == pytest.approx(expected, abs=1e-6)
    code = CODES["presence"].learn(Source(X, information, cells=CELLS), options, context)
    assert code.chosen[0] == 0
    assert code.ratio >= 64


def test_rows_that_are_zero_in_empty_cells_need_no_sample_of_full_ones():
    X, _, full = draw_rows()
    X = np.where(full[:, CELLS], X, 0).astype(np.float32)
    assert (find_cells(X, CELLS).find_present(X) == full).all()
    assert 0 < EMPTY < 0.5


@pytest.mark.parametrize(
    "cells", [np.arange(5, dtype=np.int32), np.full(48, 1, np.int32), np.zeros(48)]
)
def test_cells_that_do_not_fit_are_refused(cells):
    with pytest.raises(InputError, match="cells of presence bits"):
        find_cells(draw_rows()[0], cells)


def test_other_bins_are_refused():
    with pytest.raises(InputError, match="--bins cannot be combined with presence"):
        CodeOptions("presence", bins=8)


def test_maps_have_their_width():
    X, _, _ = draw_rows(5)
    cells: Cells = find_cells(X, CELLS)
    assert cells.transform(X).shape == (5, cells.width)
