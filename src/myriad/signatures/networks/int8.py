"""Networks whose convolutions multiply 8-bit integers, which takes about half the time.

ONNX Runtime multiplies integers where all inputs and the output of a convolution pass through codes
(``QuantizeLinear`` and ``DequantizeLinear``): a value v is kept as ``round(v / scale) + zero``,
from 0 to 255. No images are needed to find the scales. Pixels have 256 values anyway. After ReLU6
values lie between 0 and 6. All others are outputs of a batch normalisation, whose means and
standard deviations on the training images are part of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.signatures.networks.graph import IMAGE, Graph, Weights, fold

LEVELS = 255
DEVIATIONS = 4.0
"""Standard deviations on each side of the mean of a channel that codes can express."""
DEPTHWISE_LEVELS, DENSE_LEVELS = 127, 63
"""The largest code of a weight. Processors without instructions for 8-bit products sum pairs of
them in 16 bits, except in depthwise convolutions: ``2 * 255 * 63`` is below ``2 ** 15``."""

Statistics = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Mean and standard deviation of each channel."""


class Int8Graph(Graph):
    """A network of 8-bit integers under construction; pooled features are float32."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self._scales: dict[str, float] = {}
        self._statistics: dict[str, Statistics] = {}

    def start(self) -> str:
        """Return the name of the image: pixels from 0 to 255, minus 127, over 128, exactly."""
        return self._code(IMAGE, f"{IMAGE}.decoded", 1 / 128, 127)

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
        """Add a convolution of codes; see `Graph.convolve`. The largest code stands for 6."""
        kernel, bias = fold(self.weights, name, norm)
        largest = np.maximum(np.abs(kernel).max(axis=(1, 2, 3)), 1e-12)
        scales = (largest / (DEPTHWISE_LEVELS if depthwise else DENSE_LEVELS)).astype(np.float32)
        codes = np.rint(kernel / scales[:, None, None, None]).astype(np.int8)
        sums = scales * np.float32(self._scales[x])
        limit = np.iinfo(np.int32).max
        biases = np.rint(bias.astype(np.float64) / sums).clip(-limit, limit).astype(np.int32)
        inputs = [
            x,
            self._decode(codes, scales, f"{name}.kernel"),
            self._decode(biases, sums, f"{name}.bias"),
        ]
        y = self._add_convolution(inputs, f"{name}.sums", kernel, stride, depthwise)
        if active:
            return self._code(y, f"{name}.active", 6 / LEVELS, 0)
        mean, deviation = self.weights[f"{norm}.bias"], self.weights[f"{norm}.weight"]
        self._statistics[f"{name}.values"] = mean.astype(np.float64), np.abs(deviation, dtype=float)
        return self._code_values(y, f"{name}.values")

    def sum(self, x: str, y: str, name: str) -> str:
        """Add the sum of codes, as if the two were independent."""
        (mean, deviation), (other, more) = self._statistics[x], self._statistics[y]
        self._statistics[name] = mean + other, np.hypot(deviation, more)
        return self._code_values(self._add("Add", [x, y], f"{name}.exact"), name)

    def _code_values(self, x: str, name: str) -> str:
        """Add codes of values with known statistics."""
        mean, deviation = self._statistics[name]
        low = min(0.0, float((mean - DEVIATIONS * deviation).min()))
        high = max(0.0, float((mean + DEVIATIONS * deviation).max()))
        scale = max(high - low, 1e-12) / LEVELS
        return self._code(x, name, scale, round(-low / scale))

    def _code(self, x: str, name: str, scale: float, zero: int) -> str:
        """Add the rounding of values to codes, and their decoding, named `name`."""
        self._scales[name] = float(np.float32(scale))
        rule = [
            self._add_constant(np.array(scale, np.float32), f"{name}.scale"),
            self._add_constant(np.array(zero, np.uint8), f"{name}.zero"),
        ]
        codes = self._add("QuantizeLinear", [x, *rule], f"{name}.codes")
        return self._add("DequantizeLinear", [codes, *rule], name)

    def _decode(self, codes: NDArray[Any], scales: NDArray[np.float32], name: str) -> str:
        """Add constant codes, whose first axis has a scale each, and their decoding."""
        inputs = [
            self._add_constant(codes, f"{name}.codes"),
            self._add_constant(scales, f"{name}.scales"),
            self._add_constant(np.zeros(len(scales), codes.dtype), f"{name}.zeros"),
        ]
        return self._add("DequantizeLinear", inputs, name, axis=0)
