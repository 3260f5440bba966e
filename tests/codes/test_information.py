"""Mutual information against its definition and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from myriad.codes import BINS, counting, information, measure_information, rank_features
from myriad.errors import InputError
from myriad.measures import LabelSets
from tests.reference import information as plain

DIM, CLASSES = 11, 5


def make_rows(n, seed=0):
    """Return rows whose features say more and more about the class; one is constant."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, n).astype(np.int32)
    means = rng.standard_normal((CLASSES, DIM)) * np.linspace(0, 2, DIM)
    X = (rng.standard_normal((n, DIM)) + means[labels]).astype(np.float32)
    X[:, 4] = 0.25
    return X, labels


def blocks_of(X, labels, size=97):
    parts = [slice(start, start + size) for start in range(0, len(X), size)]
    return lambda: ((X[part], LabelSets.from_labels(labels[part])) for part in parts)


@pytest.mark.parametrize("bins", [None, *BINS])
@pytest.mark.parametrize("unknown", [False, True])
def test_agrees_with_the_definition(bins, unknown):
    X, labels = make_rows(700)
    if unknown:
        labels[::3] = -1
    found = measure_information(blocks_of(X, labels), dim=DIM, n_classes=CLASSES, bins=bins)
    sets = [[c] if c >= 0 else [] for c in labels.tolist()]
    np.testing.assert_allclose(found, plain.inform(X, sets, CLASSES, bins), atol=1e-6)
    assert found[4] == 0


def test_agrees_with_scikit_learn():
    X, labels = make_rows(500)
    found = measure_information(blocks_of(X, labels), dim=DIM, n_classes=CLASSES)
    theirs = [mutual_info_score(labels, X[:, j] >= 0) / np.log(2) for j in range(DIM)]
    np.testing.assert_allclose(found, theirs, atol=1e-9)


@pytest.mark.parametrize("bins", [None, 4])
def test_several_labels_are_summed(bins):
    X, labels = make_rows(400)
    rng = np.random.default_rng(5)
    sets = [sorted({c, *rng.integers(0, CLASSES, rng.integers(0, 3))}) for c in labels.tolist()]
    for i in range(0, 400, 7):
        sets[i] = []
    parts = [slice(first, first + 150) for first in range(0, 400, 150)]

    def read():
        return ((X[part], LabelSets.from_lists(sets[part])) for part in parts)

    found = measure_information(read, dim=DIM, n_classes=CLASSES, bins=bins, several=True)
    expected = plain.inform(X, sets, CLASSES, bins, several=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("bins", [None, 8])
def test_bytes_overflow_tiles_threads_and_passes_change_nothing(monkeypatch, bins):
    monkeypatch.setattr(counting, "_TILE", 3)
    monkeypatch.setattr(information, "_ENTROPY_CELLS", 40)
    X, labels = make_rows(3000)
    labels[labels == 3] = 2  # about 1,200 rows of one class, none of another
    whole = measure_information(blocks_of(X, labels), dim=DIM, n_classes=CLASSES, bins=bins)
    sets = [[c] for c in labels.tolist()]
    np.testing.assert_allclose(whole, plain.inform(X, sets, CLASSES, bins), atol=1e-6)
    for threads, memory in ((1, 1 << 30), (2, 1), (1, 250)):
        again = measure_information(
            blocks_of(X, labels),
            dim=DIM,
            n_classes=CLASSES,
            bins=bins,
            threads=threads,
            memory=memory,
        )
        np.testing.assert_allclose(again, whole, rtol=0, atol=1e-13 * (memory < 1000))


def test_one_pass_reads_the_rows_once():
    X, labels = make_rows(100)
    passes = []

    def read():
        passes.append(1)
        return blocks_of(X, labels)()

    measure_information(read, dim=DIM, n_classes=CLASSES)
    assert len(passes) == 1


def test_bits_never_say_more_than_the_labels_hold():
    labels = np.arange(64, dtype=np.int32) % 2
    X = np.stack([labels * 2.0 - 1, -labels * 1.0, np.ones(64)], axis=1).astype(np.float32)
    found = measure_information(blocks_of(X, labels), dim=3, n_classes=2)
    np.testing.assert_allclose(found, [1, 1, 0], atol=1e-12)


def test_ranking_is_stable():
    order = rank_features(np.array([0.1, 0.5, 0.1, 0.7, 0.5]))
    np.testing.assert_array_equal(order, [3, 1, 4, 0, 2])
    assert order.dtype == np.int32


def test_refuses_what_cannot_be_measured():
    X, labels = make_rows(20)
    with pytest.raises(InputError, match="bins"):
        measure_information(blocks_of(X, labels), dim=DIM, n_classes=CLASSES, bins=3)
    with pytest.raises(InputError, match="known classes"):
        measure_information(blocks_of(X, labels * 0 - 1), dim=DIM, n_classes=CLASSES)
