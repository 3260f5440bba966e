"""Posteriors against their float64 twin, in which nothing is cut."""

import numba
import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from myriad.vocabularies.posteriors import CUT, short_exp, soften


@numba.njit
def _apply(x, y):
    for i in range(x.size):
        y[i] = short_exp(x[i])


def test_short_exp_is_exact_to_four_millionths():
    x = np.linspace(np.log(CUT), 0, 100_001).astype(np.float32)
    y = np.empty_like(x)
    _apply(x, y)
    assert np.abs(y / np.exp(x.astype(np.float64)) - 1).max() < 4e-6
    assert y[-1] == 1


@pytest.mark.parametrize("n_components", [1, 3, 16, 100])
@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
def test_agrees_with_the_twin(n_components, spread):
    rng = np.random.default_rng(0)
    logits = (rng.standard_normal((50, n_components)) * spread - 70).astype(np.float32)
    expected = softmax(logits.astype(np.float64), axis=1)
    evidence = logsumexp(logits.astype(np.float64), axis=1).sum()
    assert soften(logits, logits.max(axis=1)) == pytest.approx(evidence, rel=1e-6)
    np.testing.assert_allclose(logits, expected, atol=5e-6)
    np.testing.assert_allclose(logits.sum(axis=1), 1, rtol=1e-5)


def test_small_posteriors_are_cut():
    logits = np.log(np.array([[0.5 * CUT, 1.0, 2 * CUT, 0.5]], np.float32)) - 300
    soften(logits, logits.max(axis=1))
    assert logits[0, 0] == 0
    np.testing.assert_allclose(logits[0, 1:], np.array([1, 2 * CUT, 0.5]) / 1.5, rtol=1e-3)


def test_huge_and_equal_logits_are_no_trouble():
    logits = np.array([[-1e30] * 5, [1e30, -1e30, 0, 0, 0]], np.float32)
    soften(logits, logits.max(axis=1))
    np.testing.assert_allclose(logits, [[0.2] * 5, [1, 0, 0, 0, 0]], rtol=1e-6)
