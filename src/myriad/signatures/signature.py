"""What every signature is: an image in, one vector out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from myriad.arrays import Bytes, Float
from myriad.serialisation import Serialisable


@dataclass(frozen=True, eq=False)
class Signature(Serialisable, ABC):
    """The base of all signatures; a subclass is one file.

    `describe` works on one thread and lets others run: callers describe images side by side.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """The length of a signature."""

    @property
    @abstractmethod
    def colour(self) -> bool:
        """Whether `describe` wants images of shape (height, width, 3) instead of grey ones."""

    @property
    def pixels(self) -> int | None:
        """The most pixels that `describe` looks at: a larger image may be read at a lower size."""
        return None

    @property
    def period(self) -> int:
        """The number of features after which a row repeats its meaning; all if it never does."""
        return self.dim

    @abstractmethod
    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image: float32 of shape (dim,), finite.

        An image without descriptors has the zero vector.
        """
