"""Explanations: which parts of an image support or oppose a class of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.errors import InputError, did_you_mean
from myriad.models.folder import ModelFolder
from myriad.signatures import Signature


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contributions of the parts of an image to the score of a class, or to a difference.

    Attributes
    ----------
    label : the class that is explained.
    against : the class that it is compared with, or None.
    score : the score of `label`, less that of `against`.
    bias : the part of the score that is the same for all images.
    heat : float32 array of shape (rows, columns) with the proportions of the image; its sum is
        ``score - bias``.
    """

    label: str
    against: str | None
    score: float
    bias: float
    heat: Float = field(repr=False)

    def draw(self, image: Bytes) -> Bytes:
        """Return an image in grey with the heat map over it: uint8 (height, width, 3), RGB.

        Red parts support the class, blue parts oppose it.
        """
        from myriad.signatures.explanations.heat_map import draw_heat_map

        return draw_heat_map(image, self.heat)

    def to_json(self) -> dict[str, Any]:
        """Return the explanation without its heat map."""
        return {
            "label": self.label,
            "against": self.against,
            "score": self.score,
            "bias": self.bias,
        }


@dataclass(frozen=True, eq=False)
class Contrast:
    """The score of a class, less that of another one, as a linear function of a row.

    Attributes
    ----------
    weights : float32 array of shape (n_features,).
    """

    label: str
    against: str | None
    weights: Float
    bias: float

    @classmethod
    def of(cls, folder: ModelFolder, label: str, against: str | None = None) -> Contrast:
        """Return the function of a class; raises `InputError` for one that the model lacks."""
        weights, bias = folder.model.class_weights(find_class(folder, label))
        if against is not None:
            if against == label:
                raise InputError("A class cannot be compared with itself.")
            others, other_bias = folder.model.class_weights(find_class(folder, against))
            weights, bias = weights - others, bias - other_bias
        return cls(label, against, weights, bias)

    def explain(self, heat: Float) -> Explanation:
        """Return the explanation, given its heat map."""
        score = float(heat.sum(dtype=np.float64)) + self.bias
        return Explanation(self.label, self.against, score, self.bias, heat)


def map_heat(signature: Signature, image: Bytes, weights: Float) -> Float:
    """Return the contribution of every pixel of a heat map to the score ``weights @ signature``.

    Parameters
    ----------
    image : uint8, grey or in colour as the signature takes it.
    weights : float32 array of shape (signature.dim,).
    """
    from myriad.signatures.explanations.activation import contribute
    from myriad.signatures.explanations.heat_map import make_heat_map

    parts = contribute(signature, image, weights[None])
    return make_heat_map(parts, parts.values[:, 0], *image.shape[:2])


def explain_image(
    folder: ModelFolder, image: Bytes, label: str | None = None, against: str | None = None
) -> Explanation:
    """Return which parts of an image support a class, by default the best one.

    Parameters
    ----------
    image : uint8, grey or in colour as the model's signature takes it.
    against : class to compare with: explain why `label` is preferred to it.

    Raises
    ------
    InputError : for an unknown class, and for models that cannot be explained.
    """
    signature = folder.recipe
    if signature is None:
        raise InputError("This model was trained on rows, not on images.")
    if label is None:
        labels, _ = folder.model.rank(signature.describe(image)[None], 2)
        names = [folder.class_names[c] for c in labels[0]]
        label = next(name for name in names if name != against)
    contrast = Contrast.of(folder, label, against)
    return contrast.explain(map_heat(signature, image, contrast.weights))


def find_class(folder: ModelFolder, label: str) -> int:
    """Return the number of a class by its name."""
    try:
        return folder.class_names.index(label)
    except ValueError:
        hint = did_you_mean(label, folder.class_names)
        raise InputError(f"The model has no class {label!r}.{hint}") from None
