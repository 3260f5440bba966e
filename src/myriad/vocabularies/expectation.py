"""Expectation-maximisation (EM) of a Gaussian mixture, initialised by k-means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, as_rows
from myriad.parallel import DEFAULT_LEARNING, LearningContext
from myriad.randomness import generator
from myriad.vocabularies.blocks import Blocks, open_blocks, sum_rows
from myriad.vocabularies.kmeans import check_enough, draw_rows, learn_centres, nearest_centres
from myriad.vocabularies.mixture import GaussianMixture, MixtureSums

ROUNDS = 15
"""Iterations of EM, by default."""
_ROWS_PER_GAUSSIAN = 256
_FLOOR = 1e-3  # least variance of a Gaussian, as a fraction of the variance of all descriptors
_EMPTY = 1.0  # a Gaussian with fewer descriptors than this is empty


def learn_mixture(
    values: Float,
    n_components: int,
    context: LearningContext = DEFAULT_LEARNING,
    *,
    rounds: int = ROUNDS,
) -> GaussianMixture:
    """Fit a mixture of `n_components` Gaussians to the rows of `values`.

    The same values and seed give the same bits on any number of threads and workers.

    Parameters
    ----------
    values : float32 array of shape (n_samples, dim), n_samples at least n_components.
    context : its threads or workers sum over blocks of rows in each round.
    rounds : number of EM iterations.
    """
    values = as_rows(values, name="The descriptors")
    start = start_mixture(values, n_components, context)
    return refine_mixture(values, start, context, rounds=rounds)


def start_mixture(
    values: Float, n_components: int, context: LearningContext = DEFAULT_LEARNING
) -> GaussianMixture:
    """Return the mixture of the clusters that k-means finds in a sample."""
    check_enough(len(values), n_components)
    centres = learn_centres(values, n_components, context)
    most = _ROWS_PER_GAUSSIAN * n_components
    sample = values[draw_rows(len(values), most, context.seed, "mixture start")]
    labels = nearest_centres(sample, centres)
    counts = np.bincount(labels, minlength=n_components).astype(np.float64)
    residuals = (sample - centres[labels]).astype(np.float64) ** 2
    squares = np.zeros(centres.shape)
    np.add.at(squares, labels, residuals)
    overall = sample.astype(np.float64).var(axis=0)
    # One average descriptor is added to each cluster, so that a small one gets a usable variance.
    variances = (squares + overall) / (counts + 1)[:, None]
    weights = (counts + 1) / (counts + 1).sum()
    return _mixture(weights, centres, np.maximum(variances, _least_variances(overall)))


def refine_mixture(
    values: Float,
    start: GaussianMixture,
    context: LearningContext = DEFAULT_LEARNING,
    *,
    rounds: int,
) -> GaussianMixture:
    """Improve a mixture by `rounds` iterations of EM over blocks of rows."""
    draws = generator(context.seed, "empty Gaussians")
    mixture = start
    with (
        open_blocks(values, context) as blocks,
        context.progress.step("Learning the Gaussian mixture", rounds, "iterations") as advance,
    ):
        least = _least_variances(_overall_variances(blocks, len(values)))
        for _ in range(rounds):
            totals = _Totals.empty(mixture)
            for sums in blocks.map(mixture.sum_moments):
                totals.add(sums)
            mixture = _maximise(mixture, totals, least, draws)
            advance(1)
    return mixture


@dataclass(frozen=True, eq=False)
class _Totals:
    """Sums over all blocks, in float64, added in the order of the blocks."""

    counts: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    @classmethod
    def empty(cls, mixture: GaussianMixture) -> _Totals:
        shape = mixture.means.shape
        return cls(np.zeros(shape[0]), np.zeros(shape), np.zeros(shape))

    def add(self, sums: MixtureSums) -> None:
        np.add(self.counts, sums.counts[0], out=self.counts)
        np.add(self.first, sums.first[0], out=self.first)
        np.add(self.second, sums.second[0], out=self.second)


def _maximise(
    mixture: GaussianMixture,
    totals: _Totals,
    least: NDArray[np.float64],
    draws: np.random.Generator,
) -> GaussianMixture:
    """Return the mixture of maximum likelihood; sums are relative to the old means."""
    empty = totals.counts < _EMPTY
    counts = np.where(empty, 1.0, totals.counts)[:, None]
    deviations = np.sqrt(mixture.variances.astype(np.float64))
    shifts = totals.first / counts
    means = mixture.means + deviations * shifts
    variances = deviations**2 * (totals.second / counts - shifts**2)
    variances = np.maximum(variances, least)
    weights = np.where(empty, 0.0, totals.counts)
    for k in np.flatnonzero(empty):
        _split_heaviest(int(k), weights, means, variances, draws)
    return _mixture(weights / weights.sum(), means, variances)


def _split_heaviest(
    k: int,
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    variances: NDArray[np.float64],
    draws: np.random.Generator,
) -> None:
    """Replace the empty Gaussian `k` by half of the heaviest one; changes the arrays in place."""
    heavy = int(weights.argmax())
    offset = 0.25 * np.sqrt(variances[heavy]) * draws.choice([-1.0, 1.0], means.shape[1])
    weights[heavy] = weights[k] = weights[heavy] / 2
    means[k] = means[heavy] + offset
    means[heavy] -= offset
    variances[k] = variances[heavy]


def _overall_variances(blocks: Blocks, n_samples: int) -> NDArray[np.float64]:
    """Return the variance of each column, in float64."""
    return blocks.sum(_Squares(blocks.sum(sum_rows) / n_samples)) / n_samples


@dataclass(frozen=True, eq=False)
class _Squares:
    """Sums the squared deviations of a block's rows from a mean."""

    mean: NDArray[np.float64]

    def __call__(self, block: Float) -> NDArray[np.float64]:
        squares: NDArray[np.float64] = ((block - self.mean) ** 2).sum(axis=0)
        return squares


def _least_variances(overall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least variance along each dimension, positive even if all values agree."""
    return np.maximum(_FLOOR * overall, max(1e-6 * float(overall.mean()), 1e-12))


def _mixture(
    weights: NDArray[np.float64], means: NDArray[np.floating], variances: NDArray[np.float64]
) -> GaussianMixture:
    return GaussianMixture(
        weights.astype(np.float32), means.astype(np.float32), variances.astype(np.float32)
    )
