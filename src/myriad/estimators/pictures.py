"""Images as users give them: file names or arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import BadImage, read_image
from myriad.parallel import map_ordered, thread_executor
from myriad.signatures import Signature

Picture = str | Path | NDArray[np.uint8]
AHEAD = 16
"""Number of images that are read ahead."""


def describe_pictures(
    images: Iterable[Picture], signature: Signature, threads: int | None
) -> NDArray[np.float32]:
    """Return the signature of each image, of shape (n_images, dim)."""
    pictures = read_pictures(images, colour=signature.colour, pixels=signature.pixels)
    with thread_executor(threads) as executor:
        rows = list(map_ordered(signature.describe, pictures, executor, ahead=AHEAD))
    return np.stack(rows) if rows else np.zeros((0, signature.dim), np.float32)


class Pictures:
    """Images that can be iterated over more than once; they are read each time."""

    def __init__(self, images: Iterable[Picture], *, colour: bool, pixels: int | None) -> None:
        self._images, self._colour, self._pixels = images, colour, pixels

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return read_pictures(self._images, colour=self._colour, pixels=self._pixels)


def read_pictures(
    images: Iterable[Picture], *, colour: bool, pixels: int | None
) -> Iterator[NDArray[np.uint8]]:
    """Yield images as uint8 arrays, grey or in colour.

    Parameters
    ----------
    images : file names, or uint8 arrays of shape (height, width) or (height, width, 3) in RGB.
    pixels : the number of pixels that will be used, if not all.
    """
    for number, image in enumerate(images):
        if isinstance(image, str | Path):
            yield _read_file(Path(image), colour, pixels)
        elif isinstance(image, np.ndarray) and image.dtype == np.uint8:
            yield _fit_channels(image, number, colour)
        else:
            raise InputError(f"Image {number} is neither a file name nor a uint8 array.")


def _read_file(path: Path, colour: bool, pixels: int | None) -> NDArray[np.uint8]:
    """Read an image; an error names it, as it may be one of thousands."""
    try:
        return read_image(path, colour=colour, min_pixels=pixels)
    except BadImage as bad:
        raise BadImage(bad.reason, path) from None


def _fit_channels(image: NDArray[np.uint8], number: int, colour: bool) -> NDArray[np.uint8]:
    if image.ndim == 2:
        return np.repeat(image[:, :, None], 3, axis=2) if colour else image
    if image.ndim != 3 or image.shape[2] != 3:
        raise InputError(
            f"Image {number} has shape {image.shape}; (height, width) or (height, width, 3) in "
            "RGB is expected."
        )
    if colour:
        return image
    weights = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as image readers do
    return np.rint(image.astype(np.float32) @ weights).astype(np.uint8)
