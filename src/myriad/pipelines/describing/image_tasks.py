"""Tasks of images for workers: each reads some files and applies a function to the images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.images import BadImage, ImageFiles, read_image, take_view
from myriad.parallel import Executor


class ImageSource(Protocol):
    """A source of images: an `ImageList`, or the files given to ``predict``."""

    def __len__(self) -> int: ...

    def files(self, indices: list[int]) -> ImageFiles:
        """Return the files of the images with these indices."""


def map_images(
    source: ImageSource, indices: Iterable[int], work: Reading, executor: Executor
) -> Iterator[tuple[int, Any]]:
    """Yield the index of each image with the result for it."""
    if len(source) > 1:
        work.warm_up()
    numbers = iter(indices)
    sent: list[list[int]] = []

    def make_tasks() -> Iterator[tuple[int, ImageFiles]]:
        start = 0
        while task := list(islice(numbers, executor.chunksize)):
            sent.append(task)
            yield start, source.files(task)
            start += len(task)

    for results in executor.map(work, make_tasks()):
        yield from zip(sent.pop(0), results, strict=True)


@dataclass(frozen=True)
class Reading:
    """Reads some images and applies a function of ``(number, image)`` to each."""

    function: Callable[[int, NDArray[np.uint8]], Any]
    colour: bool
    pixels: int | None

    def warm_up(self) -> None:
        """Apply the function to a small image: kernels are compiled before workers start."""
        noise = np.arange(64 * 64 * 3, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(24)
        image = noise.astype(np.uint8).reshape(64, 64, 3)
        with suppress(BadImage):
            self.function(0, image if self.colour else np.ascontiguousarray(image[:, :, 0]))

    def __call__(self, task: tuple[int, ImageFiles]) -> list[Any]:
        """Return the result for each image of a task: the number of the first, and the files."""
        start, files = task
        return [self._apply(start + j, files, j) for j in range(len(files))]

    def _apply(self, number: int, files: ImageFiles, j: int) -> Any:
        try:
            return self.function(number, self.decode(files.read(j), files.view(j)))
        except BadImage as bad:
            return bad

    def decode(self, content: bytes, view: int) -> NDArray[np.uint8]:
        """Return the view of an image that is wanted."""
        image = read_image(content, colour=self.colour, min_pixels=self.pixels)
        return take_view(image, view)
