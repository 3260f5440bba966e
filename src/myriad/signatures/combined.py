"""Several signatures of one image, side by side: each a block of columns with its own weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import check_image
from myriad.errors import InputError
from myriad.serialisation import is_number
from myriad.signatures.signature import Signature


@dataclass(frozen=True, eq=False)
class CombinedSignature(Signature, kind="combined"):
    """The concatenation of several signatures, each normalised by itself, times its weight.

    Every signature of an image has norm 1, so the squared weights are the shares that the blocks
    have of the inner product of two images; they are scaled to a sum of 1.

    Attributes
    ----------
    parts : the signatures.
    weights : the weight of each, above 0.
    names : the value of ``--signature`` for each.
    """

    parts: tuple[Signature, ...]
    weights: tuple[float, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(part, Signature) for part in self.parts) or len(self.parts) < 2:
            raise InputError("A combined signature needs two signatures or more.")
        if not len(self.parts) == len(self.weights) == len(self.names):
            raise InputError("Each signature of a combined one needs a weight and a name.")
        for weight in self.weights:
            if not is_number(weight) or weight <= 0:
                raise InputError(f"The weight of a signature must be above 0, not {weight!r}.")

    @property
    def dim(self) -> int:
        """The length of all signatures together."""
        return sum(part.dim for part in self.parts)

    @property
    def colour(self) -> bool:
        """Whether any of the signatures needs an image in colour."""
        return any(part.colour for part in self.parts)

    @property
    def pixels(self) -> int | None:
        """The most pixels that any of them uses."""
        found = [part.pixels for part in self.parts]
        return None if None in found else max(size for size in found if size is not None)

    @property
    def blocks(self) -> list[slice]:
        """The columns of each signature."""
        ends = np.cumsum([0, *(part.dim for part in self.parts)]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    @property
    def shares(self) -> list[float]:
        """The factors of the rows of each signature: the weights, scaled to norm 1."""
        norm = float(np.linalg.norm(self.weights))
        return [weight / norm for weight in self.weights]

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image: float32 of shape (dim,)."""
        return self.join(
            [part.describe(prepared) for part, prepared, _, _ in self.iterate_parts(image)]
        )

    def join(self, rows: Sequence[Float]) -> Float:
        """Return the rows of the signatures side by side, each times its scaled weight."""
        row = np.empty(self.dim, np.float32)
        for own, share, block in zip(rows, self.shares, self.blocks, strict=True):
            np.multiply(own, np.float32(share), out=row[block])
        return row

    def iterate_parts(self, image: Bytes) -> Iterator[tuple[Signature, Bytes, float, slice]]:
        """Yield each signature, the image in its colour mode, its scaled weight and its columns."""
        check_image(image, colour=self.colour)
        grey: Bytes | None = None
        for part, share, block in zip(self.parts, self.shares, self.blocks, strict=True):
            prepared = image
            if part.colour != self.colour:
                grey = make_grey(image) if grey is None else grey
                prepared = grey
            yield part, prepared, share, block


def make_grey(image: Bytes) -> Bytes:
    """Return the grey values of an image in colour."""
    grey = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
    return np.asarray(grey, dtype=np.uint8)
