"""Decisions: weights of classes, rejection, hierarchies, and the same for any block of rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from myriad.errors import InputError
from myriad.models import Decider, Hierarchy, Rejection, evaluate_decisions, weigh_classes
from myriad.models import model as model_module
from tests.models.folders import draw_rows, make_folder

X, LABELS = draw_rows(300, 5, 6, seed=7)
TREE = {f"class {c}": (f"pair {c // 2}", "all" if c < 4 else "rest") for c in range(5)}


def test_the_best_labels_have_the_probabilities_of_all():
    decider = Decider(make_folder())
    P, found = decider.predict_proba(X), decider.decide(X, 3)
    np.testing.assert_array_equal(found.labels[:, 0], P.argmax(axis=1))
    expected = np.take_along_axis(P, found.labels.astype(int), axis=1)
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-5)
    np.testing.assert_array_equal(found.scores, decider.model.rank(X, 3)[1])


def test_blocks_of_rows_change_nothing(monkeypatch):
    options = {"coverage": 0.9, "hierarchy": Hierarchy.of(list(TREE), TREE, ["pair", "kingdom"])}
    whole = Decider(make_folder(), **options).describe(Decider(make_folder(), **options).decide(X))
    monkeypatch.setattr(model_module, "SCORE_BYTES", 4 * 5 * 60)
    decider = Decider(make_folder(), **options)
    for one, other in zip(decider.describe(decider.decide(X)), whole, strict=True):
        assert one["set"] == other["set"]
        assert one["answer"]["label"] == other["answer"]["label"]


def test_weights_multiply_probabilities():
    weights = np.array([1.0, 0.0, 2.0, 0.5, 1.0])
    plain, weighted = Decider(make_folder()), Decider(make_folder(), weights=weights)
    expected = plain.predict_proba(X)
    scores = plain.model.scores(X).astype(np.float64)
    with np.errstate(divide="ignore"):
        logits = plain.calibration.scales(scores.max(axis=1))[:, None] * scores + np.log(weights)
    second, first = np.sort(logits, axis=1)[:, -2:].T
    logits[np.arange(len(X)), logits.argmax(axis=1)] += plain.calibration.bonuses(first, second)
    expected = softmax(logits, axis=1)
    np.testing.assert_allclose(weighted.predict_proba(X), expected, rtol=1e-4, atol=1e-7)
    found = weighted.decide(X, 10)
    assert found.labels.shape == (300, 4)
    assert not (found.labels == 1).any()
    scores = np.take_along_axis(plain.model.scores(X), found.labels.astype(int), axis=1)
    np.testing.assert_array_equal(found.scores, scores)


def test_only_some_classes_without_probabilities():
    folder = make_folder(calibrated=False)
    weights = weigh_classes(folder.class_names, only=["class 1", "class 3"])
    found = Decider(folder, weights=weights).decide(X, 5)
    assert found.probabilities is None
    best = np.array([1, 3])[folder.model.scores(X)[:, [1, 3]].argmax(axis=1)]
    np.testing.assert_array_equal(found.labels[:, 0], best)
    for weights in ([1.0, 2.0, 3.0, 1.0, 1.0], [1.0, 5.0, 1.0, 1.0, 1.0]):
        with pytest.raises(InputError, match="train it again"):
            Decider(folder, weights=np.array(weights))


def test_a_label_alone_is_not_a_list_of_labels():
    with pytest.raises(InputError, match=r"list of labels, such as \['cat'\]"):
        weigh_classes(["cat", "dog"], only="cat")


def test_the_precision_of_answers():
    folder = make_folder(12, 3, n_rows=800)
    rows, labels = draw_rows(2000, 12, 3, seed=11)
    decider = Decider(folder, reject=Rejection("precision", 0.9))
    results = evaluate_decisions(decider, rows, labels)
    right = results["guesses"] == labels
    assert right.mean() < 0.8
    assert right[results["answered"]].mean() > 0.86
    confidence = folder.calibration.confidence
    order = np.argsort(-confidence)
    wrong = np.cumsum(folder.calibration.ranks[order] != 1)
    most = max(m for m in range(1, 801) if (wrong[m - 1] + 1) / (m + 1) <= 0.1)
    np.testing.assert_allclose(decider.least_confidence, confidence[order[most - 1]], atol=2e-6)


def test_the_rate_of_rejection():
    decider = Decider(make_folder(), reject=Rejection("rate", 0.2))
    assert abs(decider.decide(X, 1).unknown.mean() - 0.2) < 0.08


def test_a_precision_out_of_reach():
    with pytest.raises(InputError, match="the highest that can be shown"):
        Decider(make_folder(12, 2, scale=0.01), reject=Rejection("precision", 0.999))


def test_novelty_that_was_not_learned():
    with pytest.raises(InputError, match="no novelty score"):
        Decider(make_folder(), reject=Rejection("novelty", 0.05))


def test_answers_climb_the_hierarchy():
    tree = Hierarchy.of(list(TREE), TREE, ["pair", "kingdom"])
    decider = Decider(make_folder(), hierarchy=tree, confidence=0.9)
    P, found = decider.predict_proba(X), decider.decide(X, 1)
    pairs = np.stack([P[:, :2].sum(1), P[:, 2:4].sum(1), P[:, 4]], axis=1)
    top = np.stack([P[:, :4].sum(1), P[:, 4]], axis=1)
    for row in range(len(X)):
        for level, values in enumerate((P[row], pairs[row], top[row])):
            if values.max() >= 0.9:
                assert found.levels[row] == level
                assert found.groups[row] == values.argmax()
                np.testing.assert_allclose(found.confidences[row], values.max())
                break
        else:
            assert found.levels[row] == -1
    assert set(found.levels) >= {0, 1}
    results = evaluate_decisions(decider, X, LABELS)
    np.testing.assert_array_equal(results["level_1"], pairs.argmax(axis=1) == LABELS // 2)
    here = results["levels"] == 1
    np.testing.assert_array_equal(
        results["level_right"][here], (pairs.argmax(axis=1) == LABELS // 2)[here]
    )


def test_judging_ranks_as_the_model_does():
    folder = make_folder()
    labels = LABELS.copy()
    labels[:5] = -1
    results = evaluate_decisions(Decider(folder), X, labels)
    ranks, guesses = folder.model.rank_true_labels(X, labels)
    np.testing.assert_array_equal(results["ranks"], ranks)
    np.testing.assert_array_equal(results["guesses"], guesses)
    P = Decider(folder).predict_proba(X)
    np.testing.assert_allclose(results["squares"], (P**2).sum(axis=1))
    assert (results["true"][:5] == 0).all()


@pytest.mark.parametrize("weights", [np.ones(4), -np.ones(5), np.zeros(5), np.full(5, np.nan)])
def test_bad_weights(weights):
    with pytest.raises(InputError, match="weight"):
        Decider(make_folder(), weights=weights)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("calibrated", [True, False])
def test_rows_whose_scores_overflow_are_refused(calibrated):
    folder = make_folder() if calibrated else replace(make_folder(), calibration=None)
    rows = X[:4].copy()
    rows[2] = 3e38 * np.sign(folder.model.weights[0])
    with pytest.raises(InputError, match="Row 2 has values that are too large"):
        Decider(folder).decide(rows)
