"""Trained models: `load` reads a model folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import as_rows
from myriad.errors import InputError
from myriad.estimators.pictures import read_pictures
from myriad.estimators.representation import InlineReport, describe_model
from myriad.models import (
    Decider,
    Explanation,
    Hierarchy,
    ModelFolder,
    Rejection,
    explain_image,
    load_model,
    weigh_classes,
)
from myriad.models.decisions.hierarchy import CONFIDENCE
from myriad.parallel import map_ordered, thread_executor


class Classifier:
    """A trained classifier, as `load` returns it.

    It ranks classes for rows, an array of shape (n_samples, n_features), or for images, a list of
    file names or of uint8 arrays.

    Attributes
    ----------
    classes_ : the class names, in the order of the scores.
    settings : the settings of training.
    """

    def __init__(self, folder: ModelFolder, path: Path | None = None) -> None:
        self.classes_ = np.array(folder.class_names, dtype=object)
        self.settings = folder.settings
        self._model, self._signature = folder.model, folder.recipe
        self._folder, self._decider = folder, Decider(folder)
        self._path = path

    def transform(
        self, images: Sequence[str | Path | NDArray[np.uint8]], *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Return the rows of images. Raises `BadImage` for one that cannot be read."""
        signature = self._signature
        if signature is None:
            raise InputError("This model was trained on rows, not on images: pass rows.")
        rows = np.empty((len(images), signature.dim), np.float32)
        pictures = read_pictures(images, colour=signature.colour, pixels=signature.pixels)
        with thread_executor(threads) as executor:
            for i, row in enumerate(map_ordered(signature.describe, pictures, executor, ahead=16)):
                rows[i] = row
        return rows

    def explain(
        self,
        image: str | Path | NDArray[np.uint8],
        label: str | None = None,
        against: str | None = None,
    ) -> Explanation:
        """Return which parts of an image support a class, by default the best one.

        Parameters
        ----------
        image : a file name, or a uint8 array of shape (height, width, 3) or (height, width).
        against : class to compare with: explain why `label` is preferred to it.
        """
        signature = self._signature
        if signature is None:
            raise InputError("This model was trained on rows, not on images.")
        (picture,) = read_pictures([image], colour=signature.colour, pixels=signature.pixels)
        with thread_executor(1):
            return explain_image(self._folder, picture, label, against)

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

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the calibrated probability of every class, of shape (n_samples, n_classes)."""
        return self._decider.predict_proba(self._rows(X))

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.95,
        *,
        method: str = "raps",
        by_class: bool = False,
    ) -> list[NDArray[Any]]:
        """Return the prediction set of each row or image: class names, the best first.

        It contains the correct one with probability `coverage`; see ``docs/probabilities.md``.

        Parameters
        ----------
        method : ``"raps"``, adaptive sets; or ``"lac"``, the smallest on average.
        by_class : guarantee the coverage for each class that has enough calibration rows.
        """
        decider = Decider(self._folder, coverage=coverage, set_method=method, by_class=by_class)
        sets = decider.decide(self._rows(X), 1).sets or []
        return [self.classes_[one] for one in sets]

    def decide(
        self,
        X: Any,
        k: int = 5,
        *,
        coverage: float | None = None,
        sets: str = "raps",
        class_coverage: bool = False,
        reject: str | None = None,
        only: Sequence[str] | None = None,
        prior: Mapping[str, float] | None = None,
        hierarchy: Mapping[str, Sequence[str]] | None = None,
        levels: Sequence[str] = ("group",),
        confidence: float = CONFIDENCE,
    ) -> list[dict[str, Any]]:
        """Return the decisions for each row or image, as ``myriad predict --json`` prints them.

        Parameters
        ----------
        coverage, sets, class_coverage : prediction sets; see `predict_set`.
        reject : when to answer unknown: ``"precision=0.99"``, ``"rate=0.05"``, ``"novelty=0.05"``.
        only : class names to choose from.
        prior : weights of classes, by which their probabilities are multiplied.
        hierarchy : for each class its groups, from fine to coarse; the answer is the finest one
            with a probability of at least `confidence`.
        levels : the names of the levels of the hierarchy.
        """
        names = self._folder.class_names
        decider = Decider(
            self._folder,
            weights=weigh_classes(names, only, prior),
            coverage=coverage,
            set_method=sets,
            by_class=class_coverage,
            reject=None if reject is None else Rejection.parse(reject),
            hierarchy=None if hierarchy is None else Hierarchy.of(names, hierarchy, levels),
            confidence=confidence,
        )
        return decider.describe(decider.decide(self._rows(X), k))

    def report(self, height: int = 700) -> InlineReport:
        """Return the report of the model, which a notebook shows in a frame.

        Parameters
        ----------
        height : of the frame, in pixels.
        """
        if self._path is None:
            raise InputError("This classifier was not read from a model folder.")
        return InlineReport(self._path / "report.html", height=height)

    def __repr__(self) -> str:
        where = "" if self._path is None else f" {self._path}"
        objective = self.settings.get("objective", type(self._model).__name__)
        counts = f"{len(self.classes_):,} classes, {self._model.dim:,} features"
        return f"<Classifier{where}: {objective}, {counts}>"

    def _repr_html_(self) -> str:
        settings = {n: v for n, v in self.settings.items() if not isinstance(v, dict | list)}
        shown = ", ".join(map(str, self.classes_[:8]))
        facts = {
            "Classes": f"{len(self.classes_):,}: {shown}{', ...' * (len(self.classes_) > 8)}",
            "Features": self._model.dim,
            "Input": "rows" if self._signature is None else "images or rows",
            "Settings": ", ".join(f"{name} {value}" for name, value in settings.items()),
            "Folder": None if self._path is None else str(self._path),
        }
        return describe_model("Classifier", facts)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the accuracy: the fraction of rows or images whose best class is `y`."""
        return float((self.predict(X) == np.asarray(y)).mean())

    def _rows(self, X: Any) -> NDArray[np.float32]:
        if isinstance(X, np.ndarray) and X.dtype != np.uint8:
            return as_rows(X, dim=self._model.dim)
        if isinstance(X, str | Path) or (isinstance(X, np.ndarray) and X.ndim == 2):
            raise InputError("Pass a list of images, even for a single one: [image].")
        return self.transform(list(X))


def load(model: str | Path) -> Classifier:
    """Read a model folder; nothing in it is executed."""
    return Classifier(load_model(Path(model)), Path(model))
