"""Training in the dual, interrupted and resumed; what its epochs may not depend on."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.parallel import open_threads
from myriad.progress import Progress
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context, Recall, TopK, TopPush
from myriad.training.checkpoints import Checkpoint
from myriad.training.dual.ascent import Certificate
from myriad.training.dual.one_vs_rest_kernels import gather_variables
from myriad.training.dual.spaces import sum_signed_columns
from myriad.training.dual.sparse_duals import SparseDuals
from myriad.training.dual.sparse_duals_kernels import RowClasses, SparseBlock

METHODS = {
    "topk": TopK(k=2, tol=1e-5, epochs=40, lam=0.003),
    "topk, lam searched": TopK(k=1, tol=1e-4, epochs=30),
    "dual": BinaryDual(tol=1e-5, epochs=40, lam=0.003),
    "toppush": TopPush(tol=1e-6, epochs=40),
    "toppush, lam": TopPush(tol=1e-6, epochs=40, lam=0.003),
    "recall": Recall(k=2, tol=1e-6, epochs=40, lam=0.003),
    "recall, batches": Recall(k=2, batch=60, tol=1e-6, epochs=40, lam=0.003),
    "recall, lam searched": Recall(tol=1e-5, epochs=40),
}


class Broken(Exception):
    pass


class Breaking(Progress):
    """Breaks training off after so many rows."""

    def __init__(self, rows):
        self.left = rows

    def step(self, title, total, unit):
        return _Step(self if title.startswith("Epoch ") else None)


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
def test_an_interrupted_run_resumes_to_the_same_weights(tmp_path, name):
    train, val, method = make_rows(), make_rows(80, seed=1), METHODS[name]
    whole = method.fit(train, val, n_classes=5, context=Context(threads=1))
    assert len(whole.history) > 2

    def keep():
        return Checkpoint(tmp_path / "state", {"name": name}, every=0.0)

    for epochs in (7, 3):
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


def make_several(n=150):
    """Return rows of none to three of five labels."""
    rng = np.random.default_rng(2)
    plain = make_rows(n)
    lists = [rng.choice(5, rng.integers(0, 4), replace=False) for _ in range(n)]
    return ArrayRows(plain.X, LabelSets.from_lists(lists), [str(c) for c in range(5)])


@pytest.mark.parametrize("beta", [None, 2.0])
def test_several_labels_are_a_problem_of_two_classes_each(beta):
    rows = make_several()
    options = {"tol": 1e-6, "epochs": 500, "lam": 0.01, "beta": beta, "center": False}
    fitted = BinaryDual(**options).fit(rows, None, n_classes=5, context=Context(threads=1))
    for c, positive in enumerate(rows.sets.to_matrix(5).T):
        alone = ArrayRows(rows.X, np.where(positive, 1, 0).astype(np.int32), ["no", "yes"])
        expected = BinaryDual(**options).fit(alone, None, n_classes=2, context=Context(threads=1))
        np.testing.assert_allclose(fitted.model.weights[c], expected.model.weights[1], atol=2e-3)
        np.testing.assert_allclose(
            fitted.certificate.primals[c], expected.certificate.primals[1], rtol=1e-5
        )


def test_several_labels_in_class_shards():
    rows = make_several()
    method = BinaryDual(tol=1e-4, epochs=30, lam=0.01)
    with Context(threads=1).open() as running:
        whole, part = method.make(rows, 5, 0.01), method.make(rows, 5, 0.01, own=range(5))
        for trainer in (whole, part):
            trainer.run_epoch(rows, seed=0, pool=running.pool, advance=lambda _: None)
            trainer.certify(running.pool)
    assert whole.weights()[0].tobytes() == part.weights()[0].tobytes()


def test_top_k_takes_one_label_a_row():
    with pytest.raises(InputError, match="one label each"):
        TopK(k=1, lam=0.01).fit(make_several(), None, n_classes=5, context=Context(threads=1))


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_of_dense_and_of_sparse_shards(threads):
    rng = np.random.default_rng(3)
    n_rows, n_classes, dim = 300, 40, 700
    X = rng.standard_normal((n_rows, dim)).astype(np.float32)
    labels = rng.integers(n_classes, size=n_rows)
    rows = ArrayRows(X, labels, [str(c) for c in range(n_classes)])
    shards = [slice(0, 16), slice(16, 32), slice(32, 40)]
    share = np.array([0.5] * 16 + [0.02] * 16 + [0.3] * 8)  # nonzero variables of each class
    values = rng.random((n_rows, n_classes)) * (rng.random((n_rows, n_classes)) < share)
    duals = SparseDuals(n_rows)
    arrays = np.zeros(values.shape, np.int32), np.zeros(values.shape), np.zeros(n_rows, np.int32)
    block = SparseBlock(*arrays)
    gather_variables(values.T.copy(), block)
    duals.store(np.arange(n_rows), block)
    sets = rows.all_labels
    with open_threads(threads) as pool:
        weights = sum_signed_columns(
            rows, duals, RowClasses(sets.starts, sets.classes), shards, pool, width=dim
        )
    signs = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    assert np.allclose(weights, (signs * values).T @ X.astype(np.float64), rtol=1e-10, atol=1e-12)
