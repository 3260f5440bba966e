"""Networks whose convolutions multiply 8-bit integers, which takes about half the time.

ONNX Runtime multiplies integers where all inputs and the output of a convolution pass through codes
(``QuantizeLinear`` and ``DequantizeLinear``): a value v is kept as ``round(v / scale) + zero``,
from 0 to 255. No images are needed to find the scales. Pixels have 256 values anyway. After ReLU6
values lie between 0 and 6. All others are outputs of a batch normalisation, whose means and
standard deviations on the training images are part of the weights.

Rounding the weights of a convolution changes the mean of its output, which all later layers see. As
the means of its inputs are known as well, the change is computed and subtracted from the biases
(Nagel et al. 2019), which halves the error of the embedding.
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
        self._means: dict[str, NDArray[np.float64]] = {}

    def start(self) -> str:
        """Return the name of the image: pixels from 0 to 255, minus 127, over 128, exactly."""
        name = f"{IMAGE}.decoded"
        self._means[name] = np.zeros(3)
        return self._code(IMAGE, name, 1 / 128, 127)

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
        limit = np.iinfo(np.int32).max
        # Channels that hardly depend on their input need room for their bias.
        least = 2 * np.abs(bias) / (limit * self._scales[x])
        scales = np.maximum(largest / (DEPTHWISE_LEVELS if depthwise else DENSE_LEVELS), least)
        scales = scales.astype(np.float32)
        codes = np.rint(kernel / scales[:, None, None, None]).astype(np.int8)
        errors = (codes * scales[:, None, None, None] - kernel).sum(axis=(2, 3), dtype=np.float64)
        # A channel of a depthwise convolution has one input, any other has all.
        bias -= errors[:, 0] * self._means[x] if depthwise else errors @ self._means[x]
        sums = scales * np.float32(self._scales[x])
        biases = np.rint(bias / sums.astype(np.float64)).clip(-limit, limit).astype(np.int32)
        inputs = [
            x,
            self._decode(codes, scales, f"{name}.kernel"),
            self._decode(biases, sums, f"{name}.bias"),
        ]
        y = self._add_convolution(inputs, f"{name}.sums", kernel, stride, depthwise)
        mean = self.weights[f"{norm}.bias"].astype(np.float64)
        deviation = np.abs(self.weights[f"{norm}.weight"], dtype=np.float64)
        if active:
            self._means[f"{name}.active"] = find_clipped_means(mean, deviation)
            return self._code(y, f"{name}.active", 6 / LEVELS, 0)
        self._statistics[f"{name}.values"] = mean, deviation
        return self._code_values(y, f"{name}.values")

    def sum(self, x: str, y: str, name: str) -> str:
        """Add the sum of codes, as if the two were independent."""
        (mean, deviation), (other, more) = self._statistics[x], self._statistics[y]
        self._statistics[name] = mean + other, np.hypot(deviation, more)
        return self._code_values(self._add("Add", [x, y], f"{name}.exact"), name)

    def _code_values(self, x: str, name: str) -> str:
        """Add codes of values with known statistics."""
        mean, deviation = self._statistics[name]
        self._means[name] = mean
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


def find_clipped_means(
    mean: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the means of normal variables after ReLU6, which clips them to 0 and 6."""
    from scipy.special import ndtr  # not needed to predict

    deviation = np.maximum(deviation, 1e-12)
    low, high = -mean / deviation, (6 - mean) / deviation
    inside = ndtr(high) - ndtr(low)
    densities = (np.exp(-np.square(low) / 2) - np.exp(-np.square(high) / 2)) / np.sqrt(2 * np.pi)
    means: NDArray[np.float64] = mean * inside + deviation * densities + 6 * ndtr(-high)
    return means
