"""Posterior-weighted sums against their float64 twin, in which nothing is cut."""

import numpy as np
import pytest

from myriad.vocabularies.posteriors import CUT, add_posteriors, find_posteriors
from tests.reference import posteriors as reference


def make_problem(n=300, k=12, dim=7, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(k, 5.0))
    means = rng.standard_normal((k, dim)).astype(np.float32) * 2
    variances = rng.uniform(0.3, 2, (k, dim)).astype(np.float32)
    values = rng.standard_normal((n, dim)).astype(np.float32) * 2
    return values, weights, means, variances


def run(values, weights, means, variances, cells=None, n_cells=1):
    logits = reference.log_densities(values, weights, means, variances).astype(np.float32)
    counts = np.zeros((n_cells, len(means)))
    first = np.zeros((n_cells, *means.shape), np.float32)
    second = np.zeros((n_cells, *means.shape), np.float32)
    cells = np.zeros(len(values), np.int32) if cells is None else cells
    precisions = (1 / np.sqrt(variances)).astype(np.float32)
    evidence = add_posteriors(values, logits, cells, means, precisions, counts, first, second)
    return counts, first, second, evidence


def test_agrees_with_the_twin():
    problem = make_problem()
    counts, first, second, evidence = run(*problem)
    expected = reference.moments(*problem)
    np.testing.assert_allclose(counts[0], expected[0], atol=2e-3)
    np.testing.assert_allclose(first[0], expected[1], atol=2e-3)
    np.testing.assert_allclose(second[0], expected[2], atol=6e-3)
    assert evidence == pytest.approx(expected[3], rel=1e-6)
    assert counts.sum() == pytest.approx(300)


def test_cells_are_summed_apart():
    problem = make_problem()
    cells = (np.arange(300) % 3).astype(np.int32)
    counts, first, second, _ = run(*problem, cells, 3)
    for c in range(3):
        alone = run(problem[0][cells == c], *problem[1:])
        np.testing.assert_array_equal(counts[c], alone[0][0])
        np.testing.assert_array_equal(first[c], alone[1][0])
        np.testing.assert_array_equal(second[c], alone[2][0])


def test_small_posteriors_are_cut_and_the_rest_sum_to_one():
    logits = np.log(np.array([0.5 * CUT, 1.0, 2 * CUT, 0.5], np.float32)) - 300
    kept, posteriors = np.empty(4, np.int32), np.empty(4, np.float32)
    count, evidence = find_posteriors(logits, kept, posteriors)
    assert kept[:count].tolist() == [1, 2, 3]
    np.testing.assert_allclose(posteriors[:count], np.array([1, 2 * CUT, 0.5]) / 1.5, rtol=1e-3)
    assert evidence == pytest.approx(np.log(1.5) - 300, rel=1e-6)


def test_equal_logits_are_all_kept():
    kept, posteriors = np.empty(5, np.int32), np.empty(5, np.float32)
    count, _ = find_posteriors(np.full(5, -1e30, np.float32), kept, posteriors)
    assert count == 5
    np.testing.assert_allclose(posteriors, 0.2)
