"""A second training that takes the confusions of a first one into account [HM, 3.3].

Confusable classes add the most noise to the empirical loss. Two remedies train twice: weigh the
confusion of a class y with a class c by ``1 - M[y, c]``, where ``M[y, c]`` is the fraction of the
training rows of y that the first model takes for c [HM, Eq. 7]; or leave out the classes that the
first model recognises worst (Shamir and Dekel 2010).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myriad.models.embedding import EmbeddingModel
from myriad.models.model import Model
from myriad.store import Rows
from myriad.training.context import Context
from myriad.training.method import Fitted

if TYPE_CHECKING:
    from myriad.training.embedding.method import WsabieMethod

FAR = 1e9
"""First coordinate of the prototypes of classes that are ranked last, far from all rows."""


class ClassConfusion(NamedTuple):
    """How often rows of a class are mistaken for another one, as a sparse matrix M in CSR form.

    Attributes
    ----------
    starts : int64 array of shape (n_classes + 1,); the entries of class y are ``starts[y]`` to
        ``starts[y + 1] - 1``.
    classes : int32 array, the wrong classes.
    fractions : float64 array, M[y, c].
    """

    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    fractions: NDArray[np.float64]

    @classmethod
    def none(cls, n_classes: int) -> ClassConfusion:
        """Return no confusions: all steps have their full weight."""
        return cls(np.zeros(n_classes + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))


def fit_twice(
    method: WsabieMethod, train: Rows, val: Rows | None, *, n_classes: int, context: Context
) -> Fitted:
    """Train, count the confusions of training rows, and train again.

    The checkpoint is that of the second training; a run that resumes repeats the first one, which
    gives the same model.
    """
    alone = replace(method, second_stage="none", ensemble=1, index="exact")
    first = alone._fit(train, val, n_classes=n_classes, context=replace(context, checkpoint=None))
    guesses = predict_rows(first.model, train)
    again = replace(method, eta=first.settings["eta"], margin=first.settings["margin"])
    stated: dict[str, Any] = {"second_stage": method.second_stage}
    confusion, worst = ClassConfusion.none(n_classes), np.zeros(0, np.int64)
    if method.second_stage == "confusion":
        confusion = count_confusions(train, guesses, n_classes)
    else:
        worst = find_worst(train, guesses, n_classes, method.deleted)
        train = exclude_classes(train, worst)
        stated |= {"deleted": len(worst), "deleted_classes": worst.tolist()}
    second = again._fit(train, val, n_classes=n_classes, context=context, confusion=confusion)
    assert isinstance(second.model, EmbeddingModel)
    model, settings = rank_last(second.model, worst), second.settings | stated
    return replace(second, model=model, settings=settings, table=first.table)


def predict_rows(model: Model, rows: Rows) -> NDArray[np.int32]:
    """Return the best class of each row."""
    guesses = np.empty(rows.n_rows, np.int32)
    for some in model.chunks(rows.n_rows):
        X = rows.read(range(some.start, some.stop))
        guesses[some] = model.rank(X, 1)[0][:, 0]
    return guesses


def count_confusions(rows: Rows, guesses: NDArray[np.int32], n_classes: int) -> ClassConfusion:
    """Return the confusions of guesses; a row of several labels counts for each of them."""
    truths = rows.all_labels
    row_of, labels = np.repeat(np.arange(rows.n_rows), truths.sizes), truths.classes
    right = np.zeros(rows.n_rows, np.bool_)
    right[row_of[labels == guesses[row_of]]] = True
    wrong = ~right[row_of]
    pairs = labels[wrong].astype(np.int64) * n_classes + guesses[row_of[wrong]]
    pairs, counts = np.unique(pairs, return_counts=True)
    sizes = np.maximum(truths.counts(n_classes), 1)
    owners = pairs // n_classes
    starts = np.searchsorted(owners, np.arange(n_classes + 1))
    classes = (pairs % n_classes).astype(np.int32)
    return ClassConfusion(starts.astype(np.int64), classes, counts / sizes[owners])


def find_worst(
    rows: Rows, guesses: NDArray[np.int32], n_classes: int, fraction: float
) -> NDArray[np.int64]:
    """Return the given fraction of all classes, those of the lowest accuracy, in ascending order.

    At least one, as long as two others have rows. Classes without rows are not among them; of
    classes with equal accuracy the first are.
    """
    truths = rows.all_labels
    row_of, labels = np.repeat(np.arange(rows.n_rows), truths.sizes), truths.classes
    right = np.bincount(labels[labels == guesses[row_of]], minlength=n_classes)
    counts = truths.counts(n_classes)
    accuracy = np.where(counts > 0, right / np.maximum(counts, 1), np.inf)
    order = np.argsort(accuracy, kind="stable")
    most = max(0, int((counts > 0).sum()) - 2)
    return np.sort(order[: min(max(1, int(fraction * n_classes)), most)])


def exclude_classes(rows: Rows, classes: NDArray[np.int64]) -> Rows:
    """Return the rows that have none of the given classes among their labels."""
    truths = rows.all_labels
    row_of = np.repeat(np.arange(rows.n_rows), truths.sizes)
    kept = np.ones(rows.n_rows, np.bool_)
    kept[row_of[np.isin(truths.classes, classes)]] = False
    return rows.select(np.flatnonzero(kept))


def rank_last(model: EmbeddingModel, classes: NDArray[Any]) -> EmbeddingModel:
    """Return a model that ranks some classes last; with the linear discriminant, never first.

    A linear prototype cannot be last for all rows. These classes have the mean of the others, whose
    score is the mean of their scores.

    Parameters
    ----------
    classes : integer array of class numbers, or bool array of shape (n_classes,).
    """
    if not len(np.flatnonzero(classes) if classes.dtype == np.bool_ else classes):
        return model
    prototypes = model.prototypes.copy()
    if model.discriminant == "euclidean":
        prototypes[classes] = 0.0
        prototypes[classes, 0] = FAR
    else:
        others = np.delete(prototypes, classes, axis=0)
        prototypes[classes] = others.mean(axis=0) if len(others) else 0.0
    return replace(model, prototypes=prototypes)
