"""Images to the embeddings of a network, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from myriad.errors import InputError
from myriad.estimators.pictures import Picture, describe_pictures
from myriad.signatures import OnnxOptions, Signature, is_backbone, open_backbone


class Backbone(TransformerMixin, BaseEstimator):
    """The embedding of an image by a network that ONNX Runtime runs, of length 1.

    Parameters
    ----------
    network : ``"efficientnet-lite0"``, or ``"onnx:FILE"`` for a network of your own.
    size : height and width of its input; None for what the file says, else 224.
    mean, deviation : of pixels from 0 to 255: a number, three (red, green, blue), or the word
        ``"imagenet"`` or ``"clip"``.
    output : the output to take, or a value inside the network; None for the first output.

    The last four are for a network of your own.
    """

    def __init__(
        self,
        *,
        network: str = "efficientnet-lite0",
        size: int | None = None,
        mean: str | float | Sequence[float] = "imagenet",
        deviation: str | float | Sequence[float] = "imagenet",
        output: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.network = network
        self.size = size
        self.mean = mean
        self.deviation = deviation
        self.output = output
        self.threads = threads

    def fit(self, images: Any = None, y: Any = None) -> Self:
        """Open the network; nothing is learned from the images."""
        if not isinstance(self.network, str) or not is_backbone(self.network):
            raise InputError(
                f"network must be efficientnet-lite0 or onnx:FILE, not {self.network!r}."
            )
        options = OnnxOptions(self.size, _write(self.mean), _write(self.deviation), self.output)
        self.signature_: Signature = open_backbone(self.network, options)
        return self

    def transform(self, images: Iterable[Picture]) -> NDArray[np.float32]:
        """Return an embedding for each image, of shape (n_images, dim)."""
        check_is_fitted(self, "signature_")
        return describe_pictures(images, self.signature_, self.threads)


def _write(numbers: str | float | Sequence[float]) -> str:
    """Return numbers as the command line takes them."""
    if isinstance(numbers, str):
        return numbers
    return ",".join(str(number) for number in np.atleast_1d(np.asarray(numbers)))
