"""The linear model with weights of 16 or 8 bits, where float32 takes too much memory or disk.

Each class has a scale: the largest of its weights is 1 as float16, or 127 as an 8-bit integer.
Scores are computed in float32 from the weights of some classes at a time, so that all weights are
never in memory as float32. Memory-mapped weights may be larger than the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models.coded import CodedModel
from myriad.models.linear import LinearModel
from myriad.models.merged import MergedModel, relabel
from myriad.models.model import Model
from myriad.serialisation import check_array

LARGEST = {"float16": 1.0, "int8": 127.0}
"""The largest magnitude of a weight in each precision."""
BETWEEN = np.int32(0x70000000)
"""The bits of a float32 between its sign and the exponent of a float16; see `decode`."""
DECODED_BYTES = 8 << 20
"""Bytes of weights that are float32 at a time."""


@dataclass(frozen=True, eq=False)
class RoundedModel(Model, kind="rounded"):
    """Scores ``s_c = h_c (w_c x) + b_c`` of rounded weights.

    Attributes
    ----------
    weights : float16 or int8 array W of shape (n_classes, n_features)
    scales : float32 array h of shape (n_classes,)
    biases : float32 array b of shape (n_classes,)
    """

    weights: NDArray[np.float16] | NDArray[np.int8]
    scales: Float
    biases: Float

    def __post_init__(self) -> None:
        kind = getattr(self.weights, "dtype", None)
        if kind is None or kind.name not in LARGEST:
            raise InputError(f"The weights of a rounded model must be {' or '.join(LARGEST)}.")
        name = "of a rounded model"
        check_array(self.weights, f"The weights {name}", (None, None), dtype=kind, finite=False)
        shape = self.weights.shape[:1]
        check_array(self.scales, f"The scales {name}", shape, finite=False)
        check_array(self.biases, f"The biases {name}", shape, finite=False)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.weights.shape[0])

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return int(self.weights.shape[1])

    def scores(self, X: Float) -> Float:
        """Return the scores of rows, float32 of shape (n_samples, n_classes)."""
        return self.scores_of(X, slice(None))

    def scores_of(self, X: Float, classes: slice) -> Float:
        """Return the scores of some classes only."""
        start, stop, _ = classes.indices(self.n_classes)
        scores = np.empty((len(X), max(0, stop - start)), np.float32)
        for part in self._parts(start, stop):
            some = scores[:, part.start - start : part.stop - start]
            np.matmul(X, decode(self.weights[part]).T, out=some)
            some *= self.scales[part]
            some += self.biases[part]
        return scores

    def _parts(self, start: int, stop: int) -> Iterator[slice]:
        """Yield slices of classes whose weights are decoded together."""
        size = max(1, DECODED_BYTES // (4 * self.dim))
        for first in range(start, stop, size):
            yield slice(first, min(first + size, stop))

    def class_weights(self, label: int) -> tuple[Float, float]:
        """Return the weights and the bias of a class."""
        return decode(self.weights[label]) * self.scales[label], float(self.biases[label])

    def select(self, classes: NDArray[np.integer]) -> RoundedModel:
        """Return the model of some classes, in this order."""
        return RoundedModel(self.weights[classes], self.scales[classes], self.biases[classes])

    def relabelled(self, labels: Ints) -> Model:
        """Return the model with another label for each class; see `Model.relabelled`."""
        return relabel(self, labels)

    def with_classes(self, others: LinearModel) -> RoundedModel:
        """Return the model with more classes, rounded in the same way; see `Model.with_classes`."""
        more = round_linear(others, self.weights.dtype.name)
        return RoundedModel(
            np.concatenate([self.weights, more.weights]),
            np.concatenate([self.scales, more.scales]),
            np.concatenate([self.biases, more.biases]),
        )

    def to_linear(self) -> LinearModel:
        """Return the model with weights in float32."""
        W = decode(self.weights)
        W *= self.scales[:, None]
        return LinearModel(W, self.biases)


def decode(weights: NDArray[np.float16] | NDArray[np.int8]) -> Float:
    """Return rounded weights as float32, before they are multiplied by their scales.

    The bits of a finite float16 are moved to where float32 has its exponent and mantissa, and the
    product with 2^112 corrects the exponent. It is exact, and NumPy's own conversion takes seven
    times as long.
    """
    if weights.dtype == np.int8:
        return weights.astype(np.float32)
    bits = np.ascontiguousarray(weights).view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= ~BETWEEN
    decoded = bits.view(np.float32)
    decoded *= np.float32(2.0**112)
    return decoded


def round_model(model: Model, precision: str) -> Model:
    """Return a model with the weights of its classes rounded to a precision of `LARGEST`.

    Raises `InputError` if it is not a linear model, also of coded rows or with merged classes.
    """
    if isinstance(model, CodedModel):
        return replace(model, model=round_model(model.model, precision))
    if isinstance(model, MergedModel) and isinstance(model.model, LinearModel):
        return replace(model, model=round_linear(model.model, precision))
    if isinstance(model, LinearModel):
        return round_linear(model, precision)
    raise InputError(
        f"The weights of a model of the kind {model.kind!r} cannot be rounded; those of linear "
        "models in float32 can."
    )


def round_linear(model: LinearModel, precision: str) -> RoundedModel:
    """Return a linear model with rounded weights; a class is rounded at a time."""
    W = np.empty(model.weights.shape, precision)
    scales = np.empty(model.n_classes, np.float32)
    for c, weights in enumerate(model.weights):
        most = float(np.abs(weights).max())
        scales[c] = most / LARGEST[precision] if most > 0 else 1.0
        scaled = weights / scales[c]
        W[c] = np.rint(scaled) if precision == "int8" else scaled
    return RoundedModel(W, scales, model.biases)
