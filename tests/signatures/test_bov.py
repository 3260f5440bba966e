"""Bags of words against their definition."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures import learn_bov
from tests.signatures.crops import SMALL, crops, nearest


@pytest.fixture(scope="module")
def bov():
    return learn_bov(crops(), **SMALL)


def test_bag_of_words_agrees_with_the_definition(bov):
    _, words, inside = nearest(bov, crops()[1])
    counts = [np.bincount(words[i], minlength=9) for i in inside]
    hellinger = np.concatenate([np.sqrt(count / count.sum()) for count in counts]) / 2
    described = bov.describe(crops()[1])
    assert described.shape == (bov.dim,) == (36,)
    np.testing.assert_allclose(described, hellinger, atol=1e-6)


def test_soft_counts_agree_with_the_definition():
    soft = learn_bov(crops(), soft=True, **SMALL)
    values, words, inside = nearest(soft, crops()[1])
    distances = ((values[:, None] - soft.words.centres) ** 2).sum(axis=2)
    shares = np.exp(-distances / (2 * soft.width**2))
    shares /= shares.sum(axis=1, keepdims=True)
    expected = np.concatenate([np.sqrt(shares[i].mean(axis=0)) for i in inside]) / 2
    np.testing.assert_allclose(soft.describe(crops()[1]), expected, atol=1e-5)
    spread = distances[np.arange(len(words)), words].mean() / soft.words.dim
    assert soft.width == pytest.approx(spread**0.5, rel=0.2)
    assert np.mean(shares.max(axis=1) < 0.9) > 0.05  # it is soft


def test_narrow_soft_counts_are_hard_counts(bov):
    narrow = replace(bov, width=1e-3)
    np.testing.assert_allclose(narrow.describe(crops()[1]), bov.describe(crops()[1]), atol=1e-5)


@pytest.mark.parametrize(
    "change", [{"map": "chi2"}, {"map": None}, {"width": -1.0}, {"width": float("nan")}]
)
def test_refuses_damaged_fields_of_a_bag(bov, change):
    with pytest.raises(InputError):
        replace(bov, **change)
