"""Average precisions of the labels of rows or images, of which each may have several."""

from __future__ import annotations

import math
import tempfile

import numpy as np
from numpy.typing import NDArray

from myriad.measures import ClassPrecisions, LabelSets, average_precisions
from myriad.models import Model
from myriad.progress import Progress
from myriad.store import Rows

PRECISION_BYTES = 256 << 20
"""Bytes of scores, and of what they are compared with, in memory at a time."""


def find_precisions(
    model: Model, rows: Rows, known: LabelSets, *, block: int, progress: Progress
) -> ClassPrecisions:
    """Return the average precision of each class, where rows have several labels.

    Classes are scored in groups, to bound the memory.

    Parameters
    ----------
    known : the labels of the rows, as numbers of the model's classes.
    block : rows that one product scores.
    """
    groups = group_classes(rows.n_rows, model.n_classes)
    found = []
    with progress.step("Computing average precision", model.n_classes, "labels") as advance:
        for group in groups:
            scores = np.empty((rows.n_rows, group.stop - group.start), np.float32)
            for some in rows.blocks(block):
                scores[some.index] = model.scores_of(some.X, group)
            found.append(average_precisions(scores, mark_classes(known, group, model.n_classes)))
            advance(group.stop - group.start)
    return ClassPrecisions.concatenate(found)


def group_classes(n_rows: int, n_classes: int) -> list[slice]:
    """Return groups of classes whose scores of all rows fit into memory."""
    size = max(1, PRECISION_BYTES // (5 * max(1, n_rows)))
    return [slice(c, min(c + size, n_classes)) for c in range(0, n_classes, size)]


def mark_classes(known: LabelSets, group: slice, n_classes: int) -> NDArray[np.bool_]:
    """Return which rows have which class of a group, (n_rows, width)."""
    width = group.stop - group.start
    numbers = np.arange(n_classes) - group.start
    numbers[(numbers < 0) | (numbers >= width)] = -1
    return known.renumbered(numbers.astype(np.int32)).to_matrix(width)


class ImageScores:
    """The scores of images by all classes, from which average precisions are found at the end.

    Images are described only once, so that classes cannot be scored in groups as those of rows
    are. Scores that take more than `PRECISION_BYTES` lie in a temporary file.

    Parameters
    ----------
    n_images : maximum number of images; bad ones are left out.
    """

    def __init__(self, model: Model, n_images: int) -> None:
        self._model, self._n = model, 0
        shape = (model.n_classes, n_images)
        self._scores: NDArray[np.float32]
        if 4 * math.prod(shape) <= PRECISION_BYTES:
            self._scores = np.empty(shape, np.float32)
        else:
            with tempfile.TemporaryFile() as stream:  # the mapping keeps it, though it has no name
                self._scores = np.memmap(stream, np.float32, "w+", shape=shape)

    def add(self, X: NDArray[np.float32]) -> None:
        """Score the rows of further images."""
        self._scores[:, self._n : self._n + len(X)] = self._model.scores(X).T
        self._n += len(X)

    def find_precisions(self, known: LabelSets) -> ClassPrecisions:
        """Return the average precision of each class, given the labels of the images scored."""
        groups = group_classes(self._n, self._model.n_classes)
        return ClassPrecisions.concatenate(
            [
                average_precisions(
                    np.ascontiguousarray(self._scores[group, : self._n].T),
                    mark_classes(known, group, self._model.n_classes),
                )
                for group in groups
            ]
        )
