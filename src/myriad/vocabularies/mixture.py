"""A mixture of Gaussians with diagonal covariances, and the sums EM and Fisher vectors take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi

import numpy as np

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.parts import Part
from myriad.vocabularies.posteriors import add_posteriors

_BLOCK = 1024  # rows whose logits are held at a time: they stay in the L2 cache


@dataclass(frozen=True, eq=False)
class MixtureSums:
    """Posterior-weighted sums over descriptors, a cell of the image at a time.

    With ``z = (x - mean) / deviation`` for each Gaussian:

    Attributes
    ----------
    counts : float64 array of shape (n_cells, n_components), ``sum q``.
    first : float32 array of shape (n_cells, n_components, dim), ``sum q z``.
    second : float32 array of shape (n_cells, n_components, dim), ``sum q z²``.
    evidence : the sum of the log densities.
    """

    counts: np.ndarray
    first: Float
    second: Float
    evidence: float


@dataclass(frozen=True, eq=False)
class GaussianMixture(Part, kind="gmm"):
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
        arrays = (self.weights, self.means, self.variances)
        if not all(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in arrays):
            raise InputError("The arrays of a mixture must be float32.")
        shape = self.means.shape
        fits = len(shape) == 2 and self.variances.shape == shape and 0 not in shape
        if not fits or self.weights.shape != shape[:1]:
            raise InputError("The weights, means and variances of a mixture do not fit together.")
        if not all(np.isfinite(a).all() for a in arrays):
            raise InputError("The arrays of a mixture hold values that are not numbers.")
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
    def _precisions(self) -> Float:
        return (1 / np.sqrt(self.variances)).astype(np.float32)

    @cached_property
    def _loadings(self) -> tuple[Float, Float]:
        """The logits as a product: of (x, x²) with an array (2 dim, n_components), plus constants.

        Both are computed in float64.
        """
        means, variances = self.means.astype(np.float64), self.variances.astype(np.float64)
        products = np.concatenate([means / variances, -0.5 / variances], axis=1).T
        spread = (means**2 / variances + np.log(variances)).sum(axis=1)
        constants = np.log(self.weights.astype(np.float64)) - 0.5 * spread
        constants -= 0.5 * self.dim * log(2 * pi)
        return np.ascontiguousarray(products, dtype=np.float32), constants.astype(np.float32)

    def sum_moments(
        self, values: Float, cells: Ints | None = None, n_cells: int = 1
    ) -> MixtureSums:
        """Return the posterior-weighted sums of descriptors, a cell at a time.

        Parameters
        ----------
        values : float32 array of shape (n, dim), C-contiguous.
        cells : int32 array of shape (n,), the cell of each descriptor; None: all in cell 0.
        """
        shape = (n_cells, self.n_components, self.dim)
        counts = np.zeros(shape[:2])
        first, second = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        loadings, constants = self._loadings
        if cells is None:
            cells = np.zeros(len(values), np.int32)
        squared = np.empty((_BLOCK, 2 * self.dim), np.float32)
        logits = np.empty((_BLOCK, self.n_components), np.float32)
        evidence = 0.0
        for start in range(0, len(values), _BLOCK):
            rows = values[start : start + _BLOCK]
            both, scores = squared[: len(rows)], logits[: len(rows)]
            both[:, : self.dim] = rows
            np.multiply(rows, rows, out=both[:, self.dim :])
            np.matmul(both, loadings, out=scores)
            scores += constants
            evidence += add_posteriors(
                rows,
                scores,
                cells[start : start + _BLOCK],
                self.means,
                self._precisions,
                counts,
                first,
                second,
            )
        return MixtureSums(counts, first, second, evidence)
