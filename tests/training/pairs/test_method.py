"""TopPush and Recall@k: their optimum and their certificates."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import METHODS, Context, Recall, TopPush, make_method
from myriad.training.pairs import trainer as pairs
from myriad.training.pairs.recall import draw_batches, select_pairs
from myriad.training.pairs.shift import shift_to_balance
from tests.reference.pairs import (
    balance,
    push_optimum,
    push_value,
    recall_optimum,
    recall_slack,
    recall_value,
)
from tests.training.dual.test_one_vs_rest import make_rows

ONE = Context(threads=1)


def small_rows(n=18, n_classes=3, dim=4):
    rng = np.random.default_rng(3)
    labels = np.arange(n, dtype=np.int32) % n_classes
    X = rng.standard_normal((n_classes, dim))[labels] + 0.7 * rng.standard_normal((n, dim))
    return ArrayRows(X.astype(np.float32), labels, [str(c) for c in range(n_classes)])


def test_variables_are_projected_to_equal_sums():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 30).astype(np.int32)
    own = labels[:, None] == np.arange(4)
    for spread in (0.1, 1.0, 10.0):
        A = spread * rng.standard_normal((30, 4))
        found, apart = A.copy(), A.copy()
        shift_to_balance(found, labels, np.zeros(4, np.int64), np.zeros(1))
        positives, negatives = balance(A[own], A[~own])
        np.testing.assert_allclose(found[own], positives, atol=1e-12 * spread)
        np.testing.assert_allclose(found[~own], negatives, atol=1e-12 * spread)
        shift_to_balance(apart, labels, np.arange(4), np.zeros(4))
        for c in range(4):
            positives, _ = balance(A[own[:, c], c], A[~own[:, c], c])
            np.testing.assert_allclose(apart[own[:, c], c], positives, atol=1e-12 * spread)


def test_the_search_for_the_shift_does_not_go_back_and_forth():
    rng = np.random.default_rng(0)
    first = np.eye(3)[[0, 1, 2, 0]]  # the first step of training: only positives, all alike
    for A in (first, *rng.standard_normal((200, 4, 3)), *rng.integers(-2, 3, (200, 4, 3))):
        labels = np.array([0, 1, 2, 0], np.int32)
        own = labels[:, None] == np.arange(3)
        found = A.astype(np.float64)
        shift_to_balance(found, labels, np.zeros(3, np.int64), np.zeros(1))
        positives, negatives = balance(A[own], A[~own])
        np.testing.assert_allclose(found[own], positives, atol=1e-12)
        np.testing.assert_allclose(found[~own], negatives, atol=1e-12)


def test_toppush_of_one_row():
    X = np.array([[1.0, 0.5]], np.float32)
    rows = ArrayRows(X, np.zeros(1, np.int32), ["a", "b", "c"])
    fitted = TopPush(lam=0.1, tol=1e-4, center=False).fit(rows, None, n_classes=3, context=ONE)
    best = 0.075 / (0.075 + 2.25 * (X**2).sum())  # both wrong classes share the dual variable
    assert fitted.certificate.duals.sum() <= best * (1 + 1e-6)
    assert fitted.certificate.primals.sum() == pytest.approx(best, rel=2e-4)


def test_a_class_without_rows_is_projected_to_zero():
    A = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0]])
    shift_to_balance(A, np.array([0, 1], np.int32), np.arange(3), np.zeros(3))
    assert (A[:, 2] == 0).all()
    assert A.min() >= 0


@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_toppush_reaches_the_optimum(lam):
    rows = small_rows()
    method = TopPush(lam=lam, tol=1e-4, epochs=4000, center=False)
    fitted = method.fit(rows, None, n_classes=3, context=ONE)
    best = push_optimum(rows.X.astype(np.float64), rows.labels, 3, lam)
    assert fitted.settings["gap"] <= 1e-4
    assert fitted.certificate.duals.sum() <= best * (1 + 1e-6)
    assert fitted.certificate.primals.sum() == pytest.approx(best, rel=2e-4)
    W = fitted.model.weights.astype(np.float64)
    value = push_value(W, rows.X, rows.labels, lam, np.zeros(3))
    assert fitted.certificate.primals.sum() == pytest.approx(value, rel=1e-5)


def test_toppush_of_each_class_has_a_certificate_of_each():
    rows = small_rows()
    method = TopPush(lam=0.1, per_class=True, tol=1e-3, epochs=4000, center=False)
    fitted = method.fit(rows, None, n_classes=3, context=ONE)
    assert fitted.certificate.primals.shape == (3,)
    assert fitted.settings["gap"] <= 1e-3
    value = push_value(fitted.model.weights, rows.X, rows.labels, 0.1, np.arange(3))
    assert fitted.certificate.primals.sum() == pytest.approx(value, rel=1e-5)


def test_toppush_without_lam_keeps_the_weights_of_the_best_validation():
    train, val = make_rows(), make_rows(80, seed=1)
    fitted = TopPush(epochs=60).fit(train, val, n_classes=5, context=ONE)
    top1 = [row["top1"] for row in fitted.history]
    assert fitted.epochs == fitted.history[top1.index(max(top1))]["epoch"]
    ranks, _ = fitted.model.rank_true_labels(val.X, val.labels)
    assert 100 * (ranks == 1).mean() == pytest.approx(max(top1))
    assert TopPush(epochs=60).settled(fitted).epochs == fitted.epochs


@pytest.mark.parametrize("k", [1, 2])
def test_the_worst_prediction_is_found_from_sorted_scores(k):
    rng = np.random.default_rng(k)
    labels = np.array([0, 2, 1], np.int32)
    for _ in range(5):
        S = rng.standard_normal((3, 3))
        M, missed, xi = select_pairs(S.copy(), labels, k)
        assert xi == pytest.approx(recall_slack(S, labels, k))
        assert xi == pytest.approx(missed + (M * S).sum() / 3)
        assert M.sum() <= (k - 1) * 3


def test_recall_asks_for_no_more_pairs_than_there_are_positives():
    labels = np.arange(4, dtype=np.int32)
    S = 3.0 * np.eye(4) - 1.0  # all positives above 1, all negatives below 0
    for k in (1, 2, 3):
        M, missed, xi = select_pairs(S.copy(), labels, k)
        assert not M.any()
        assert missed == xi == 0.0


@pytest.mark.parametrize(("batch", "k"), [(None, 1), (4, 1), (4, 2), (1, 2)])
def test_recall_reaches_the_optimum_of_its_batches(batch, k):
    rows, lam = small_rows(n=6 if batch is None else 8), 0.05
    method = Recall(k=k, batch=batch, lam=lam, tol=1e-4, epochs=2000, center=False)
    fitted = method.fit(rows, None, n_classes=3, context=ONE)
    trainer = method.make(rows, 3, lam)
    order = rows.order(seed=0, epoch=0)
    batches = [np.sort(some) for some in np.array_split(order, len(trainer.batches))]
    assert len(batches) == {None: 1, 4: 2, 1: 8}[batch]
    X, labels = rows.X.astype(np.float64), rows.labels
    best = recall_optimum(X, labels, 3, k, lam, batches)
    assert fitted.settings["gap"] <= 1e-4
    assert fitted.certificate.duals.sum() <= best * (1 + 1e-6)
    assert fitted.certificate.primals.sum() == pytest.approx(best, rel=2e-4)
    value = recall_value(fitted.model.weights, X, labels, k, lam, batches)
    assert fitted.certificate.primals.sum() == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("k", [1, 2])
def test_the_loss_of_batches_is_at_most_that_of_all_rows(k):
    rows, rng = make_rows(), np.random.default_rng(0)
    for batch in (1, 7, 100):
        batches = draw_batches(rows, batch, seed=0)
        assert max(some.n_rows for some in batches) <= batch
        assert sum(some.n_rows for some in batches) == rows.n_rows
        for scale in (0.01, 0.1, 1.0):
            W = scale * rng.standard_normal((5, rows.dim)).astype(np.float32)

            def slack(some, W=W):
                return select_pairs(some.read(range(some.n_rows)) @ W.T, some.labels, k)[2]

            mean = sum(some.n_rows * slack(some) for some in batches) / rows.n_rows
            assert mean <= slack(rows) + 1e-6


def test_batches_hold_fewer_pairs_than_all_rows(monkeypatch):
    rows = small_rows()
    monkeypatch.setattr(pairs, "MOST_PAIRS", 20)
    with pytest.raises(InputError, match="train in mini-batches"):
        Recall(lam=0.1).fit(rows, None, n_classes=3, context=ONE)
    fitted = Recall(lam=0.1, batch=6, epochs=5).fit(rows, None, n_classes=3, context=ONE)
    assert fitted.settings["batch"] == 6


def test_memory_of_an_epoch_depends_on_the_batch_and_not_on_the_number_of_rows():
    def peak(n, batch):
        rows = make_rows(n, n_classes=20)
        trainer = Recall(batch=batch, lam=0.1).make(rows, 20, 0.1)
        with open_threads(1) as pool:
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda _: None)
            tracemalloc.start()
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda _: None)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return most

    small, large = peak(2_000, 500), peak(16_000, 500)
    assert large < 1.2 * small
    assert large < 0.2 * peak(16_000, None)


def test_batches_are_those_of_the_seed():
    rows, method = make_rows(), Recall(lam=0.1, batch=40, epochs=4)
    found = [
        replace(method, seed=seed).fit(rows, None, n_classes=5, context=ONE).model.weights
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_too_many_pairs_and_too_many_guesses_are_refused(monkeypatch):
    rows = small_rows()
    with pytest.raises(InputError, match="k is 3, but there are 3 classes"):
        Recall(k=3, lam=0.1).fit(rows, None, n_classes=3)
    monkeypatch.setattr(pairs, "MOST_PAIRS", 50)
    with pytest.raises(InputError, match="18 rows of 3 classes are 54 pairs"):
        make_method(METHODS, "toppush", lam="0.1").fit(rows, None, n_classes=3)
