"""Scan images once for all the properties that a check of the data needs."""

from __future__ import annotations

import hashlib
import math
import tempfile
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.checks.alignment import THUMBNAIL_SIDE, make_grey_thumbnail
from myriad.images import BadImage, ImageFiles, ImageList
from myriad.images.facts import Header, Quality, measure_quality, read_header
from myriad.pipelines.describing.image_rows import open_workers
from myriad.pipelines.describing.image_tasks import Reading, map_images
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.signatures import Signature
from myriad.store import ArrayRows

MEMORY_BYTES = 1 << 30
"""Bytes of rows or thumbnails up to which they are kept in memory; more go to a temporary file."""


class ScannedImage(NamedTuple):
    """The properties of one image.

    Attributes
    ----------
    digest : SHA-256 of the file.
    thumbnail : grey, see `make_grey_thumbnail`.
    row : float32 (dim,), by the signature.
    """

    digest: bytes
    header: Header
    quality: Quality
    thumbnail: Bytes
    row: Float


@dataclass(frozen=True, eq=False)
class Scan:
    """The properties of all readable images, in the order of the list.

    Attributes
    ----------
    images : the good images.
    bad : path and reason of each image that cannot be read.
    digests, headers, qualities : of each good image.
    thumbnails : uint8 array of shape (n_images, side, side).
    rows : the row of each image, with its label and group.
    """

    images: ImageList
    bad: list[dict[str, str]]
    digests: list[bytes]
    headers: list[Header]
    qualities: list[Quality]
    thumbnails: NDArray[np.uint8]
    rows: ArrayRows

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Width and height of each image, int64 (n_images, 2); of a thumbnail if unknown."""
        sizes = [
            (one.width or THUMBNAIL_SIDE, one.height or THUMBNAIL_SIDE) for one in self.headers
        ]
        return np.array(sizes, np.int64).reshape(-1, 2)


def scan_images(images: ImageList, signature: Signature, run: Run = DEFAULT_RUN) -> Scan:
    """Read and describe all images, in worker processes if they are many."""
    n = len(images)
    thumbnails = _allocate((n, THUMBNAIL_SIDE, THUMBNAIL_SIDE), np.uint8)
    rows = _allocate((n, signature.dim), np.float32)
    good: list[int] = []
    bad: list[dict[str, str]] = []
    facts: list[tuple[bytes, Header, Quality]] = []
    work = _Scanning(_Describing(signature), colour=True, pixels=signature.pixels)
    with (
        open_workers(run, n) as executor,
        run.progress.step("Reading images", n, "images") as advance,
    ):
        for i, scanned in map_images(images, range(n), work, executor):
            advance(1)
            if isinstance(scanned, BadImage):
                bad.append({"path": images.locate(i), "reason": scanned.reason})
                continue
            at = len(good)
            thumbnails[at], rows[at] = scanned.thumbnail, scanned.row
            facts.append((scanned.digest, scanned.header, scanned.quality))
            good.append(i)
    kept = images.select(np.array(good, np.int64))
    return Scan(
        kept,
        bad,
        [digest for digest, _, _ in facts],
        [header for _, header, _ in facts],
        [quality for _, _, quality in facts],
        thumbnails[: len(good)],
        ArrayRows(rows[: len(good)], kept.labels, kept.class_names, groups=kept.groups),
    )


def _allocate(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Return room for an array, in a temporary file without a name if it is large."""
    if math.prod(shape) * np.dtype(dtype).itemsize <= MEMORY_BYTES:
        return np.empty(shape, dtype)
    return np.memmap(tempfile.TemporaryFile(), dtype, "w+", shape=shape)


@dataclass(frozen=True)
class _Describing:
    """Describes an image; its number does not matter."""

    signature: Signature

    def __call__(self, number: int, image: NDArray[np.uint8]) -> Float:
        return self.signature.describe(image)


@dataclass(frozen=True)
class _Scanning(Reading):
    """Reads some images, and returns the properties of each."""

    def _apply(self, number: int, files: ImageFiles, j: int) -> Any:
        try:
            data = files.read(j)
            image = self.decode(data, files.view(j))
            return ScannedImage(
                hashlib.sha256(data).digest(),
                read_header(data),
                measure_quality(image),
                make_grey_thumbnail(image),
                self.function(number, image),
            )
        except BadImage as bad:
            return bad
