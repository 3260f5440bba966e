"""Merged classes: one label for several weight vectors, of which the best one counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from myriad.arrays import Float, Ints, ascends
from myriad.errors import InputError
from myriad.models.linear import LinearModel
from myriad.models.model import Model

if TYPE_CHECKING:
    from myriad.models.rounded import RoundedModel


@dataclass(frozen=True, eq=False)
class MergedModel(Model, kind="merged"):
    """A linear model, of rounded weights or not, some of whose vectors have the same label.

    The score of a label is the highest of the scores of its vectors. Nothing that was learned is
    lost, which a mean of the vectors would lose where the classes look different.

    Attributes
    ----------
    model : scores the vectors; those of a label follow one another.
    starts : int32 array of shape (n_classes,), the first vector of each label.
    """

    model: LinearModel | RoundedModel
    starts: Ints

    def __post_init__(self) -> None:
        linear = isinstance(self.model, Model) and self.model.kind in ("linear", "rounded")
        if not linear or not isinstance(self.starts, np.ndarray):
            raise InputError("A model of merged classes needs a linear model and its labels.")
        starts = self.starts
        rising = starts.ndim == 1 and len(starts) > 0 and ascends(starts, strictly=True)
        if starts.dtype != np.int32 or not rising or starts[0] != 0:
            raise InputError("The labels of a model of merged classes are damaged.")
        if starts[-1] >= self.model.n_classes:
            raise InputError("A model of merged classes has more labels than weight vectors.")

    @property
    def n_classes(self) -> int:
        """The number of labels."""
        return len(self.starts)

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return self.model.dim

    @property
    def labels(self) -> Ints:
        """The label of each weight vector, int32 of shape (n_vectors,)."""
        sizes = np.diff(self.starts, append=np.int32(self.model.n_classes))
        return np.repeat(np.arange(self.n_classes, dtype=np.int32), sizes)

    def scores(self, X: Float) -> Float:
        """Return the scores of rows, float32 of shape (n_samples, n_classes)."""
        return np.maximum.reduceat(self.model.scores(X), self.starts, axis=1)

    def class_weights(self, label: int) -> tuple[Float, float]:
        """Return the weights and the bias of a class that is not merged; see `Model`."""
        members = np.flatnonzero(self.labels == label)
        if len(members) > 1:
            return super().class_weights(label)
        return self.model.class_weights(int(members[0]))

    def relabelled(self, labels: Ints) -> Model:
        """Return the model with another label for each class; see `Model.relabelled`."""
        return relabel(self.model, labels[self.labels])

    def with_classes(self, others: LinearModel) -> MergedModel:
        """Return the model with more classes; see `Model.with_classes`."""
        added = self.model.n_classes + np.arange(others.n_classes, dtype=np.int32)
        model = self.model.with_classes(others)
        return replace(self, model=model, starts=np.concatenate([self.starts, added]))


def relabel(model: LinearModel | RoundedModel, labels: Ints) -> Model:
    """Return a linear model with a label for each vector; -1 leaves a vector out.

    Labels are numbers from 0 on, each of which has a vector.
    """
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    chosen = model.select(order)
    _, starts = np.unique(labels[order], return_index=True)
    if len(starts) == len(order):
        return chosen
    return MergedModel(chosen, starts.astype(np.int32))
