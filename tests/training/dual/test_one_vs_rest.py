"""Training in the dual, interrupted and resumed; what its epochs may not depend on."""

import numpy as np
import pytest

from myriad.progress import Progress
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context, Recall, TopK, TopPush
from myriad.training.checkpoints import Checkpoint
from myriad.training.dual.ascent import Certificate

METHODS = {
    "topk": TopK(k=2, tol=1e-5, epochs=40, lam=0.003),
    "topk, lam searched": TopK(k=1, tol=1e-4, epochs=30),
    "dual": BinaryDual(tol=1e-5, epochs=40, lam=0.003),
    "toppush": TopPush(tol=1e-6, epochs=40),
    "toppush, lam": TopPush(tol=1e-6, epochs=40, lam=0.003),
    "recall": Recall(k=2, tol=1e-6, epochs=40, lam=0.003),
    "recall, lam searched": Recall(tol=1e-5, epochs=40),
}


class Broken(Exception):
    pass


class Breaking(Progress):
    """Breaks training off after so many rows of the last step."""

    def __init__(self, rows):
        self.left = rows

    def step(self, title, total, unit):
        return _Step(self if title.startswith("Training") else None)


class _Step:
    def __init__(self, breaking):
        self.breaking = breaking

    def __enter__(self):
        return self.advance

    def __exit__(self, *error):
        return False

    def advance(self, n):
        if self.breaking is not None:
            self.breaking.left -= n
            if self.breaking.left < 0:
                raise Broken


def make_rows(n=200, seed=0, n_classes=5):
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).standard_normal((n_classes, 8))
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = means[labels] + rng.standard_normal((n, 8))
    return ArrayRows(X.astype(np.float32), labels, [str(c) for c in range(n_classes)])


@pytest.mark.parametrize("name", METHODS)
def test_a_run_broken_off_ends_with_the_same_weights(tmp_path, name):
    train, val, method = make_rows(), make_rows(80, seed=1), METHODS[name]
    whole = method.fit(train, val, n_classes=5, context=Context(threads=1))
    assert len(whole.history) > 2

    def keep():
        return Checkpoint(tmp_path / "state", {"name": name}, every=0.0)

    for epochs in (7, 9):
        with pytest.raises(Broken):
            method.fit(
                train,
                val,
                n_classes=5,
                context=Context(
                    threads=1, checkpoint=keep(), progress=Breaking(epochs * train.n_rows - 1)
                ),
            )
    resumed = method.fit(train, val, n_classes=5, context=Context(threads=2, checkpoint=keep()))
    assert resumed.model.weights.tobytes() == whole.model.weights.tobytes()
    assert resumed.model.biases.tobytes() == whole.model.biases.tobytes()
    assert resumed.epochs == whole.epochs
    assert resumed.table == whole.table
    for row in (*resumed.history, *whole.history):
        row.pop("seconds")
    assert resumed.history == whole.history


def test_a_gap_that_rounding_made_negative_is_none():
    found = Certificate(np.array([1.0, 2.0]), np.array([1.0 + 1e-16, 2.0 + 1e-15]))
    assert found.gap == 0.0
    assert np.isnan(Certificate(np.array([np.nan]), np.array([1.0])).gap)
