"""Every projection: feasible, optimal, idempotent, and as good as a general solver finds."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from myriad.projections import (
    project_knapsack,
    project_simplex,
    project_topk_beta,
    project_topk_cone,
    project_topk_simplex,
)
from tests.projections.oracles import Alpha, Beta, Cone, Knapsack, Simplex, objective, suboptimality


def solve(b, shape):
    """Return the projection of `b` onto a set."""
    x = np.full_like(b, np.nan)
    match shape:
        case Simplex():
            project_simplex(b, x, shape.r, shape.equal)
        case Knapsack():
            project_knapsack(b, x, shape.u, shape.r, shape.equal)
        case Alpha():
            project_topk_simplex(b, x, shape.k, shape.rho, shape.r)
        case Cone():
            project_topk_cone(b, x, shape.k, shape.rho)
        case Beta():
            project_topk_beta(b, x, shape.k, shape.rho, shape.r)
    return x


def shapes_for(n, k, rho, r):
    return [
        Simplex(r, equal=False),
        Simplex(r, equal=True),
        Knapsack(1.5 * r / n, r, equal=False),
        Knapsack(1.5 * r / n, r, equal=True),
        Cone(k, rho),
        Alpha(k, rho, r),
        Beta(k, rho, r),
    ]


def check(b, shape, eps):
    x = solve(b, shape)
    exact = x.astype(np.float64)
    largest, size = np.abs(b).max(), max(np.abs(exact).max(), getattr(shape, "r", 0.0))
    assert shape.excess(exact) <= 8 * eps * (size + largest) * np.sqrt(len(b))
    bound = suboptimality(b.astype(np.float64), exact, shape)
    assert bound <= 16 * eps * len(b) * (size + largest) ** 2
    return x


def draw(rng, n, scale, kind):
    b = scale * rng.standard_normal(n)
    if kind == "shifted":
        b += 10 * scale
    elif kind == "ties":
        b = scale * rng.integers(-2, 3, n).astype(float)
    elif kind == "negative":
        b = -np.abs(b)
    return b


@pytest.mark.parametrize("kind", ["plain", "shifted", "ties", "negative"])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_feasible_and_optimal_at_every_k(n, scale, kind):
    rng = np.random.default_rng(n)
    for k in range(1, n + 2):
        b = draw(rng, n, scale, kind)
        for rho in (0.0, 1.0, 7.5):
            for r in (0.01 * scale, scale, 100 * scale, 1.0):
                for shape in shapes_for(n, k, rho, r):
                    check(b, shape, 2.3e-16)


@pytest.mark.parametrize("n", [300, 10_000])
@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
def test_feasible_and_optimal_at_size(n, r):
    rng = np.random.default_rng(1)
    for k in (1, 2, 10, 100, n // 2, n - 1, n):
        b = draw(rng, n, 1.0, "plain")
        for rho in (0.0, 1.0):
            for shape in shapes_for(n, k, rho, r):
                check(b, shape, 2.3e-16)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_float32_is_float64_rounded(scale):
    rng = np.random.default_rng(2)
    for n, k in [(3, 1), (50, 5), (2000, 10), (2000, 400)]:
        b = draw(rng, n, scale, "plain").astype(np.float32)
        for r in (0.1 * scale, 10 * scale):
            for shape in shapes_for(n, k, 1.0, r):
                x = solve(b, shape)
                assert x.dtype == np.float32
                exact = solve(b.astype(np.float64), shape)
                np.testing.assert_allclose(x, exact, rtol=1e-6, atol=1e-30)


def test_idempotent_without_a_price():
    rng = np.random.default_rng(3)
    for n, k in [(5, 2), (60, 1), (60, 7), (60, 59)]:
        for _ in range(5):
            b = draw(rng, n, 1.0, "plain")
            for shape in shapes_for(n, k, 0.0, 2.0):
                x = solve(b, shape)
                np.testing.assert_allclose(solve(x, shape), x, rtol=0, atol=1e-14)


def test_one_is_the_simplex():
    b = np.random.default_rng(4).standard_normal(30)
    plain = solve(b, Simplex(0.7, equal=False))
    np.testing.assert_allclose(solve(b, Alpha(1, 0.0, 0.7)), plain, atol=1e-15)
    np.testing.assert_allclose(solve(b, Beta(1, 0.0, 0.7)), plain, atol=1e-15)
    np.testing.assert_allclose(
        solve(b, Alpha(1, 1.0, 5.0)), solve(b, Beta(1, 1.0, 5.0)), atol=1e-15
    )


def constraints_of(shape, n):
    ones, eye = np.ones((1, n)), np.eye(n)
    if isinstance(shape, Cone):
        rows = [(eye - ones / shape.k, -np.inf, 0.0)]
        if isinstance(shape, Alpha):
            rows.append((ones, -np.inf, shape.r))
        return rows, np.inf
    if isinstance(shape, Beta):
        return [(ones, -np.inf, shape.r)], shape.r / shape.k
    low = shape.r if shape.equal else -np.inf
    return [(ones, low, shape.r)], getattr(shape, "u", np.inf)


@pytest.mark.parametrize("seed", range(6))
def test_no_better_point_by_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    n, k = 6, 1 + seed % 5
    b = rng.standard_normal(n) + 0.5
    for rho in (0.0, 1.0):
        for shape in shapes_for(n, k, rho, 1.5):
            rows, upper = constraints_of(shape, n)
            found = minimize(
                lambda x, rho=shape.rho: objective(b, x, rho),
                np.full(n, 1.5 / n),
                jac=lambda x, rho=shape.rho: 2 * (x - b) + 2 * rho * x.sum(),
                bounds=[(0, None if np.isinf(upper) else upper)] * n,
                constraints=[LinearConstraint(*row) for row in rows],
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            x = solve(b, shape)
            assert objective(b, x, shape.rho) <= objective(b, found.x, shape.rho) + 1e-9
            np.testing.assert_allclose(x, found.x, atol=1e-4)
