"""The options that belong to single signatures, one dataclass each.

This module imports nothing heavy: the help of the command is built from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, make_dataclass

from myriad.errors import InputError
from myriad.options import option

MAPS = ("hellinger", "chi2", "intersection", "intersection-pca")
"""Kernels that the counts of a bag of words may be mapped for."""
VIEWS = (1, 2, 10)
"""Numbers of views of an image that a network may be given."""
ALL, LAST = "all", "last"
FLOAT32, INT8 = "float32", "int8"
"""Layers of EfficientNet that make up an embedding."""


@dataclass(frozen=True)
class NoOptions:
    """The options of a signature without options."""


@dataclass(frozen=True, kw_only=True)
class FisherOptions:
    """The options of Fisher vectors."""

    weights: bool = option(
        False, help="fisher: add the gradient with respect to the mixture weights."
    )
    coordinates: bool = option(
        True, help="fisher: append the coordinates x and y of a patch to its descriptor."
    )


@dataclass(frozen=True, kw_only=True)
class BagOfWordsOptions:
    """The options of bags of visual words."""

    soft: bool = option(
        False, help="bov: soft assignment, in which a patch counts for several nearby words."
    )
    map: str = option(
        "hellinger",
        choices=MAPS,
        help=f"bov: kernel that counts are mapped for: {', '.join(MAPS)}.",
    )


@dataclass(frozen=True, kw_only=True)
class VladOptions:
    """The options of VLAD."""

    within: bool = option(
        False, help="vlad: normalise the sum of each word separately (intra-normalisation)."
    )


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """How images are given to a network.

    Attributes
    ----------
    size : height and width of the images that it is given; None for those it was trained on.
    views : views of an image whose embeddings are averaged: 1, the image; 2, its mirror image too;
        10, the centre and the corners, each mirrored too.
    """

    size: int | None = option(
        None,
        name="image_size",
        minimum=1,
        maximum=4096,
        aliases=("--onnx-size",),
        help="networks: height and width of the input images.",
        default_text="as it was trained; onnx: as the file says, or 224",
    )
    views: int = option(
        1,
        minimum=1,
        maximum=10,
        help="networks: views of an image to average: 1, 2 (mirrored too) or 10 (corners too).",
    )

    def __post_init__(self) -> None:
        if self.views not in VIEWS:
            raise InputError(f"--views must be 1, 2 or 10, not {self.views}.")


@dataclass(frozen=True, kw_only=True)
class EfficientNetOptions(NetworkOptions):
    """How images are given to EfficientNet, and what of it is taken.

    Attributes
    ----------
    layers : ``"last"`` for the features of the last layer, ``"all"`` for those of three earlier
        stages beside them.
    precision : ``"float32"``, or ``"int8"`` for convolutions of 8-bit integers.
    """

    layers: str = option(
        ALL,
        choices=(ALL, LAST),
        help="efficientnet: layers of the embedding: all (the last one and three earlier stages) "
        "or last.",
    )
    precision: str = option(
        FLOAT32,
        choices=(FLOAT32, INT8),
        help="efficientnet: numbers that the network computes with: float32 or int8, which takes "
        "about half the time.",
    )


@dataclass(frozen=True, kw_only=True)
class OnnxOptions(NetworkOptions):
    """How images are prepared for a network in an ONNX file.

    Attributes
    ----------
    mean, deviation : of pixels from 0 to 255: one number, three separated by commas (red,
        green, blue), or a word of `myriad.signatures.networks.onnx_file.NORMS`.
    output : the name of the output to take, or of any value within the network; None for the first
        output.
    """

    mean: str = option(
        "imagenet",
        name="onnx_mean",
        help="onnx: mean to subtract from pixels (0 to 255): one number, three separated by "
        "commas, imagenet or clip.",
    )
    deviation: str = option(
        "imagenet",
        name="onnx_deviation",
        help="onnx: standard deviation to divide by, in the same form.",
    )
    output: str | None = option(
        None,
        name="onnx_output",
        help="onnx: output of the network, or a tensor inside it.",
        default_text="the first",
    )


def merge_options(kinds: Iterable[type]) -> type:
    """Return a dataclass with the options of several signatures."""
    distinct = list(dict.fromkeys(kind for kind in kinds if kind is not NoOptions))
    # A subclass comes before its base, as Python's order of bases demands.
    distinct.sort(key=lambda kind: -len(kind.__mro__))
    if len(distinct) < 2:
        return distinct[0] if distinct else NoOptions
    name = "".join(kind.__name__ for kind in distinct)
    return make_dataclass(name, [], bases=tuple(distinct), frozen=True, kw_only=True)
