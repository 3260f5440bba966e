"""The path over lam of training in the dual: where it ends."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from myriad import TopKSVM
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context, TopK
from myriad.training.dual.ascent import Certificate

N_CLASSES = 4
PATH = [float(lam) for lam in range(12, 0, -1)]


class Scripted:
    """Variables whose objective and accuracy are stated for each lam of a path."""

    estimates, estimate, n_classes = False, None, N_CLASSES

    def __init__(self, rows, primals, right):
        self.rows, self.lam, self.epoch = rows, PATH[0], 0
        self.primals = dict(zip(PATH, primals, strict=True))
        self.right = dict(zip(PATH, right, strict=True))

    def change_lam(self, lam):
        self.lam = lam

    def run_epoch(self, rows, *, seed, pool, advance):
        self.epoch += 1

    def certify(self, pool):
        primal = np.array([self.primals[self.lam]])
        self.certificate = Certificate(primal, primal)
        return self.certificate

    def rank(self, rows, *, pool):
        """Rank the true label first in so many classes, and last in the others."""
        return np.where(rows.labels < self.right[self.lam], 1, N_CLASSES)[None].astype(np.int32)


def follow(monkeypatch, primals, right):
    rows = ArrayRows(np.eye(N_CLASSES, dtype=np.float32), np.arange(N_CLASSES, dtype=np.int32))
    method = TopK()
    monkeypatch.setattr(TopK, "make", lambda *given: Scripted(rows, primals, right))
    with Context(threads=1).open() as running:
        table = method.follow_path(PATH, rows, rows, N_CLASSES, running=running)
    return [row["top1"] for row in table]


def test_values_before_anything_is_learned_do_not_end_the_path(monkeypatch):
    primals = [0.999, 0.998, 0.99, 0.98, 0.97, 0.96, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1]
    right = [2, 2, 1, 2, 2, 1, 2, 3, 3, 2, 3, 3]
    found = follow(monkeypatch, primals, right)
    assert found == [50, 50, 25, 50, 50, 25, 50, 75, 75, 50, 75]


def test_the_path_ends_at_a_perfect_accuracy(monkeypatch):
    assert follow(monkeypatch, [0.5] * 12, [2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]) == [
        50,
        75,
        100,
    ]


def test_the_path_ends_where_accuracy_does_not_rise(monkeypatch):
    assert len(follow(monkeypatch, [0.5] * 12, [3, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4])) == 4


def test_lam_is_not_chosen_at_the_strong_end_for_digits():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
    found = TopKSVM(max_epochs=100).fit(X_train, y_train)
    assert found.settings_["lam"] < 0.1
    assert found.score(X_test, y_test) > 0.94


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("beta", [None, 3.0])
@pytest.mark.parametrize("weights", [None, (1.0, 2.0, 0.5)])
def test_untrained_loss_is_that_of_the_best_constant(loss, beta, weights):
    labels = np.repeat(np.arange(3, dtype=np.int32), [2, 5, 13])
    method = BinaryDual(loss=loss, beta=beta, class_weights=weights)
    n, total = len(labels), 0.0
    for c in range(3):
        own = labels == c
        cost = np.full(n, 1 / n)
        if beta is not None:
            cost = np.where(own, 1 / own.sum(), beta / (n - own.sum())) / (1 + beta)
        cost[own] *= 1.0 if weights is None else weights[c]
        power = 2 if loss == "squared_hinge" else 1

        def value(score, own=own, cost=cost, power=power):
            return cost @ np.maximum(0, 1 - np.where(own, score, -score)) ** power

        total += minimize_scalar(value, bounds=(-1, 1), method="bounded").fun
    assert method.untrained_loss(np.bincount(labels), n) == pytest.approx(total, rel=1e-4)


def test_untrained_loss_of_topk_is_that_of_zero_weights():
    labels = np.arange(3, dtype=np.int32).repeat(4)
    X = np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)
    for variant in ("alpha", "beta"):
        method = TopK(k=2, variant=variant)
        with Context(threads=1).open() as running:
            primals = method.make(ArrayRows(X, labels), 3, 0.1).certify(running.pool).primals
        assert method.untrained_loss(np.bincount(labels), 12) == pytest.approx(primals.sum())
