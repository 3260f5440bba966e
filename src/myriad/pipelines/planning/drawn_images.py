"""Images of smooth noise, on which the time of a signature is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from myriad.arrays import Bytes
from myriad.descriptors import ImageCollection

Result = TypeVar("Result")


class DrawnImages(ImageCollection):
    """Drawn images, grey or in colour as a signature asks for them."""

    def __init__(self, images: list[Bytes]) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def read(self, number: int, *, colour: bool) -> Bytes:
        """Return an image."""
        image = self.images[number]
        return np.stack([image] * 3, axis=2) if colour else image

    def map(self, function: Callable[[int, Bytes], Result], *, colour: bool) -> Iterator[Result]:
        """Yield ``function(number, image)`` in the order of the images."""
        for number in range(len(self.images)):
            yield function(number, self.read(number, colour=colour))


def draw_image(shape: tuple[int, int], seed: int) -> Bytes:
    """Return an image of smooth noise."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (shape[0] // 4 + 1, shape[1] // 4 + 1))
    image = np.kron(coarse, np.ones((4, 4), int))[: shape[0], : shape[1]]
    return ((image + random.integers(0, 256, shape)) // 2).astype(np.uint8)
