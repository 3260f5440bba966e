"""The Fisher vector: the gradient of an image's likelihood with respect to a Gaussian mixture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor, ImageCollection, LocalDescriptors
from myriad.serialisation import check_type
from myriad.signatures.learning import VocabularyLearning, append_coordinates
from myriad.signatures.pyramid import Pyramid, normalise_regions, pyramid_of
from myriad.signatures.signature import PooledSignature
from myriad.vocabularies import PCA, GaussianMixture, learn_mixture


@dataclass(frozen=True, eq=False)
class FisherSignature(PooledSignature, kind="fisher"):
    """Fisher vectors of projected local descriptors over a spatial pyramid [GP 5.1].

    Attributes
    ----------
    descriptor : the local descriptor of the image.
    pca : the projection of descriptors, ``descriptor.dim`` to ``mixture.dim``, or two fewer if
        there are coordinates.
    mixture : the Gaussians.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    power : the exponent of the signed power that each value goes through.
    weights : whether it includes the gradient with respect to the weights of the Gaussians, one
        number per Gaussian and region, before the others.
    coordinates : whether x and y of a patch follow its projected descriptor, so that Gaussians are
        bound to a part of the image.
    """

    descriptor: Descriptor
    pca: PCA
    mixture: GaussianMixture
    regions: int = 4
    power: float = 0.5
    weights: bool = False
    coordinates: bool = False

    def __post_init__(self) -> None:
        check_type(self.mixture, GaussianMixture, "The vocabulary of Fisher vectors")
        check_type(self.weights, bool, "weights of Fisher vectors")
        check_type(self.coordinates, bool, "coordinates of Fisher vectors")
        self._check_pooling(self.mixture, coordinates=2 * self.coordinates)

    @property
    def dim(self) -> int:
        """The length of a signature: regions x Gaussians x (means and deviations) x dimensions.

        With weights, one number more per Gaussian and region.
        """
        size = 2 * self.mixture.means.size + self.weights * self.mixture.n_components
        return self.regions * size

    @property
    def n_words(self) -> int:
        """The number of Gaussians."""
        return self.mixture.n_components

    def columns_of(self, word: int) -> NDArray[np.int64]:
        """Return the features that belong to one Gaussian, in all regions."""
        size, n_gaussians = self.mixture.dim, self.mixture.n_components
        front = n_gaussians if self.weights else 0
        first = front + word * size + np.arange(size)
        own = [np.array([word])] if self.weights else []
        return self._repeat(np.concatenate([*own, first, first + n_gaussians * size]))

    def project(self, local: LocalDescriptors) -> Float:
        """Return projected descriptors, followed by their coordinates if there are any."""
        projected = super().project(local)
        return append_coordinates(projected, local.positions) if self.coordinates else projected

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image, float32 of shape (dim,)."""
        local = self.descriptor.describe(image)
        vectors = fisher_vectors(
            self.project(local),
            local.positions,
            self.mixture,
            pyramid_of(self.regions),
            weights=self.weights,
        )
        return normalise_regions(vectors, power=self.power)


def fisher_vectors(
    values: Float,
    positions: Float,
    mixture: GaussianMixture,
    pyramid: Pyramid,
    *,
    weights: bool = False,
) -> Float:
    """Return the Fisher vector of each region, before any normalisation.

    For each Gaussian ``k`` with posteriors ``q``, over the ``n`` descriptors of a region and with
    ``z = (x - mean_k) / deviation_k``: ``sum q z / (n sqrt(weight_k))`` and
    ``sum q (z² - 1) / (n sqrt(2 weight_k))``; with `weights`, ``sum (q - weight_k) / (n
    sqrt(weight_k))`` too. A region without descriptors has the zero vector.

    Parameters
    ----------
    values : float32 array of shape (n, mixture.dim).
    positions : float32 array of shape (n, 2).
    weights : whether to begin with the gradient with respect to the weights.

    Returns
    -------
    float32 array of shape (n_regions, 2 * n_components * dim), all first moments before the second,
    with weights n_components more at the front.
    """
    cells = pyramid.locate(positions)
    sums = mixture.sum_moments(values, cells, pyramid.n_cells)
    counts = pyramid.sum_cells(sums.counts)
    sizes = counts.sum(axis=1)
    size = np.maximum(sizes, 1.0)[:, None]
    scale = (1 / (size * np.sqrt(mixture.weights.astype(np.float64)))).astype(np.float32)[..., None]
    front = mixture.n_components if weights else 0
    vectors = np.empty((len(pyramid.regions), front + 2 * mixture.means.size), np.float32)
    if weights:
        vectors[:, :front] = _weight_gradients(counts, sizes, mixture)
    moments = vectors[:, front:].reshape(len(vectors), 2, *mixture.means.shape)
    np.multiply(pyramid.sum_cells(sums.first), scale, out=moments[:, 0])
    second = pyramid.sum_cells(sums.second)
    second -= counts[..., None].astype(np.float32)
    np.multiply(second, scale * np.float32(0.5**0.5), out=moments[:, 1])
    return vectors


def _weight_gradients(
    counts: NDArray[np.floating], sizes: NDArray[np.floating], mixture: GaussianMixture
) -> NDArray[np.floating]:
    """Return ``(mean q - weight) / sqrt(weight)``, zero in regions without descriptors."""
    weights = mixture.weights.astype(np.float64)
    shares = counts / np.maximum(sizes, 1.0)[:, None]
    return np.where(sizes[:, None] > 0, shares - weights, 0.0) / np.sqrt(weights)


def learn_fisher(
    images: Iterable[Bytes] | ImageCollection,
    *,
    n_components: int = 256,
    weights: bool = False,
    coordinates: bool = True,
    **options: Any,
) -> FisherSignature:
    """Learn the PCA and the mixture of a Fisher signature from images.

    Parameters
    ----------
    images : uint8 images, grey or in colour as the descriptor takes them; each is read once. A
        thousand, of all classes, are plenty. `ImageCollection` are sampled by their workers.
    n_components : the number of Gaussians.
    weights : whether signatures hold the gradient with respect to the Gaussians' weights too.
    coordinates : whether x and y of patches are part of their descriptors.
    options : fields of `VocabularyLearning`.
    """
    learning = VocabularyLearning(**options)
    pca, values = learning.project_sample(images, n_components, coordinates=coordinates)
    mixture = learn_mixture(values, n_components, learning.context)
    return FisherSignature(
        learning.descriptor,
        pca,
        mixture,
        learning.regions,
        weights=weights,
        coordinates=coordinates,
    )
