"""Tests of training with the settings of an earlier model."""

import numpy as np

from myriad.store import ArrayRows
from myriad.training import Automatic, Context
from myriad.training.updating import read_method


def make_rows(seed):
    """Return rows of four classes, with features in several units."""
    draws = np.random.default_rng(seed)
    y = np.arange(160, dtype=np.int32) % 4
    X = draws.standard_normal((160, 10)) + 3 * np.eye(4, 10)[y] + 5
    return ArrayRows((X * 10.0 ** np.linspace(2, -2, 10)).astype(np.float32), y)


def test_features_that_were_scaled_are_scaled_again():
    rows, new = make_rows(0), make_rows(1)
    fitted = Automatic().fit(rows, None, n_classes=4)
    assert fitted.settings["scaled"] is True
    stored = read_method(fitted.settings, rows, rows.n_rows, seed=0)
    model = stored.fit(rows, Context(threads=1)).model
    guesses = model.scores(new.read(np.arange(new.n_rows))).argmax(axis=1)
    assert (guesses == new.labels).mean() > 0.75
