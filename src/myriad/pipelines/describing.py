"""Images to rows, side by side in threads, bad ones told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError, WorkError
from myriad.images import BadImage, ImageList, read_image
from myriad.models import ModelFolder
from myriad.parallel import map_ordered
from myriad.signatures import Signature

SAMPLE_PIXELS = 100_000
"""What a vocabulary needs of an image; larger ones may be read at a fraction of their size."""
AHEAD = 16
"""Images under way at a time; bounds memory."""


class ImageSource(Protocol):
    """Where images come from: an `ImageList`, or the paths given to ``predict``."""

    def read(self, i: int) -> bytes:
        """Return the bytes of image `i`."""


@dataclass
class BadImages:
    """Images that could not be read, and how many of them are too many.

    Attributes
    ----------
    total : images in all.
    most : the part of them that may be bad.
    found : path and reason of each.
    """

    total: int
    most: float
    found: list[dict[str, str]] = field(default_factory=list)

    def add(self, path: str, reason: str) -> None:
        """Count one more; too many stop the work."""
        self.found.append({"path": path, "reason": reason})
        self.check()

    def check(self) -> None:
        """Raise `WorkError` if too many are bad already."""
        if len(self.found) > self.most * self.total:
            raise WorkError(
                f"{len(self.found)} of {self.total} images are bad, more than the "
                f"{100 * self.most:g} % that --max-bad allows. {self.last()}"
            )

    def last(self) -> str:
        """Return a sentence about the last one that was found."""
        return "The last one: {path} ({reason}).".format(**self.found[-1]) if self.found else ""


@dataclass(frozen=True)
class SampledImages:
    """Images to learn a vocabulary from; bad ones are passed over unless they are too many.

    Attributes
    ----------
    images : where they come from.
    indices : which of them to read.
    max_bad : the part of all images that may be bad.
    colour : whether they are read in colour.
    """

    images: ImageList
    indices: NDArray[np.int64]
    max_bad: float
    colour: bool = False

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        bad = BadImages(len(self.images), self.max_bad)
        for i in self.indices.tolist():
            try:
                image = read_image(
                    self.images.read(i), colour=self.colour, min_pixels=SAMPLE_PIXELS
                )
            except BadImage as error:
                bad.add(self.images.locate(i), error.reason)
            else:
                yield image
        if len(bad.found) == len(self):
            raise WorkError(f"None of the {len(self)} training images can be read. {bad.last()}")


def read_described(source: ImageSource, i: int, signature: Signature) -> NDArray[np.uint8]:
    """Return image `i` as its signature wants it."""
    return read_image(source.read(i), colour=signature.colour, min_pixels=signature.pixels)


def describe_images(
    source: ImageSource,
    indices: Iterable[int],
    signature: Signature,
    executor: ThreadPoolExecutor,
    *,
    finish: Callable[[NDArray[np.float32]], Any] = lambda row: row,
) -> Iterator[tuple[int, Any]]:
    """Yield ``(i, finish(row))`` for each image in order, or ``(i, BadImage)`` for a bad one."""

    def describe(i: int) -> tuple[int, Any]:
        try:
            return i, finish(signature.describe(read_described(source, i, signature)))
        except BadImage as bad:
            return i, bad

    return map_ordered(describe, indices, executor, ahead=AHEAD)


def signature_of(folder: ModelFolder) -> Signature:
    """Return the signature that a model's rows were made by; a model of plain rows has none."""
    if isinstance(folder.recipe, Signature):
        return folder.recipe
    raise InputError(
        "This model was trained on rows that were not made from images, so it cannot read images."
    )
