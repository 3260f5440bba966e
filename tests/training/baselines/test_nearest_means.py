"""Class means: against their definition, by any number of threads, in any number of parts."""

import numpy as np
import pytest

from myriad.errors import WorkError
from myriad.measures import LabelSets
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import METHODS, ClassSums, Context, Means, make_method
from tests.reference.means import find_means, rank_by_distance

N, DIM, CLASSES = 900, 300, 7  # several blocks of features, one not full


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, N).astype(np.int32)
    labels[labels == 5] = 2  # class 5 has no row
    labels[:3] = -1
    X = rng.standard_normal((N, DIM), dtype=np.float32)
    X += 0.2 * rng.standard_normal((CLASSES, DIM), dtype=np.float32)[labels]
    return X, labels


def train(rows, threads=1):
    return Means().fit(rows, None, n_classes=CLASSES, context=Context(threads=threads)).model


@pytest.mark.parametrize("offset", [0, 1000])
def test_ranks_by_the_distance_to_the_means(data, offset):
    X, labels = data[0] + np.float32(offset), data[1]
    lists = [[c] if c >= 0 else [] for c in labels.tolist()]
    means = find_means(X, lists, CLASSES)
    expected = rank_by_distance(X[:50], means)
    found, _ = train(ArrayRows(X, labels)).rank(X[:50], CLASSES)
    np.testing.assert_array_equal(found, expected)
    assert (found[:, -1] == 5).all()


def test_several_labels_and_weights(data):
    X, labels = data
    rng = np.random.default_rng(1)
    lists = [sorted({int(c), int(rng.integers(0, 4))} - {-1}) for c in labels]
    weights = rng.integers(0, 3, N)
    rows = ArrayRows(X, LabelSets.from_lists(lists), [str(c) for c in range(CLASSES)])
    weighted = ArrayRows(X, rows.sets, rows.class_names, weights=weights)
    for source, given in ((rows, None), (weighted, weights)):
        means = find_means(X, lists, CLASSES, given)
        found, _ = train(source).rank(X[:50], CLASSES)
        np.testing.assert_array_equal(found, rank_by_distance(X[:50], means))


def test_same_bits_on_any_number_of_threads_and_in_parts(data):
    X, labels = data
    rows = ArrayRows(X, labels)
    models = [train(rows, threads) for threads in (1, 2, 3)]
    parts = ClassSums(CLASSES, DIM)
    with open_threads(1) as pool:
        for some in np.array_split(np.arange(N), 4):
            parts.add(rows.select(some), pool=pool)
    for model in [*models[1:], parts.to_model()]:
        assert model.weights.tobytes() == models[0].weights.tobytes()
        assert model.biases.tobytes() == models[0].biases.tobytes()


def test_rows_too_large_are_an_error_not_infinite_weights():
    X = np.array([[1e30, 0], [0, 1e30]], np.float32)
    with pytest.raises(WorkError, match="too large"):
        Means().fit(ArrayRows(X, [0, 1]), None, n_classes=2)


def test_requested_by_name():
    method = make_method(METHODS, "means", seed=3)
    assert method == Means(seed=3)
    assert not method.is_open
