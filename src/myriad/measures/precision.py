"""Average precision of a class: how well its rows are ranked above all others [CC; VOC].

Ties count against the classifier: a row of another class with an equal score ranks before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

POINTS = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True, eq=False)
class ClassPrecisions:
    """The average precision of each class, in percent; NaN for one without a row.

    Attributes
    ----------
    areas : float64 array of shape (n_classes,), areas under the curve of precision over recall.
    eleven_point : float64 array of shape (n_classes,), means over eleven recalls, as in VOC.
    """

    areas: NDArray[np.float64]
    eleven_point: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence[ClassPrecisions]) -> ClassPrecisions:
        """Return the precisions of several groups of classes as one."""
        names = ("areas", "eleven_point")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def means(self) -> tuple[float | None, float | None]:
        """Return the means over the classes that have rows; None where none has."""
        if np.isnan(self.areas).all():
            return None, None
        return float(np.nanmean(self.areas)), float(np.nanmean(self.eleven_point))


def average_precisions(scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> ClassPrecisions:
    """Return the average precision of each class.

    Parameters
    ----------
    scores : float array of shape (n_samples, n_classes)
    positive : bool array of the same shape, true where a row has the class.
    """
    n_classes = scores.shape[1]
    areas, eleven_point = np.full(n_classes, np.nan), np.full(n_classes, np.nan)
    for c in range(n_classes):
        if positive[:, c].any():
            precisions = precisions_at_hits(scores[:, c], positive[:, c])
            areas[c] = 100.0 * precisions.mean()
            eleven_point[c] = 100.0 * eleven_points(precisions)
    return ClassPrecisions(areas, eleven_point)


def precisions_at_hits(
    scores: NDArray[np.float32], positive: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the precision at each row of the class, best-ranked first."""
    order = np.lexsort((positive, -scores.astype(np.float64)))
    positions = np.flatnonzero(positive[order])
    return np.arange(1, len(positions) + 1) / (positions + 1.0)


def eleven_points(precisions: NDArray[np.float64]) -> float:
    """Return the mean over eleven recalls of the highest precision at that recall or beyond."""
    highest = np.maximum.accumulate(precisions[::-1])[::-1]
    recalls = np.arange(1, len(precisions) + 1) / len(precisions)
    index = np.searchsorted(recalls, POINTS - 1e-12)
    return float(highest[index].mean())
