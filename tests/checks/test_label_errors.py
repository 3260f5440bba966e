import numpy as np
import pytest

from myriad.checks.cross_fitting import HeldProbabilities
from myriad.checks.label_errors import (
    ExpectedScores,
    find_excluded,
    find_label_errors,
    find_thresholds,
    find_twins,
    rank_labels,
)
from myriad.store import ArrayRows
from myriad.training import Context
from myriad.training.sgd.method import SGD

SOFTMAX = SGD(objective="softmax", eta=1.0, epochs=4, scale=False)


def hold(probabilities, labels, n_kept=10):
    """Return held-out probabilities from a full matrix."""
    P = np.asarray(probabilities, np.float32)
    labels = np.asarray(labels, np.int32)
    classes = np.argsort(-P, axis=1, kind="stable")[:, :n_kept].astype(np.int32)
    rows = np.arange(len(P))
    best = np.take_along_axis(P, classes.astype(np.int64), axis=1)
    return HeldProbabilities(rows, labels, P[rows, labels], classes, best)


def draw_confident(n=300, n_classes=8, wrong=15, seed=0):
    """Return probabilities of a good model, labels of which the first are wrong, and the truth."""
    draws = np.random.default_rng(seed)
    truth = draws.integers(0, n_classes, n)
    logits = draws.standard_normal((n, n_classes))
    logits[np.arange(n), truth] += 4
    P = np.exp(logits)
    labels = truth.copy()
    labels[:wrong] = (truth[:wrong] + 1 + draws.integers(0, n_classes - 1, wrong)) % n_classes
    return P / P.sum(axis=1, keepdims=True), labels, truth


def test_wrong_labels_lead_the_ranking():
    P, labels, truth = draw_confident()
    ranked = rank_labels(hold(P, labels), 8)
    first = np.argsort(-ranked.score)[:12]
    assert (first < 15).mean() > 0.9
    listed = ranked.list_wrong()
    assert (np.diff(ranked.score[listed]) <= 0).all()
    right = listed[listed < 15]
    assert (ranked.suggested[right] == truth[right]).mean() > 0.9
    assert not (ranked.suggested == labels).any()


def test_thresholds_are_means_drawn_towards_that_of_all():
    P, labels, _ = draw_confident(n=400)
    labels[-1], P = 8, np.pad(P, ((0, 0), (0, 1)), constant_values=1e-9)
    held = hold(P, labels)
    found = find_thresholds(held, 9)
    own = P[np.arange(400), labels]
    for c in range(8):
        assert found[c] == pytest.approx(own[labels == c].mean(), abs=0.1)
    assert found[8] == pytest.approx(own.mean() * 5 / 6, abs=1e-3)


def test_a_class_that_is_never_sure_does_not_fill_the_list():
    """Rows of two classes that look alike are no errors; a clear one among them is."""
    P = np.full((60, 3), 0.01)
    labels = np.repeat([0, 1, 2], 20)
    P[:20] = [0.5, 0.48, 0.02]
    P[20:40] = [0.48, 0.5, 0.02]
    P[40:] = [0.01, 0.01, 0.98]
    P[5] = [0.46, 0.52, 0.02]
    P[40] = [0.7, 0.05, 0.25]
    ranked = rank_labels(hold(P, labels), 3)
    assert ranked.list_wrong()[0] == 40
    assert ranked.suggested[40] == 0


def test_few_kept_classes_rank_as_all():
    P, labels, _ = draw_confident(n_classes=30)
    few, every = (rank_labels(hold(P, labels, n_kept=k), 30) for k in (10, 30))
    listed = every.list_wrong()
    assert few.list_wrong()[:10].tolist() == listed[:10].tolist()


def test_classes_under_two_names_are_found():
    draws = np.random.default_rng(1)
    P, labels, _ = draw_confident(n=600, n_classes=6, wrong=0)
    # Class 5 is divided at random into 5 and 6: a model gives both half of its probability.
    halves = P[:, 5:] * draws.uniform(0.4, 0.6, (600, 1))
    P = np.concatenate([P[:, :5], halves, P[:, 5:] - halves], axis=1)
    labels[(labels == 5) & (draws.random(600) < 0.5)] = 6
    (twins,) = find_twins(hold(P, labels), 7)
    assert (twins.first, twins.second) == (5, 6)
    assert twins.share > 0.6
    assert find_twins(hold(*draw_confident()[:2]), 8) == []


def test_rounds_find_errors_that_models_learn_to_believe():
    """Wrong labels of one class are all of the same other one, so that models believe them."""
    draws = np.random.default_rng(0)
    truth = np.arange(240) % 4
    X = draws.standard_normal((4, 8))[truth] + 0.6 * draws.standard_normal((240, 8))
    labels = truth.astype(np.int32)
    wrong = np.flatnonzero(truth == 0)[:16]
    labels[wrong] = 1
    rows = ArrayRows(X.astype(np.float32), labels)
    ranked, first = find_label_errors(SOFTMAX, rows, n_classes=4, context=Context(threads=1))
    assert first.numbers.tolist() == ranked.held.numbers.tolist() == list(range(240))
    once = rank_labels(first, 4)
    found, before = (np.isin(wrong, np.argsort(-one.score)[:16]).sum() for one in (ranked, once))
    assert found >= before
    assert np.isin(ranked.list_wrong(), wrong).mean() > 0.8
    assert np.isin(np.flatnonzero(ranked.likely), wrong).all()
    # The models of the last round were trained without them, and are surer that they are wrong.
    assert ranked.held.given[wrong].mean() < first.given[wrong].mean()
    again, _ = find_label_errors(SOFTMAX, rows, n_classes=4, context=Context(threads=2))
    np.testing.assert_array_equal(ranked.score, again.score)


@pytest.mark.parametrize("n_kept", [8, 20])
def test_the_precision_of_the_list_is_estimated(n_kept):
    """Probabilities are right, so scores of true labels are those that are expected."""
    P, labels, truth = draw_confident(n=4000, n_classes=20, wrong=200)
    draws = np.random.default_rng(1)
    truth = (P.cumsum(axis=1) > draws.random((4000, 1))).argmax(axis=1)
    labels = np.where(np.arange(4000) < 200, labels, truth)
    held = hold(P, labels, n_kept)
    ranked, expected = rank_labels(held, 20), ExpectedScores()
    expected.add(held, 20)
    wrong, before = labels != truth, np.inf
    for precision in (0.9, 0.7, 0.5):
        threshold = expected.find_threshold(ranked.score, precision)
        assert threshold <= before
        before = threshold
        top = ranked.score >= threshold
        assert top.any()
        error = (precision * (1 - precision) / top.sum()) ** 0.5
        assert wrong[top].mean() > precision - 3 * error - 0.05
    right = rank_labels(hold(P, truth, n_kept), 20)
    assert (right.score >= expected.find_threshold(right.score, 0.85)).sum() < 20


def test_classes_that_look_alike_are_not_listed():
    """Half of the rows seem to belong to another class, and none of them is wrong."""
    draws = np.random.default_rng(0)
    truth = np.arange(400) % 20
    X = draws.standard_normal((20, 4))[truth] + draws.standard_normal((400, 4))
    rows = ArrayRows(X.astype(np.float32), truth.astype(np.int32))
    ranked, _ = find_label_errors(SOFTMAX, rows, n_classes=20, context=Context(threads=1))
    assert (ranked.held.classes[:, 0] != ranked.held.labels).mean() > 0.4
    assert ranked.wrong.mean() > 0.1
    assert ranked.likely.mean() < 0.05
    assert not (ranked.sure & ~ranked.likely).any()


def test_no_class_is_excluded_as_a_whole():
    P = np.full((40, 3), 0.02)
    labels = np.repeat([0, 1, 2], [20, 10, 10])
    P[np.arange(40), labels] = 0.96
    P[20:28] = [0.95, 0.03, 0.02]
    ranked = rank_labels(hold(P, labels), 3)
    assert ranked.wrong.sum() == 8
    excluded = find_excluded(ranked, 50, 3)
    assert excluded.shape == (50,)
    assert np.flatnonzero(excluded).tolist() == ranked.list_wrong()[:5].tolist()
