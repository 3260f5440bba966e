"""Kernel principal components of histograms under the intersection kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit_reassociated
from myriad.arrays import Float, as_rows
from myriad.errors import InputError
from myriad.serialisation import Serialisable, check_array
from myriad.vocabularies.kmeans import draw_rows

_LEAST = 1e-6  # components below this fraction of the largest variance are noise of float32


@dataclass(frozen=True, eq=False)
class IntersectionPCA(Serialisable, kind="intersection-pca"):
    """A projection on the kernel principal components of a sample [HM 8.2].

    The kernel is ``k(x, z) = sum_j min(x_j, z_j)``. A histogram is represented by its kernel values
    with the landmarks (Nyström): inner products after projection approximate the centred kernel,
    and are exact on the landmarks if all components are kept.

    Attributes
    ----------
    landmarks : float32 array of shape (n_landmarks, n_features), the sample.
    components : float32 array of shape (n_landmarks, dim), the factors of kernel values.
    offset : float32 array of shape (dim,), subtracted: it makes the mean of the landmarks zero.
    """

    landmarks: Float
    components: Float
    offset: Float

    def __post_init__(self) -> None:
        check_array(self.components, "The components of a kernel PCA", (None, None))
        n_landmarks, dim = self.components.shape
        check_array(self.landmarks, "The landmarks of a kernel PCA", (n_landmarks, None))
        check_array(self.offset, "The offset of a kernel PCA", (dim,))

    @property
    def dim(self) -> int:
        """The length of a projected row."""
        return self.components.shape[1]

    @property
    def n_features(self) -> int:
        """The length of a histogram."""
        return self.landmarks.shape[1]

    def project(self, histograms: Float) -> Float:
        """Return float32 histograms (n, n_features) projected to (n, dim)."""
        projected: Float = intersect(histograms, self.landmarks) @ self.components
        projected -= self.offset
        return projected


def intersect(rows: Float, others: Float) -> Float:
    """Return the intersection kernel of all pairs: float32 of shape (len(rows), len(others))."""
    kernel = np.empty((len(rows), len(others)), np.float32)
    _sum_minima(np.ascontiguousarray(rows), np.ascontiguousarray(others), kernel)
    return kernel


def learn_intersection_pca(
    histograms: Float, dim: int, *, n_landmarks: int = 2048, seed: int = 0
) -> IntersectionPCA:
    """Find the kernel principal components of a sample of histograms.

    The sign of each component makes its largest entry positive, so that the same rows give the same
    bits. Fewer than `dim` are kept if the sample has no more.

    Parameters
    ----------
    histograms : float32 array of shape (n_samples, n_features), not negative, at least two rows.
    dim : components to keep.
    n_landmarks : the most rows to use, drawn by the seed.
    """
    histograms = as_rows(histograms, name="The histograms")
    if dim < 1 or n_landmarks < 2:
        raise InputError("A kernel PCA needs at least one component and two landmarks.")
    if histograms.min(initial=0.0) < 0:
        raise InputError("The intersection kernel is for histograms: no value may be negative.")
    landmarks = histograms[draw_rows(len(histograms), n_landmarks, seed, "landmarks")]
    if len(landmarks) < 2:
        raise InputError("A kernel PCA needs at least two images to learn from.")
    kernel = intersect(landmarks, landmarks).astype(np.float64)
    means = kernel.mean(axis=0)
    variances, vectors = np.linalg.eigh(kernel - means - means[:, None] + means.mean())
    variances, vectors = variances[::-1], vectors[:, ::-1]
    kept = min(dim, int((variances > _LEAST * max(float(variances[0]), 1e-12)).sum()))
    if kept == 0:
        raise InputError("All images have the same histogram: a kernel PCA has nothing to find.")
    return _scale(landmarks, means, variances[:kept], vectors[:, :kept])


def _scale(
    landmarks: Float,
    means: NDArray[np.float64],
    variances: NDArray[np.float64],
    vectors: NDArray[np.float64],
) -> IntersectionPCA:
    """Return the projection on unit vectors of the kernel's space.

    The vectors sum to zero, since they belong to positive eigenvalues of a centred kernel: all that
    remains of the centring is the means of the landmarks, which become the offset.
    """
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    components = vectors * (signs / np.sqrt(variances))
    offset = means @ components
    return IntersectionPCA(
        np.ascontiguousarray(landmarks), components.astype(np.float32), offset.astype(np.float32)
    )


@jit_reassociated
def _sum_minima(rows: Float, others: Float, sums: Float) -> None:
    """Fill ``sums[i, j] = sum_d min(rows[i, d], others[j, d])``.

    Parameters
    ----------
    rows : float32 array of shape (n, n_features).
    others : float32 array of shape (m, n_features).
    sums : float32 array of shape (n, m), filled.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(others.shape[0]):
            other = others[j]
            total = np.float32(0.0)
            for d in range(row.size):
                total += min(row[d], other[d])
            sums[i, j] = total
