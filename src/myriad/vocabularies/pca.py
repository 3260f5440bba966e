"""Principal component analysis of descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from myriad.arrays import Float, as_rows
from myriad.errors import InputError
from myriad.parallel import DEFAULT_LEARNING, LearningContext
from myriad.serialisation import Serialisable, check_array, check_type, is_number
from myriad.vocabularies.blocks import open_blocks, sum_rows


@dataclass(frozen=True, eq=False)
class PCA(Serialisable, kind="pca"):
    """A projection on the directions of largest variance.

    Attributes
    ----------
    mean : float32 array of shape (n_features,).
    components : float32 array of shape (dim, n_features), orthonormal rows, largest variance first.
    variances : float32 array of shape (dim,), the variance along each component.
    whiten : whether projected values are divided by their standard deviation.
    total : the variance along all directions, those left out included; 0 where it is not known.
    """

    mean: Float
    components: Float
    variances: Float
    whiten: bool = False
    total: float = 0.0

    def __post_init__(self) -> None:
        check_array(self.components, "The components of a PCA", (None, None))
        dim, n_features = self.components.shape
        check_array(self.mean, "The mean of a PCA", (n_features,))
        check_array(self.variances, "The variances of a PCA", (dim,))
        check_type(self.whiten, bool, "whiten of a PCA")
        if self.variances.min() < 0 or not is_number(self.total) or self.total < 0:
            raise InputError("The variances of a PCA must be numbers of at least 0.")

    @property
    def dim(self) -> int:
        """The length of a projected row."""
        return len(self.components)

    @property
    def n_features(self) -> int:
        """The length of a row before projection."""
        return self.components.shape[1]

    @cached_property
    def _matrix(self) -> Float:
        """The projection as an array of shape (n_features, dim), with the whitening included."""
        if not self.whiten:
            return np.ascontiguousarray(self.components.T)
        least = max(float(self.variances.max()) * 1e-6, 1e-30)
        scale = 1 / np.sqrt(np.maximum(self.variances, np.float32(least)))
        return np.ascontiguousarray((self.components * scale[:, None]).T)

    @cached_property
    def _offset(self) -> Float:
        offset = self.mean.astype(np.float64) @ self._matrix.astype(np.float64)
        return offset.astype(np.float32)

    def project(self, values: Float) -> Float:
        """Return float32 rows (n, n_features) projected to (n, dim)."""
        projected: Float = values @ self._matrix
        projected -= self._offset
        return projected


def learn_pca(
    values: Float,
    dim: int,
    context: LearningContext = DEFAULT_LEARNING,
    *,
    whiten: bool = False,
) -> PCA:
    """Find the `dim` directions of largest variance of the rows of `values`.

    The mean and the covariance are summed block by block, float32 products added in float64, and
    the sign of each component makes its largest entry positive, so that the same rows give the same
    bits.

    Parameters
    ----------
    values : float32 array of shape (n_samples, n_features).
    dim : at most n_features.
    context : its threads or workers sum the blocks.
    """
    values = as_rows(values, name="The descriptors")
    n_samples, n_features = values.shape
    if not 1 <= dim <= n_features:
        raise InputError(f"A PCA of {n_features} features can keep 1 to {n_features}, not {dim}.")
    if n_samples < 2:
        raise InputError("A PCA needs at least two rows to learn from.")
    with open_blocks(values, context) as blocks:
        mean = (blocks.sum(sum_rows) / n_samples).astype(np.float32)
        covariance = blocks.sum(_Scatter(mean))
    variances, vectors = np.linalg.eigh(covariance / (n_samples - 1))
    components = vectors[:, ::-1][:, :dim].T
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[np.arange(dim), largest])[:, None]
    variances = np.maximum(variances[::-1], 0.0)
    kept = variances[:dim].astype(np.float32)
    return PCA(mean, components.astype(np.float32), kept, whiten, float(variances.sum()))


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Sums the products of the features of a block's rows, around a mean."""

    mean: Float

    def __call__(self, block: Float) -> Float:
        centred = block - self.mean
        products: Float = centred.T @ centred
        return products
