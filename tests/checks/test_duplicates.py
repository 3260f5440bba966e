import numpy as np
import pytest

from myriad.checks import duplicates
from myriad.checks.duplicates import (
    DuplicatePair,
    find_candidates,
    find_equal,
    find_near_images,
    find_near_rows,
)
from myriad.images import read_image
from myriad.store import ArrayRows
from tests.checks.scenes import COPIES, CoarseSignature, copy_of, photograph, thumbnail


def draw_rows(n=400, dim=48, n_copies=20, noise=0.01, seed=0):
    """Return rows of which the last are copies of the first, with a little noise."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((n, dim)).astype(np.float32) + 2
    X[n - n_copies :] = X[:n_copies] + noise * draws.standard_normal((n_copies, dim))
    return X


def test_equal_keys_are_paired_with_the_first():
    keys = [b"a", b"b", b"a", b"c", b"a"]
    assert find_equal(keys) == [DuplicatePair(0, 2, 1.0), DuplicatePair(0, 4, 1.0)]
    assert all(pair.exact for pair in find_equal(keys))


def test_near_rows_are_found_and_no_others():
    found = find_near_rows(ArrayRows(draw_rows()))
    assert [(pair.first, pair.second) for pair in found] == [(i, 380 + i) for i in range(20)]
    assert not any(pair.exact for pair in found)


def test_candidates_are_the_nearest_by_the_cosine_of_centred_rows():
    X = draw_rows(n=120, dim=6, n_copies=0)
    pairs, cosines = find_candidates(ArrayRows(X))
    centred = X - X.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    similar = centred @ centred.T
    np.fill_diagonal(similar, -2)
    expected = set()
    for i in range(len(X)):
        for j in np.argsort(-similar[i])[: duplicates.NEIGHBOURS]:
            if similar[i, j] >= duplicates.CANDIDATE_COSINE:
                expected.add((min(i, j), max(i, j)))
    assert set(map(tuple, pairs.tolist())) == expected
    np.testing.assert_allclose(cosines, similar[tuple(pairs.T)], atol=1e-5)


@pytest.mark.parametrize("rows", [1500, 100])
def test_long_rows_and_many_rows_are_searched_too(monkeypatch, rows):
    monkeypatch.setattr(duplicates, "EXACT_ROWS", 1000)  # more go through an inverted file
    found = find_near_rows(ArrayRows(draw_rows(n=rows, dim=300, n_copies=20)))
    assert {(pair.first, pair.second) for pair in found} == {(i, rows - 20 + i) for i in range(20)}


def test_one_row_has_no_copies():
    assert find_near_rows(ArrayRows(np.ones((1, 4), np.float32))) == []


def test_rows_of_zeros_are_no_near_rows():
    assert find_near_rows(ArrayRows(np.zeros((5, 4), np.float32))) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_copies_of_images_are_found(threads):
    images = [photograph(seed) for seed in range(40)]
    copies = [copy_of(kind, seed) for seed, kind in enumerate(COPIES)]
    thumbnails = np.stack([thumbnail(one) for one in [*images, *copies]])
    signature = CoarseSignature()
    rows = [signature.describe(one) for one in images]
    rows += [signature.describe(read_image(one, colour=True)) for one in copies]
    found = find_near_images(ArrayRows(np.stack(rows)), thumbnails, threads=threads)
    assert [(pair.first, pair.second) for pair in found] == [(i, 40 + i) for i in range(5)]
    assert [pair.mirrored for pair in found] == [kind == "mirrored" for kind in COPIES]
