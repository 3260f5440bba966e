"""What signatures of local descriptors pooled over a spatial pyramid share."""

from __future__ import annotations

from myriad.descriptors import Descriptor
from myriad.signatures.signature import Signature


class PooledSignature(Signature):
    """The base of Fisher vectors, bags of words and VLAD; all have these two fields."""

    descriptor: Descriptor
    regions: int

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
