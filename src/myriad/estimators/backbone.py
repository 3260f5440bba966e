"""Images to the embeddings of a network, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from myriad.errors import InputError, quote
from myriad.estimators.parameters import check_parameters
from myriad.estimators.pictures import Picture, describe_pictures
from myriad.signatures import EfficientNetOptions, OnnxOptions, Signature, is_network, open_network


class Backbone(TransformerMixin, BaseEstimator):
    """L2-normalised embeddings of images by a network, run by ONNX Runtime.

    Parameters
    ----------
    network : ``"efficientnet-lite0"``, ``"efficientnet-lite1"``, ``"efficientnet-lite2"``, or
        ``"onnx:FILE"`` for a network of your own; several with ``+`` between them are concatenated.
    size : height and width of its input; None for the size of the network.
    views : number of views to average: 1, 2 (with the mirror image) or 10 (with corners).
    layers : layers of EfficientNet that make up an embedding: ``"all"``, the last one and three
        earlier stages, or ``"last"``.
    precision : numbers that EfficientNet computes with: ``"float32"``, or ``"int8"``, which takes
        about half the time.
    mean, deviation : of pixels from 0 to 255: a number, three (red, green, blue), or the word
        ``"imagenet"`` or ``"clip"``.
    output : name of the output, or of a tensor inside the network; None for the first output.

    The last three are for a network of your own.
    """

    def __init__(
        self,
        *,
        network: str = "efficientnet-lite0",
        size: int | None = None,
        views: int = 1,
        layers: str = "all",
        precision: str = "float32",
        mean: str | float | Sequence[float] = "imagenet",
        deviation: str | float | Sequence[float] = "imagenet",
        output: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.network = network
        self.size = size
        self.views = views
        self.layers = layers
        self.precision = precision
        self.mean = mean
        self.deviation = deviation
        self.output = output
        self.threads = threads

    def fit(self, images: Any = None, y: Any = None) -> Self:
        """Open the network; nothing is learned from the images."""
        check_parameters(self)
        if not isinstance(self.network, str) or not is_network(self.network):
            raise InputError(
                f"network must be efficientnet-lite0 or onnx:FILE, not {self.network!r}."
            )
        options = OnnxOptions(
            size=self.size,
            views=self.views,
            mean=_write(self.mean, "mean"),
            deviation=_write(self.deviation, "deviation"),
            output=self.output,
        )
        lite = EfficientNetOptions(
            size=self.size, views=self.views, layers=self.layers, precision=self.precision
        )
        self.signature_: Signature = open_network(self.network, options, lite)
        return self

    def transform(self, images: Iterable[Picture]) -> NDArray[np.float32]:
        """Return an embedding for each image, of shape (n_images, dim)."""
        check_is_fitted(self, "signature_")
        return describe_pictures(images, self.signature_, self.threads)


def _write(numbers: str | float | Sequence[float], name: str) -> str:
    """Return numbers as the command line takes them; raises `InputError` for anything else."""
    if isinstance(numbers, str):
        return numbers
    array = np.atleast_1d(np.asarray(numbers))
    if array.dtype.kind not in "fiu" or array.size not in (1, 3) or not np.isfinite(array).all():
        raise InputError(
            f"{name} must be one number, three numbers or a name, not {quote(numbers)}."
        )
    return ",".join(str(number) for number in array)
