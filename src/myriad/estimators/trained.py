"""A trained model to use: `load` reads a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import as_rows
from myriad.errors import InputError
from myriad.estimators.pictures import read_pictures
from myriad.models import ModelFolder, load_model
from myriad.parallel import map_ordered, thread_executor


class Classifier:
    """A trained classifier, as `load` returns it.

    What it ranks is either rows, an array of shape (n_samples, n_features), or images: a list of
    file names or of uint8 arrays.

    Attributes
    ----------
    classes_ : the class names, in the order of the scores.
    settings : how it was trained.
    """

    def __init__(self, folder: ModelFolder) -> None:
        self.classes_ = np.array(folder.class_names, dtype=object)
        self.settings = folder.settings
        self._model, self._signature = folder.model, folder.recipe

    def transform(
        self, images: Sequence[str | Path | NDArray[np.uint8]], *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return the rows of images; `BadImage` for one that cannot be read."""
        signature = self._signature
        if signature is None:
            raise InputError("This model was trained on rows not made from images: give it rows.")
        rows = np.empty((len(images), signature.dim), np.float32)
        pictures = read_pictures(images, colour=signature.colour, pixels=signature.pixels)
        with thread_executor(threads) as executor:
            for i, row in enumerate(map_ordered(signature.describe, pictures, executor, ahead=16)):
                rows[i] = row
        return rows

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return the score of every class, of shape (n_samples, n_classes)."""
        return self._model.scores(self._rows(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the best class name of each row or image."""
        return self.predict_topk(X, 1)[0][:, 0]

    def predict_topk(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` best class names of each row or image and their scores, best first."""
        labels, scores = self._model.rank(self._rows(X), k)
        return self.classes_[labels], scores

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the part of the rows or images whose best class is `y`."""
        return float((self.predict(X) == np.asarray(y)).mean())

    def _rows(self, X: Any) -> NDArray[np.float32]:
        if isinstance(X, np.ndarray) and X.dtype != np.uint8:
            return as_rows(X, dim=self._model.dim)
        if isinstance(X, str | Path) or (isinstance(X, np.ndarray) and X.ndim == 2):
            raise InputError("Give a list of images, also for one: [image].")
        return self.transform(list(X))


def load(model: str | Path) -> Classifier:
    """Read a model folder; nothing in it is executed."""
    return Classifier(load_model(Path(model)))
