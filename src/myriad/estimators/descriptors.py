"""Images to local descriptors, as scikit-learn transformers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from myriad import descriptors
from myriad.descriptors import GridOptions
from myriad.errors import InputError, did_you_mean, quote
from myriad.estimators.parameters import check_parameters
from myriad.estimators.pictures import AHEAD, Picture, read_pictures
from myriad.parallel import map_ordered, thread_executor


class _Local(TransformerMixin, BaseEstimator, ABC):
    """The base class of local descriptors: nothing is learned, an image gives a matrix."""

    threads: int | None

    def fit(self, images: Any = None, y: Any = None) -> Self:
        """Check the parameters: there is nothing to learn."""
        check_parameters(self)
        return self

    def transform(self, images: Iterable[Picture]) -> list[NDArray[np.float32]]:
        """Return the descriptors of each image."""
        part = self.part()
        pictures = read_pictures(images, colour=part.colour, pixels=part.pixels)
        with thread_executor(self.threads) as executor:
            found = map_ordered(part.describe, pictures, executor, ahead=AHEAD)
            return [local.values for local in found]

    def part(self) -> descriptors.GridDescriptor:
        """Return the descriptor with these parameters."""
        check_parameters(self)
        settings = self.get_params(deep=False)
        settings.pop("threads")
        return self._kind()(**settings)

    @abstractmethod
    def _kind(self) -> type[descriptors.GridDescriptor]:
        """Return the descriptor class that has these parameters."""

    def __sklearn_is_fitted__(self) -> bool:
        return True


class DenseSIFT(_Local):
    """Dense SIFT descriptors [GP, 5.1]: a list of arrays of shape (n_descriptors, 128).

    Nothing is learned; see `myriad.descriptors.DenseSIFT` for the geometry and the parameters.
    """

    def __init__(
        self,
        *,
        patch: int = GridOptions.patch,
        step: int = GridOptions.step,
        scales: int = GridOptions.scales,
        max_pixels: int = GridOptions.max_pixels,
        contrast: float = descriptors.DenseSIFT.contrast,
        window: str = descriptors.DenseSIFT.window,
        smoothing: float = descriptors.DenseSIFT.smoothing,
        root: bool = descriptors.DenseSIFT.root,
        threads: int | None = None,
    ) -> None:
        self.patch = patch
        self.step = step
        self.scales = scales
        self.max_pixels = max_pixels
        self.contrast = contrast
        self.window = window
        self.smoothing = smoothing
        self.root = root
        self.threads = threads

    def _kind(self) -> type[descriptors.GridDescriptor]:
        return descriptors.DenseSIFT


class LocalColour(_Local):
    """Colour statistics of patches [LS]: a list of arrays of shape (n_descriptors, 96).

    Nothing is learned; see `myriad.descriptors.LocalColour` for the statistics and the parameters.
    """

    def __init__(
        self,
        *,
        patch: int = GridOptions.patch,
        step: int = GridOptions.step,
        scales: int = GridOptions.scales,
        max_pixels: int = GridOptions.max_pixels,
        threads: int | None = None,
    ) -> None:
        self.patch = patch
        self.step = step
        self.scales = scales
        self.max_pixels = max_pixels
        self.threads = threads

    def _kind(self) -> type[descriptors.GridDescriptor]:
        return descriptors.LocalColour


def find_descriptor(choice: DenseSIFT | LocalColour | str) -> descriptors.Descriptor:
    """Return the descriptor for the parameter `descriptor` of a signature."""
    if isinstance(choice, _Local):
        return choice.part()
    if not isinstance(choice, str) or choice not in descriptors.DESCRIPTORS:
        known = ", ".join(descriptors.DESCRIPTORS)
        raise InputError(
            f"descriptor must be one of {known}, a DenseSIFT or a LocalColour, not {quote(choice)}."
            + did_you_mean(choice, descriptors.DESCRIPTORS)
        )
    return descriptors.DESCRIPTORS[choice].make()
