"""A backbone: the embedding of an image by a network, by ONNX Runtime on one thread."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import check_image
from myriad.errors import InputError, WorkError
from myriad.images import BadImage
from myriad.serialisation import check_array, is_number
from myriad.signatures.networks.sessions import brief, open_session
from myriad.signatures.pyramid import check_power, normalise_regions
from myriad.signatures.signature import Signature

LAYOUTS = ("nchw", "nhwc")
ORDERS = ("rgb", "bgr")
VIEWS = (1, 2, 10)
MAX_SIDE = 4096
"""Maximum width and height of the input of a network, in pixels."""
Corner = tuple[float, float]
CORNERS: tuple[Corner, ...] = ((0.5, 0.5), (0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
"""Where views are cut: the fraction of the spare width and height that lies left and above."""


@dataclass(frozen=True, eq=False)
class Backbone(Signature, kind="backbone"):
    """The embedding of a network, after a signed power and division by its norm.

    The network is part of the signature, so a model folder needs nothing else.

    Attributes
    ----------
    graph : uint8 array, the bytes of an ONNX file with one input.
    output : the name of the output that is the embedding.
    features : its length.
    size : height and width of the input.
    mean, deviation : three numbers each, for red, green and blue: ``(pixel - mean) / deviation``
        with pixels from 0 to 255.
    crop : the fraction of the shorter side that the central crop spans; 0 to resize the whole
        image to `size` whatever its proportions.
    layout : ``"nchw"`` or ``"nhwc"``, the order of the axes of the input.
    order : ``"rgb"`` or ``"bgr"``, the order of the channels.
    power : the exponent of the signed power; 1 leaves values as they are.
    parts : the lengths of parts of the embedding, such as layers of the network, that are divided
        by their norms one by one; empty for one part.
    weights : the norms that the parts have instead.
    views : how many views of an image have their embeddings averaged: 1, the image; 2, its mirror
        image too; 10, the centre and the four corners, each mirrored too.
    sha256 : of the graph; computed if not given, and checked if given.
    """

    graph: Bytes
    output: str
    features: int
    size: tuple[int, int] = (224, 224)
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    crop: float = 0.875
    layout: str = "nchw"
    order: str = "rgb"
    power: float = 1.0
    parts: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    views: int = 1
    sha256: str = ""

    def __post_init__(self) -> None:
        check_array(self.graph, "The graph of a backbone", (None,), dtype=np.uint8, finite=False)
        found = hashlib.sha256(np.ascontiguousarray(self.graph).data).hexdigest()
        if self.sha256 not in ("", found):
            raise InputError("The graph of a backbone does not match its hash.")
        object.__setattr__(self, "sha256", found)
        if not isinstance(self.output, str) or not _is_count(self.features):
            raise InputError("A backbone needs the name and the length of its output.")
        if not _is_row(self.size, 2) or not all(_is_count(side) for side in self.size):
            raise InputError(f"The size of a backbone's input cannot be {self.size!r}.")
        if max(self.size) > MAX_SIDE:
            raise InputError(
                f"The input of a backbone may be {MAX_SIDE} pixels wide and high at most."
            )
        if not all(_is_row(values, 3) for values in (self.mean, self.deviation)):
            raise InputError("Mean and deviation of a backbone are three numbers each.")
        if min(self.deviation) <= 0:
            raise InputError("The deviation of a backbone must be above 0.")
        if not is_number(self.crop) or not 0 <= self.crop <= 1:
            raise InputError(
                f"The crop of a backbone is a fraction from 0 to 1, not {self.crop!r}."
            )
        if self.layout not in LAYOUTS or self.order not in ORDERS:
            raise InputError(
                f"A backbone has a layout of {' or '.join(LAYOUTS)} and an order of "
                f"{' or '.join(ORDERS)}, not {self.layout!r} and {self.order!r}."
            )
        check_power(self.power)
        counted = isinstance(self.parts, tuple) and all(map(_is_count, self.parts))
        if not counted or sum(self.parts) not in (0, self.features):
            raise InputError("The parts of an embedding must have its length in all.")
        if not _is_row(self.weights, len(self.parts)) or min(self.weights, default=1) <= 0:
            raise InputError("The parts of an embedding need a positive weight each.")
        if type(self.views) is not int or self.views not in VIEWS:
            raise InputError(f"A backbone takes 1, 2 or 10 views of an image, not {self.views!r}.")

    @property
    def dim(self) -> int:
        """The length of the embedding."""
        return self.features

    @property
    def colour(self) -> bool:
        """Images must be in colour."""
        return True

    @property
    def pixels(self) -> int:
        """Pixels that are enough for an image twice as wide as it is high."""
        return 2 * self.size[0] * self.size[1]

    @property
    def learned(self) -> bool:
        """Networks come from a file."""
        return False

    def describe(self, image: Bytes) -> Float:
        """Return the embedding of a uint8 image (height, width, 3): float32 of shape (dim,).

        Raises `BadImage` if a feature is NaN or infinite.
        """
        check_image(image, colour=True)
        session = open_session(self.graph.tobytes, self.sha256)
        total = np.zeros(self.features)
        for pixels, _, _ in self.cut_views(image):
            total += self._run(session, self.fit(pixels))
        row = (total / self.views).astype(np.float32)
        if not np.isfinite(row).all():
            raise BadImage("the network gives NaN or infinite features")
        return self.normalise(row)

    def normalise(self, embedding: Float) -> Float:
        """Return what the network gives, of shape (dim,), as a row of norm 1."""
        row = embedding.astype(np.float32)
        if not self.parts:
            return normalise_regions(row[None], power=self.power)
        edges = np.cumsum(self.parts)[:-1]
        for part, weight in zip(np.split(row, edges), self.weights, strict=True):
            part[:] = np.float32(weight) * normalise_regions(part[None].copy(), power=self.power)
        return normalise_regions(row[None], power=1.0)

    def _run(self, session: Any, image: Float) -> Float:
        """Return the embedding of one view."""
        try:
            (found,) = session.run([self.output], {session.get_inputs()[0].name: image})
        except Exception as error:  # ONNX Runtime has an exception class for each of its codes
            raise WorkError(f"The network failed on an image: {brief(error)}.") from None
        row = np.asarray(found, np.float32).reshape(-1)
        if len(row) != self.features:
            raise WorkError(
                f"The network gave {len(row)} features where {self.features} were stated."
            )
        return row

    def cut_views(self, image: Bytes) -> Iterator[tuple[Bytes, Corner, bool]]:
        """Yield the views of an image (see `cut`), where each was cut, and if it is mirrored."""
        for corner in CORNERS if self.views == 10 else CORNERS[:1]:
            pixels = self.cut(image, corner)
            yield pixels, corner, False
            if self.views > 1:
                yield pixels[:, ::-1], corner, True

    def cut(self, image: Bytes, corner: Corner = CORNERS[0]) -> Bytes:
        """Return a view of an image at the size of the input: uint8 (height, width, 3).

        Resizing is bicubic with antialiasing.

        Parameters
        ----------
        corner : the position of the view, see `CORNERS`; the centre by default.
        """
        height, width = image.shape[:2]
        box = (0.0, 0.0, float(width), float(height))
        if self.crop > 0:
            scale = self.crop * min(height / self.size[0], width / self.size[1])
            high, wide = scale * self.size[0], scale * self.size[1]
            left, top = (width - wide) * corner[0], (height - high) * corner[1]
            # Rounding must not move an edge of the crop out of the image.
            box = max(left, 0.0), max(top, 0.0), min(left + wide, width), min(top + high, height)
        resized = Image.fromarray(image).resize(self.size[::-1], Image.Resampling.BICUBIC, box=box)
        return np.asarray(resized)

    def fit(self, pixels: Bytes) -> Float:
        """Return a view as the network takes it: normalised, in its layout."""
        levels = np.arange(256, dtype=np.float32)[:, None] - np.array(self.mean, np.float32)
        levels /= np.array(self.deviation, np.float32)
        channels = (0, 1, 2) if self.order == "rgb" else (2, 1, 0)
        values = np.empty((3, *pixels.shape[:2]), np.float32)
        for plane, c in zip(values, channels, strict=True):
            # A pixel has one of 256 values: looking them up is several times faster.
            np.take(levels[:, c], pixels[:, :, c], out=plane, mode="clip")
        if self.layout == "nhwc":
            values = np.ascontiguousarray(values.transpose(1, 2, 0))
        return values[None]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 < value < 2**31


def _is_row(values: object, length: int) -> bool:
    """Return whether something is a tuple of `length` finite numbers."""
    return isinstance(values, tuple) and len(values) == length and all(map(is_number, values))
