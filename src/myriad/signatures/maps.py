"""Maps of histograms to vectors whose inner products are an additive kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import cosh, pi

import numpy as np

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.serialisation import Serialisable, check_type
from myriad.vocabularies import IntersectionPCA

MAX_ORDER = 16

SPECTRA: dict[str, Callable[[float], float]] = {
    "chi2": lambda frequency: 1 / cosh(min(pi * frequency, 700.0)),
    "intersection": lambda frequency: 2 / (pi * (1 + 4 * frequency**2)),
}
"""The spectrum of each kernel: of ``k(x, z) / sqrt(x z)`` as a function of ``log(z / x)``."""

STEPS = {
    "chi2": (0.585, 0.501, 0.442, 0.400),
    "intersection": (0.747, 0.678, 0.599, 0.561),
}
"""For orders 1 to 4, the spacing of the frequencies with the least mean squared error of
``k(x, z) / sqrt(x z)`` where the ratio of x and z is at most 30."""


class HistogramMap(Serialisable, ABC):
    """The base of maps that a bag of visual words may end with."""

    @abstractmethod
    def length(self, n_regions: int, n_words: int) -> int:
        """Return the length of the result of `embed` for histograms of this shape."""

    @abstractmethod
    def embed(self, histograms: Float) -> Float:
        """Map the histograms of one image.

        Parameters
        ----------
        histograms : float32 array of shape (n_regions, n_words); each row sums to 1, or to 0 if
            its region has no descriptors.

        Returns
        -------
        float32 array of shape (length,).
        """

    @property
    def by_region(self) -> bool:
        """Whether each region is mapped by itself, and all in the same way."""
        return True


@dataclass(frozen=True, eq=False)
class AdditiveMap(HistogramMap, kind="additive-map"):
    """The explicit map of a homogeneous additive kernel, by samples of its spectrum.

    Inner products of mapped histograms approximate the kernel, summed over words (Vedaldi and
    Zisserman, *Efficient additive kernels via explicit feature maps*, 2012; used by [LS]): chi2 is
    ``2 x z / (x + z)``, intersection ``min(x, z)``. Each count becomes ``2 order + 1`` numbers.
    Hellinger's kernel ``sqrt(x z)`` needs one number, the square root, and is exact.

    Attributes
    ----------
    kernel : ``"hellinger"``, ``"chi2"`` or ``"intersection"``.
    order : frequencies above zero that are sampled; 0 for Hellinger's kernel.
    step : their spacing.
    """

    kernel: str = "hellinger"
    order: int = 0
    step: float = 0.0

    def __post_init__(self) -> None:
        if self.kernel == "hellinger":
            if self.order != 0:
                raise InputError("Hellinger's kernel needs no samples of a spectrum: order 0.")
            return
        if self.kernel not in SPECTRA:
            known = ", ".join(("hellinger", *SPECTRA))
            raise InputError(f"The kernel of a map must be one of {known}, not {self.kernel!r}.")
        if type(self.order) is not int or not 0 <= self.order <= MAX_ORDER:
            raise InputError(f"The order of a map must be 0 to {MAX_ORDER}, not {self.order!r}.")
        if not isinstance(self.step, int | float) or not 1e-3 <= self.step <= 100:
            raise InputError(f"The step of a map must be a positive number, not {self.step!r}.")

    def length(self, n_regions: int, n_words: int) -> int:
        """Return the length of a mapped image."""
        return n_regions * n_words * (2 * self.order + 1)

    def embed(self, histograms: Float) -> Float:
        """Map histograms: all words at frequency 0, then cosines and sines at each higher one."""
        if self.kernel == "hellinger":
            return np.sqrt(histograms).reshape(-1)
        spectrum, step = SPECTRA[self.kernel], self.step
        n_regions, n_words = histograms.shape
        mapped = np.empty((n_regions, 2 * self.order + 1, n_words), np.float32)
        mapped[:, 0] = np.sqrt(histograms * np.float32(step * spectrum(0.0)))
        logs = np.log(np.maximum(histograms, np.finfo(np.float32).tiny))
        for j in range(1, self.order + 1):
            amplitude = np.sqrt(histograms * np.float32(2 * step * spectrum(j * step)))
            angle = logs * np.float32(j * step)
            mapped[:, 2 * j - 1] = amplitude * np.cos(angle)
            mapped[:, 2 * j] = amplitude * np.sin(angle)
        return mapped.reshape(-1)


@dataclass(frozen=True, eq=False)
class IntersectionMap(HistogramMap, kind="intersection-map"):
    """Kernel principal components of all regions together under the intersection kernel [HM 8.2].

    Attributes
    ----------
    pca : the projection of ``n_regions x n_words`` numbers.
    """

    pca: IntersectionPCA

    def __post_init__(self) -> None:
        check_type(self.pca, IntersectionPCA, "The kernel PCA of a map")

    def length(self, n_regions: int, n_words: int) -> int:
        """Return the length of a mapped image."""
        if n_regions * n_words != self.pca.n_features:
            raise InputError("The kernel PCA of a map does not fit its words and regions.")
        return self.pca.dim

    def embed(self, histograms: Float) -> Float:
        """Map histograms, all with the same weight."""
        return self.pca.project(join_regions(histograms)[None, :])[0]

    @property
    def by_region(self) -> bool:
        """Regions are mapped together."""
        return False


def join_regions(histograms: Float) -> Float:
    """Return the histograms of all regions as one of sum 1, or less where regions are empty."""
    return (histograms / np.float32(len(histograms))).reshape(-1)


def choose_map(kernel: str, order: int = 1) -> AdditiveMap:
    """Return the map of a kernel with `order` frequencies above zero, optimally spaced."""
    if kernel == "hellinger":
        return AdditiveMap()
    if kernel not in STEPS:
        return AdditiveMap(kernel)  # raises the error
    if type(order) is not int or not 1 <= order <= len(STEPS[kernel]):
        raise InputError(f"The order of a map must be 1 to {len(STEPS[kernel])}, not {order!r}.")
    return AdditiveMap(kernel, order, STEPS[kernel][order - 1])
