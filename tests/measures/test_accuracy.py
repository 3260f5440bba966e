"""Accuracies from ranks, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.metrics import recall_score, top_k_accuracy_score

from myriad.errors import InputError
from myriad.measures import (
    LabelSets,
    count_confusions,
    measure,
    rank_all_labels,
    rank_truths,
    ranks_of_truth,
)
from myriad.measures.accuracy import UNKNOWN


def make_scores(n=200, n_classes=12, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    scores = rng.standard_normal((n, n_classes)).astype(np.float32)
    scores[np.arange(n), labels] += 1
    return scores, labels


@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_agrees_with_scikit_learn(k):
    scores, labels = make_scores()
    measures = measure(ranks_of_truth(scores, labels), labels, n_classes=12)
    expected = top_k_accuracy_score(labels, scores, k=k, labels=np.arange(12))
    assert measures.sample_at[k - 1] == pytest.approx(100 * expected)


def test_class_mean_agrees_with_macro_recall():
    scores, labels = make_scores()
    labels[labels == 3] = 4  # a class that is missing from the split does not count
    measures = measure(ranks_of_truth(scores, labels), labels, n_classes=12)
    guesses, present = scores.argmax(axis=1), np.unique(labels)
    expected = recall_score(labels, guesses, labels=present, average="macro")
    assert measures.class_at[0] == pytest.approx(100 * expected)


def test_ties_count_against_the_classifier():
    scores = np.zeros((1, 4), np.float32)
    assert ranks_of_truth(scores, np.array([0], np.int32))[0] == 4
    measures = measure(np.array([4], np.int32), np.array([0], np.int32), n_classes=4)
    assert measures.sample_at[:4] == (0.0, 0.0, 0.0, 100.0)


def test_k_above_the_number_of_classes_means_all():
    ranks = np.array([1, 2, 3], np.int32)
    measures = measure(ranks, np.array([0, 1, 2], np.int32), n_classes=3)
    assert measures.sample_at[2] == measures.sample_at[9] == 100.0


def test_unknown_classes_are_wrong_at_every_k():
    scores, labels = make_scores(n=4, n_classes=3)
    labels[:] = [0, 1, 2, -1]
    ranks = ranks_of_truth(scores, labels)
    assert ranks[3] == UNKNOWN
    measures = measure(ranks, np.array([0, 1, 2, 7], np.int32), n_classes=3)
    assert measures.unknown == 1
    assert measures.sample_at[9] == 75.0
    assert measures.class_at[9] == 75.0


def test_a_nan_score_is_never_right():
    scores = np.full((1, 3), np.nan, np.float32)
    assert ranks_of_truth(scores, np.array([1], np.int32))[0] == UNKNOWN


def test_nothing_scored_gives_null():
    empty = np.zeros(0, np.int32)
    found = measure(empty, empty, n_classes=3, bad=2).to_json()
    assert found["top1"] is None
    assert found["accuracy_at"]["10"] is None
    assert found["bad"] == 2


def test_confusions_are_counted_most_frequent_first():
    truths = np.array([0, 0, 1, 1, 1, -1], np.int32)
    guesses = np.array([0, 2, 2, 2, 0, 0], np.int32)
    found = count_confusions(truths, guesses, n_classes=3)
    assert [(c.truth, c.predicted, c.count, c.row) for c in found] == [
        (1, 2, 2, 2),
        (0, 2, 1, 1),
        (1, 0, 1, 4),
    ]


def test_a_row_of_several_classes_is_right_if_any_is_near_the_top():
    scores = np.array([[5, 4, 3, 2], [1, 2, 3, 4], [1, 1, 0, 0], [9, 9, 9, 9]], np.float32)
    sets = LabelSets.from_lists([[1, 2], [3], [0, 1], []])
    ranks = rank_truths(scores, sets)
    assert ranks[:3].tolist() == [2, 1, 1]
    found = measure(ranks, sets, n_classes=4)
    assert found.n == 3
    assert found.at(1) == pytest.approx(200 / 3)
    assert found.at(2) == 100
    # Class 0: right; class 1: wrong and right; class 2: wrong; class 3: right.
    assert found.class_at[0] == pytest.approx(100 * (1 + 0.5 + 0 + 1) / 4)


def test_models_are_chosen_by_the_worst_of_several_labels():
    scores = np.array([[5, 4, 3, 2], [1, 2, 3, 4], [1, 1, 0, 1], [9, 9, 9, 9]], np.float32)
    scores = np.concatenate([scores, np.full((1, 4), np.nan, np.float32)])
    sets = LabelSets.from_lists([[0, 2], [3], [0, 1], [], [1]])
    assert rank_all_labels(scores, sets).tolist() == [2, 1, 2, UNKNOWN, UNKNOWN]
    scores, labels = make_scores()
    expected = rank_truths(scores, labels)
    assert (rank_all_labels(scores, labels) == expected).all()
    assert (rank_all_labels(scores, LabelSets.from_labels(labels)) == expected).all()


def test_sets_of_one_class_are_ranked_as_single_labels():
    scores = np.random.default_rng(0).integers(0, 4, (50, 6)).astype(np.float32)
    labels = np.arange(50, dtype=np.int32) % 6
    sets = LabelSets.from_labels(labels)
    assert (rank_truths(scores, sets) == rank_truths(scores, labels)).all()
    assert measure(rank_truths(scores, sets), sets, n_classes=6) == measure(
        rank_truths(scores, labels), labels, n_classes=6
    )


@pytest.mark.parametrize("several", [False, True])
def test_true_classes_without_a_score_are_refused(several):
    scores, labels = make_scores()
    for wrong in (labels[:-1], np.append(labels, labels[:1]), np.where(labels == 3, 12, labels)):
        truths = LabelSets.from_labels(wrong) if several else wrong
        with pytest.raises(InputError, match=r"true class"):
            rank_truths(scores, truths)
