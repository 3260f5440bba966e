"""A Gaussian mixture with diagonal covariances, and the sums for EM and Fisher vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined, jit_reassociated
from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.serialisation import Serialisable, check_array

CUT = 1e-6
"""Posteriors below this fraction of the largest are set to zero."""

_LOG_CUT = np.float32(math.log(CUT))
_SIXTEENTH = np.float32(1 / 16)

# A polynomial for exp(t) on [log(CUT) / 16, 0], fitted for the least relative error (1e-8).
_E0, _E1, _E2 = np.float32(1.0), np.float32(0.999999387), np.float32(0.499987106)
_E3, _E4 = np.float32(0.166574261), np.float32(0.0413558702)
_E5, _E6 = np.float32(0.00779139672), np.float32(0.00090204357)

_BLOCK = 1024  # rows whose logits are computed at a time: they stay in the cache


@dataclass(frozen=True, eq=False)
class MixtureSums:
    """Posterior-weighted sums over the descriptors in each cell of an image.

    With ``z = (x - mean) / deviation`` for each Gaussian:

    Attributes
    ----------
    counts : float64 array of shape (n_cells, n_components), ``sum q``.
    first : float32 array of shape (n_cells, n_components, dim), ``sum q z``.
    second : float32 array of shape (n_cells, n_components, dim), ``sum q z²``.
    log_likelihood : the sum of the log densities of the descriptors.
    """

    counts: NDArray[np.float64]
    first: Float
    second: Float
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class GaussianMixture(Serialisable, kind="gmm"):
    """A frozen mixture of Gaussians.

    Attributes
    ----------
    weights : float32 array of shape (n_components,), positive, summing to 1.
    means, variances : float32 arrays of shape (n_components, dim), variances positive.
    """

    weights: Float
    means: Float
    variances: Float

    def __post_init__(self) -> None:
        check_array(self.means, "The means of a mixture", (None, None))
        check_array(self.variances, "The variances of a mixture", self.means.shape)
        check_array(self.weights, "The weights of a mixture", self.means.shape[:1])
        if (self.weights <= 0).any() or not np.isclose(self.weights.sum(), 1.0, atol=1e-3):
            raise InputError("The weights of a mixture must be positive and sum to 1.")
        if self.variances.min() < 1e-30:
            raise InputError("The variances of a mixture must be positive.")

    @property
    def n_components(self) -> int:
        """The number of Gaussians."""
        return len(self.weights)

    @property
    def dim(self) -> int:
        """The length of a descriptor."""
        return self.means.shape[1]

    @cached_property
    def _centre(self) -> Float:
        """The mean of the mixture: x² is computed around it, which loses fewer digits."""
        mean = self.weights.astype(np.float64) @ self.means
        return (mean / self.weights.sum(dtype=np.float64)).astype(np.float32)

    @cached_property
    def _loadings(self) -> Float:
        """The array (2 dim + 1, n_components) whose product with (x, x², 1) gives the logits."""
        means = self.means.astype(np.float64) - self._centre
        variances = self.variances.astype(np.float64)
        spread = (means**2 / variances + np.log(2 * math.pi * variances)).sum(axis=1)
        constants = np.log(self.weights.astype(np.float64)) - 0.5 * spread
        columns = [means / variances, -0.5 / variances, constants[:, None]]
        return np.ascontiguousarray(np.concatenate(columns, axis=1).T, dtype=np.float32)

    def sum_moments(
        self, values: Float, cells: Ints | None = None, n_cells: int = 1
    ) -> MixtureSums:
        """Return the posterior-weighted sums of the descriptors in each cell.

        A block of rows ``(x, x², 1)`` is multiplied by the loadings, which gives the logits, and
        its transpose by the posteriors, which gives all three sums: two products, float32, whose
        results are added in float64.

        Parameters
        ----------
        values : float32 array of shape (n, dim).
        cells : int32 array of shape (n,), the cell of each descriptor; None: all in cell 0.
        """
        sums = np.zeros((n_cells, self.n_components, 2 * self.dim + 1))
        extended = np.ones((_BLOCK, 2 * self.dim + 1), np.float32)
        scores = np.empty((_BLOCK, self.n_components), np.float32)
        product = np.empty(sums.shape[1:], np.float32)
        log_likelihood = 0.0
        for cell, rows in split_cells(values, cells, n_cells):
            x, logits = extended[: len(rows)], scores[: len(rows)]
            np.subtract(rows, self._centre, out=x[:, : self.dim])
            np.square(x[:, : self.dim], out=x[:, self.dim : -1])
            np.matmul(x, self._loadings, out=logits)
            log_likelihood += logits_to_posteriors(logits, logits.max(axis=1))
            np.matmul(logits.T, x, out=product)
            sums[cell] += product
        return self._standardise(sums, log_likelihood)

    def posteriors(self, values: Float) -> Float:
        """Return the posteriors of descriptors (n, dim), float32 of shape (n, n_components)."""
        x = np.ones((len(values), 2 * self.dim + 1), np.float32)
        np.subtract(values, self._centre, out=x[:, : self.dim])
        np.square(x[:, : self.dim], out=x[:, self.dim : -1])
        logits: Float = x @ self._loadings
        logits_to_posteriors(logits, logits.max(axis=1))
        return logits

    def _standardise(self, sums: NDArray[np.float64], log_likelihood: float) -> MixtureSums:
        """Convert sums of (x, x², 1), one row per Gaussian, to sums of standardised values."""
        means = self.means.astype(np.float64) - self._centre
        variances = self.variances.astype(np.float64)
        x, squares = sums[..., : self.dim], sums[..., self.dim : -1]
        counts = sums[..., -1]
        shift = means * counts[..., None]
        first = (x - shift) / np.sqrt(variances)
        second = (squares - means * (2 * x - shift)) / variances
        return MixtureSums(
            counts, first.astype(np.float32), second.astype(np.float32), log_likelihood
        )


def split_cells(values: Float, cells: Ints | None, n_cells: int) -> Iterator[tuple[int, Float]]:
    """Yield the rows of each cell, at most 1024 at a time, so that products stay small."""
    if cells is None or n_cells == 1:
        for start in range(0, len(values), _BLOCK):
            yield 0, values[start : start + _BLOCK]
        return
    for cell in range(n_cells):
        members = np.flatnonzero(cells == cell)
        for start in range(0, len(members), _BLOCK):
            yield cell, values[members[start : start + _BLOCK]]


@inlined
def short_exp(x: np.float32) -> np.float32:
    """Return exp(x) for x in [log(CUT), 0] to a relative error of 4e-6, without branches.

    It is the 16th power of exp(x / 16), so that a loop over it is vectorised, which a call of the
    library's function would prevent.
    """
    t = x * _SIXTEENTH
    root = _E0 + t * (_E1 + t * (_E2 + t * (_E3 + t * (_E4 + t * (_E5 + t * _E6)))))
    root *= root
    root *= root
    root *= root
    return root * root


@jit_reassociated
def logits_to_posteriors(logits: Float, tops: Float) -> float:
    """Replace logits by posteriors, row by row.

    Parameters
    ----------
    logits : float32 array of shape (n, n_components), log of weight times density; changed to the
        posteriors, which sum to 1 in each row; those below CUT times the largest are zero.
    tops : float32 array of shape (n,), the largest logit of each row.

    Returns
    -------
    The log-likelihood: the sum over all rows of the log density under the mixture.
    """
    log_likelihood = 0.0
    for i in range(logits.shape[0]):
        row = logits[i]
        top = tops[i]
        total = np.float32(0.0)
        for k in range(row.size):
            x = row[k] - top
            below = x < _LOG_CUT
            q = short_exp(_LOG_CUT if below else x)
            q = np.float32(0.0) if below else q
            row[k] = q
            total += q
        log_likelihood += np.float64(top) + math.log(np.float64(total))
        scale = np.float32(1.0) / total
        for k in range(row.size):
            row[k] *= scale
    return log_likelihood
