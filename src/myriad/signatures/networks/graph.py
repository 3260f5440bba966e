"""The nodes of a network as an ONNX file, in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.signatures.networks.sessions import import_onnx

EPSILON = 1e-3
OPSET, IR, NAME = 13, 8, "efficientnet-lite"
IMAGE = "image"
"""The input of a network."""

Weights = dict[str, NDArray[Any]]
"""The arrays of a network, by their names in its package."""


class Graph:
    """A network under construction; each method adds nodes and returns the name of their output."""

    def __init__(self, weights: Weights) -> None:
        self.onnx = import_onnx()
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def start(self) -> str:
        """Return the name of the image, as the first convolution takes it."""
        return IMAGE

    def bottleneck(self, x: str, name: str, stride: int) -> str:
        """Add an inverted bottleneck: expand, convolve each channel by itself, project."""
        y = x
        if f"{name}._expand_conv.weight" in self.weights:
            y = self.convolve(y, f"{name}._expand_conv", f"{name}._bn0", active=True)
        y = self.convolve(
            y, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, active=True, depthwise=True
        )
        y = self.convolve(y, f"{name}._project_conv", f"{name}._bn2")
        same = self.weights[f"{name}._project_conv.weight"].shape[0] == self._width(name)
        return self.sum(x, y, f"{name}.sum") if stride == 1 and same else y

    def sum(self, x: str, y: str, name: str) -> str:
        """Add the sum of the input and the output of a bottleneck."""
        return self._add("Add", [x, y], name)

    def _width(self, name: str) -> int:
        """Return the number of input channels of a bottleneck."""
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
        depthwise: bool = False,
    ) -> str:
        """Add a convolution with its batch normalisation and, if `active`, ReLU6.

        Padding is TensorFlow's, which the weights were trained with: an odd pixel goes below and
        to the right.
        """
        kernel, bias = fold(self.weights, name, norm)
        inputs = [
            x,
            self._add_constant(kernel, f"{name}.kernel"),
            self._add_constant(bias, f"{name}.bias"),
        ]
        y = self._add_convolution(inputs, f"{name}.values", kernel, stride, depthwise)
        if not active:
            return y
        if not any(constant.name == "six" for constant in self.constants):
            self._add_constant(np.zeros((), np.float32), "nought")
            self._add_constant(np.full((), 6, np.float32), "six")
        return self._add("Clip", [y, "nought", "six"], f"{name}.active")

    def _add_convolution(
        self,
        inputs: Sequence[str],
        output: str,
        kernel: NDArray[Any],
        stride: int,
        depthwise: bool,
    ) -> str:
        return self._add(
            "Conv",
            inputs,
            output,
            auto_pad="SAME_UPPER",
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            group=len(kernel) if depthwise else 1,
        )

    def pool(self, x: str, name: str) -> str:
        """Add the mean over all positions."""
        means = self._add("GlobalAveragePool", [x], f"{name}.means")
        return self._add("Flatten", [means], name, axis=1)

    def concatenate(self, names: Sequence[str], output: str) -> str:
        """Add the concatenation of features."""
        return self._add("Concat", names, output, axis=1)

    def classify(self, x: str) -> str:
        """Add the scores of the classes that the network was trained on."""
        names = [
            self._add_constant(self.weights[f"_fc.{array}"], array) for array in ("weight", "bias")
        ]
        return self._add("Gemm", [x, *names], "scores", transB=1)

    def finish(self, output: str, size: int) -> bytes:
        """Return the file with one input and one output."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        image = helper.make_tensor_value_info(IMAGE, kind, [1, 3, size, size])
        result = helper.make_tensor_value_info(output, kind, [1, None])
        graph = helper.make_graph(self.nodes, NAME, [image], [result], self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR
        )
        return bytes(model.SerializeToString())

    def _add(self, operator: str, inputs: Sequence[str], output: str, **settings: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **settings))
        return output

    def _add_constant(self, array: NDArray[Any], name: str) -> str:
        array = np.asarray(array, order="C")  # a scalar stays one
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name


def fold(weights: Weights, name: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return kernel and bias of a convolution with the batch normalisation folded in.

    ``gamma (K x - mean) / sqrt(variance + epsilon) + beta``, computed in float64.
    """
    arrays = ("weight", "bias", "running_mean", "running_var")
    gamma, beta, mean, variance = (weights[f"{norm}.{a}"].astype(np.float64) for a in arrays)
    scale = gamma / np.sqrt(variance + EPSILON)
    kernel = weights[f"{name}.weight"] * scale[:, None, None, None]
    return kernel.astype(np.float32), (beta - scale * mean).astype(np.float32)
