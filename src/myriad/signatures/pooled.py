"""What signatures of local descriptors pooled over a spatial pyramid share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.descriptors import Descriptor
from myriad.signatures.signature import Signature
from myriad.vocabularies import PCA


class PooledSignature(Signature):
    """The base of Fisher vectors, bags of words and VLAD; all have these fields.

    `power` is the exponent that values went through before the norms, 1 if none.
    """

    descriptor: Descriptor
    pca: PCA
    regions: int
    power: float

    @property
    def colour(self) -> bool:
        """Whether images must come in colour."""
        return self.descriptor.colour

    @property
    def pixels(self) -> int | None:
        """The most pixels that are looked at."""
        return self.descriptor.pixels

    @property
    def period(self) -> int:
        """The features of one region."""
        return self.dim // self.regions

    @property
    def n_words(self) -> int:
        """The number of words or Gaussians that have features of their own."""
        return 0

    def columns_of(self, word: int) -> NDArray[np.int64]:
        """Return which features belong to one word or Gaussian, in all regions; none here."""
        return np.zeros(0, np.int64)

    def _repeat(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same features in every region."""
        starts = np.arange(self.regions)[:, None] * self.period
        return (starts + columns).reshape(-1)
