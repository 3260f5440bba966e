"""The base class of local descriptors: an image to many small vectors and their positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.errors import InputError
from myriad.serialisation import Serialisable


@dataclass(frozen=True, eq=False)
class LocalDescriptors:
    """The descriptors of one image.

    Attributes
    ----------
    values : float32 array of shape (n, dim), one descriptor per row.
    positions : float32 array of shape (n, 2), x and y of the patch centres as fractions of the
        image's width and height.
    patches : int64 array of shape (n,), numbers of the patches that the descriptors belong to,
        where some have none; None if every patch has one.
    """

    values: Float
    positions: Float
    patches: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Descriptor(Serialisable, ABC):
    """The base of all local descriptors; a subclass is one file.

    `dim` is the length of a descriptor, `colour` whether `describe` takes images of shape
    (height, width, 3) instead of grey ones of shape (height, width), `pca_dim` the number of
    dimensions that a PCA keeps by default.
    """

    dim: ClassVar[int]
    colour: ClassVar[bool] = False
    pca_dim: ClassVar[int] = 64

    @property
    def pixels(self) -> int | None:
        """The most pixels that `describe` uses, or None if all."""
        return None

    @abstractmethod
    def describe(self, image: Bytes) -> LocalDescriptors:
        """Return the descriptors of a uint8 image, the same ones on every call."""


def check_image(image: NDArray[np.generic], *, colour: bool) -> None:
    """Raise `InputError` unless `image` is a non-empty uint8 array, grey or in colour as asked."""
    wanted = "(height, width, 3)" if colour else "(height, width)"
    shape = getattr(image, "shape", None)
    fits = isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.size > 0
    if fits and colour:
        fits = image.ndim == 3 and image.shape[2] == 3
    elif fits:
        fits = image.ndim == 2
    if not fits:
        kind = getattr(image, "dtype", type(image).__name__)
        raise InputError(
            f"An image must be a non-empty uint8 array of shape {wanted}, not {kind} of {shape}."
        )
