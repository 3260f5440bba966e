"""Losses in float64 screened by scores in float32 against losses of all scores in float64."""

import numpy as np
import pytest

from myriad._jit import jit
from myriad.objectives import DUAL_LOSSES
from myriad.objectives.topk import TOPK_VARIANTS
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training.dual.one_vs_rest import BinaryAscent
from myriad.training.dual.one_vs_rest_kernels import DUAL_SIDE
from myriad.training.dual.screening_kernels import (
    add_screened_losses,
    bound_error,
    bound_errors,
    count_uncertain,
    sum_screened_values,
)
from myriad.training.dual.topk import TopKAscent
from tests.reference import topk as reference


@jit
def find_bound(x, size):
    return bound_error(x, size)


def make_problem(scale=1.0, n=40, dim=30, n_classes=12):
    rng = np.random.default_rng(0)
    X = (scale * rng.standard_normal((n, dim))).astype(np.float32)
    W, biases = rng.standard_normal((n_classes, dim)) / scale, rng.standard_normal(n_classes)
    W[7], biases[7] = W[4], biases[4]  # a tie
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    size = np.sqrt(((W**2).sum(axis=1) + biases**2).max())
    return X, W, biases, labels, size


@pytest.mark.parametrize("scale", [1e-22, 1.0, 1e15])
def test_error_is_bounded(scale):
    X, W, biases, _, size = make_problem(scale)
    exact = X.astype(np.float64) @ W.T + biases
    found = X @ W.astype(np.float32).T + biases.astype(np.float32)
    for x, one, other in zip(X, exact, found, strict=True):
        most = 1e-5 * size * np.hypot(1.0, np.linalg.norm(x.astype(np.float64)))
        assert np.abs(one - other).max() < find_bound(x, size) < most


def test_no_bound_where_float32_overflows():
    x = np.ones(4, np.float32)
    assert find_bound(x, 1e38) == np.inf
    assert find_bound(np.float32(1e25) * x, 1e-30) == np.inf
    assert find_bound(x, np.nan) == np.inf


@pytest.mark.parametrize(("k", "variant"), [(1, "alpha"), (3, "alpha"), (3, "beta"), (11, "beta")])
@pytest.mark.parametrize("kind", ["plain", "adverse", "useless"])
def test_losses_are_those_of_float64(kind, k, variant):
    X, W, biases, labels, size = make_problem()
    exact = X.astype(np.float64) @ W.T + biases
    S = exact.astype(np.float32)
    if kind == "adverse":  # as wrong as scores of float32 may be at most
        errors = np.array([find_bound(x, size) for x in X])
        signs = np.random.default_rng(1).choice([-0.99, 0.99], S.shape)
        S = (exact + signs * errors[:, None]).astype(np.float32)
    elif kind == "useless":
        S[:], size = np.nan, np.inf
    expected = sum(reference.loss(s, y, k, variant) for s, y in zip(exact, labels, strict=True))
    number = TOPK_VARIANTS[variant]
    found = sum_screened_values(X, S, labels, W, biases, size, k, number)
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("k", "bias"), [(1, 0.0), (2, 1.0)])
def test_certificates_in_float32_are_those_of_float64(k, bias):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 9, 300).astype(np.int32)
    X = rng.standard_normal((300, 20)) + 0.7 * rng.standard_normal((9, 20))[labels]
    rows = ArrayRows(X.astype(np.float32), labels)
    ascent = TopKAscent(rows, 9, k=k, variant=0, lam=0.01, bias=bias)
    with open_threads(1) as pool:
        for _ in range(4):
            ascent.run_epoch(ascent.rows, seed=0, pool=pool, advance=lambda n: None)
        found = ascent.certify(pool)
        plain = TopKAscent(rows, 9, k=k, variant=0, lam=0.01, bias=bias, dtype=np.float64)
        plain.duals = ascent.duals
        expected = plain.certify(pool)
    assert found.primals[0] == pytest.approx(expected.primals[0], rel=1e-13)
    assert found.duals[0] == pytest.approx(expected.duals[0], rel=1e-13)
    np.testing.assert_array_equal(ascent.weights()[0], plain.weights()[0])


def spoil(exact, errors, kind):
    """Return float32 scores (n_classes, n) that are as wrong as their bounds allow, or useless."""
    if kind == "useless":
        return np.full(exact.shape, np.nan, np.float32)
    signs = np.random.default_rng(1).choice([-0.99, 0.99], exact.shape)
    return (exact + (signs * errors if kind == "adverse" else 0.0)).astype(np.float32)


@pytest.mark.parametrize("loss", list(DUAL_LOSSES))
@pytest.mark.parametrize("kind", ["plain", "adverse", "useless"])
def test_losses_of_one_vs_rest_are_those_of_float64(kind, loss):
    X, W, biases, labels, size = make_problem()
    exact = (X.astype(np.float64) @ W.T + biases).T
    positive = labels == np.arange(len(W))[:, None]
    exact[0, 0] = 1.0 if positive[0, 0] else -1.0  # at the margin: the loss is 0 or nearly so
    errors = bound_errors(X, size)
    sides, totals = np.ones((len(W), 2), DUAL_SIDE), np.zeros(len(W))
    sides["weight"][:, 1] = 3.0
    S = spoil(exact, errors, kind)
    number = DUAL_LOSSES[loss]
    add_screened_losses(X, S, positive, errors, W, biases, sides, number, totals)
    margins = np.where(positive, 1.0, -1.0) * (X.astype(np.float64) @ W.T + biases).T
    losses = np.maximum(0.0, 1.0 - margins) ** (2 if loss == "squared_hinge" else 1)
    expected = (np.where(positive, 3.0, 1.0) * losses).sum(axis=1)
    np.testing.assert_allclose(totals, expected, rtol=1e-12)
    n_open = count_uncertain(S, positive, errors)
    assert (losses > 0.0).sum() <= n_open <= S.size
    assert (n_open == S.size) == (kind == "useless")


@pytest.mark.parametrize("loss", list(DUAL_LOSSES))
@pytest.mark.parametrize("lam", [1e-3, 1e3])
def test_certificates_of_one_vs_rest_are_those_of_all_scores_in_float64(loss, lam):
    # Of 64 classes few scores are within the margin, unless lam is so large that all of them are.
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 64, 600).astype(np.int32)
    X = 0.3 * rng.standard_normal((600, 40)) + rng.standard_normal((64, 40))[labels]
    rows = ArrayRows(X.astype(np.float32), labels)
    ascent = BinaryAscent(rows, 64, loss=loss, lam=lam)
    assert ascent.screened
    found = []
    for threads in (1, 2):
        with open_threads(threads) as pool:
            if not found:
                for _ in range(6):
                    ascent.run_epoch(ascent.rows, seed=0, pool=pool, advance=lambda n: None)
            found.append(ascent.certify(pool))
    weights = [array.copy() for array in ascent.weights()]
    ascent.screened = False
    with open_threads(1) as pool:
        expected = ascent.certify(pool)
    np.testing.assert_array_equal(found[0].primals, found[1].primals)
    np.testing.assert_allclose(found[0].primals, expected.primals, rtol=1e-13)
    np.testing.assert_array_equal(found[0].duals, expected.duals)
    for one, other in zip(weights, ascent.weights(), strict=True):
        np.testing.assert_array_equal(one, other)
