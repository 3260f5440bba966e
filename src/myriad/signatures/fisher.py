"""The Fisher vector: how an image's descriptors would pull at the Gaussians of a mixture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor
from myriad.errors import InputError
from myriad.signatures.normalisation import check_power, normalise_regions
from myriad.signatures.pooled import PooledSignature
from myriad.signatures.pyramid import Pyramid, pyramid_of
from myriad.vocabularies import PCA, GaussianMixture


@dataclass(frozen=True, eq=False)
class FisherSignature(PooledSignature, kind="fisher"):
    """Fisher vectors of projected local descriptors over a spatial pyramid [GP 5.1].

    Attributes
    ----------
    descriptor : what is computed on the image.
    pca : the projection of descriptors, ``descriptor.dim`` to ``mixture.dim``.
    mixture : the Gaussians.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    power : the exponent of the signed power that each value goes through.
    """

    descriptor: Descriptor
    pca: PCA
    mixture: GaussianMixture
    regions: int = 4
    power: float = 0.5

    def __post_init__(self) -> None:
        fields = ((self.descriptor, Descriptor), (self.pca, PCA), (self.mixture, GaussianMixture))
        if not all(isinstance(value, kind) for value, kind in fields):
            raise InputError("A Fisher signature needs a descriptor, a PCA and a Gaussian mixture.")
        if self.pca.n_features != self.descriptor.dim or self.pca.dim != self.mixture.dim:
            raise InputError("The PCA of a Fisher signature fits not its descriptor or mixture.")
        pyramid_of(self.regions)
        check_power(self.power)

    @property
    def dim(self) -> int:
        """The length of a signature: regions x Gaussians x (means and deviations) x dimensions."""
        return self.regions * 2 * self.mixture.means.size

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image, float32 of shape (dim,)."""
        local = self.descriptor.describe(image)
        projected = self.pca.project(local.values)
        vectors = fisher_vectors(projected, local.positions, self.mixture, pyramid_of(self.regions))
        return normalise_regions(vectors, power=self.power)


def fisher_vectors(
    values: Float, positions: Float, mixture: GaussianMixture, pyramid: Pyramid
) -> Float:
    """Return the Fisher vector of each region, before any normalisation.

    For each Gaussian ``k`` with posteriors ``q``, over the ``n`` descriptors of a region and with
    ``z = (x - mean_k) / deviation_k``: ``sum q z / (n sqrt(weight_k))`` and
    ``sum q (z² - 1) / (n sqrt(2 weight_k))``. A region without descriptors has the zero vector.

    Parameters
    ----------
    values : float32 array of shape (n, mixture.dim).
    positions : float32 array of shape (n, 2).

    Returns
    -------
    float32 array of shape (n_regions, 2 * n_components * dim), all first moments before the second.
    """
    cells = pyramid.locate(positions)
    sums = mixture.sum_moments(values, cells, pyramid.n_cells)
    counts = pyramid.sum_cells(sums.counts)
    size = np.maximum(counts.sum(axis=1), 1.0)[:, None]
    scale = (1 / (size * np.sqrt(mixture.weights.astype(np.float64)))).astype(np.float32)[..., None]
    vectors = np.empty((len(pyramid.regions), 2, *mixture.means.shape), np.float32)
    np.multiply(pyramid.sum_cells(sums.first), scale, out=vectors[:, 0])
    second = pyramid.sum_cells(sums.second)
    second -= counts[..., None].astype(np.float32)
    np.multiply(second, scale * np.float32(0.5**0.5), out=vectors[:, 1])
    return vectors.reshape(len(vectors), -1)
