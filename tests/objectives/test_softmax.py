"""Probabilities of the multinomial logistic loss; the vectorised exponential and sum."""

import numpy as np

from myriad.objectives.softmax import (
    exponentiate,
    exponentiate_single,
    hide_largest,
    largest,
    largest_single,
    probabilities,
    total,
)


def test_exponential_is_within_its_error():
    rng = np.random.default_rng(0)
    x = np.r_[0.0, 700.0, -700.0, rng.uniform(-700, 700, 20_000), rng.uniform(-1, 1, 20_000)]
    out = x.copy()
    exponentiate(out, np.empty_like(x))
    assert np.abs(out / np.exp(x) - 1.0).max() < 1e-15


def test_exponential_of_extremes():
    out = np.array([-800.0, -np.inf, np.nan])
    exponentiate(out, np.empty(3))
    assert (out[:2] > 0).all()
    assert (out[:2] < 1e-300).all()
    assert np.isnan(out[2])


def test_single_exponential_is_within_its_error():
    rng = np.random.default_rng(0)
    x = np.r_[0.0, 87.0, -87.0, rng.uniform(-87, 87, 20_000), rng.uniform(-1, 1, 20_000)]
    x = x.astype(np.float32)
    out = x.copy()
    exponentiate_single(out, np.empty_like(x))
    assert np.abs(out / np.exp(x.astype(np.float64)) - 1.0).max() < 3e-7


def test_single_exponential_of_extremes():
    out = np.array([-800.0, -np.inf, np.nan], np.float32)
    exponentiate_single(out, np.empty(3, np.float32))
    assert (out[:2] > 0).all()
    assert (out[:2] < 1e-37).all()
    assert np.isnan(out[2])


def test_total_is_near_the_exact_sum():
    x = np.random.default_rng(0).exponential(size=10_001)
    assert abs(total(x) - x.sum()) < 1e-12 * x.sum()


def test_largest():
    rng = np.random.default_rng(0)
    for n in (1, 31, 32, 33, 500):
        x = rng.standard_normal(n)
        assert largest(x) == x.max()


def test_largest_in_vector_registers():
    draw = np.random.default_rng(0)
    for n in (1, 2, 31, 500):
        for shift in (-9.0, 0.0, 9.0):  # all below zero, on both sides, all above
            x = draw.standard_normal(n).astype(np.float32) + np.float32(shift)
            assert largest_single(x) == x.max()
    special = np.array([-np.inf, -0.0, -1e-45], np.float32)
    assert largest_single(special) == 0.0
    assert largest_single(np.array([1.0, np.inf], np.float32)) == np.inf
    assert np.isnan(largest_single(np.array([1.0, np.nan, 2.0], np.float32)))


def test_probabilities_sum_to_one_without_overflow():
    out = np.empty(3)
    probabilities(np.array([1e4, 0.0, -1e4]), np.zeros(3), 1.0, out, np.empty(3))
    np.testing.assert_allclose(out, [1, 0, 0], atol=1e-300)
    probabilities(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 0.0]), 1.0, out, np.empty(3))
    np.testing.assert_allclose(out, 1 / 3)


def test_the_largest_wrong_scores_are_hidden():
    products, biases = np.array([1.0, 5.0, 2.0, 2.0, 2.0]), np.array([0.5, 0.0, 0.0, 0.0, -1.0])
    # With the label 1, classes 2 and 3 are the largest; the lower of the equals is hidden first.
    for n_hidden, hidden in ((1, [2]), (2, [2, 3]), (3, [0, 2, 3])):
        found = products.copy()
        hide_largest(found, biases, 1.0, 1, n_hidden)
        assert np.flatnonzero(np.isinf(found)).tolist() == hidden
    found = products.copy()
    hide_largest(found, biases, 3.0, 1, 3)  # with this scale class 4 is above class 0
    assert np.flatnonzero(np.isinf(found)).tolist() == [2, 3, 4]
