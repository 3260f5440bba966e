"""`Wsabie`: a small embedding of rows and classes, for very many classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from myriad.errors import InputError
from myriad.estimators.rows_classifier import RowsClassifier, as_source
from myriad.measures import LabelSets
from myriad.models import EmbeddingModel
from myriad.parallel import open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training import Fitted, WsabieMethod
from myriad.training.embedding.fitting import Task
from myriad.training.embedding.second_stage import rank_last
from myriad.training.embedding.trainer import Embedding


class Wsabie(RowsClassifier):
    """Joint embedding of rows and classes into `dim` dimensions [HM].

    A row belongs to the class whose prototype is nearest to its embedding. The defaults are
    Wsabie++ without last violators, which cost accuracy where they were measured; Wsabie proper is
    ``discriminant="linear", rank_weight=True, adagrad=False, max_norm=1.0``. Learning rates,
    margins and norms are in units of the data: the embedding of a row is about 1 long at the start.

    Parameters
    ----------
    dim : dimensions of the embedding, at most the number of features; ``"auto"`` for 128, or the
        number of features if that is smaller.
    discriminant : ``"euclidean"``, nearest prototype, or ``"linear"``, largest product.
    sampling : ``"warp"``, wrong classes are drawn until one violates the margin, or ``"auc"``, one
        is drawn.
    rank_weight : weight a step by the rank of the correct class, estimated from the draws.
    last_violators : skip a row after a chain of this many last violators, so that classes that
        are always confused do not dominate the training [HM, 6]; 0 for none. A chain cannot be
        longer than the number of classes.
    forget : whether `fit` clears last violators at the start of each epoch; if not, as in [HM], a
        class whose last violator violates the margin of all its rows is never trained on them
        again. `partial_fit` does not clear them.
    adagrad : learning rates shrink with the squared gradients (True), with the number of steps
        (``"count"``), or not (False).
    margin : margin of the ranking loss, or ``"auto"``.
    eta : learning rate, or ``"auto"``.
    center : subtract the mean of the rows for training; the fitted model takes uncentred rows.
        Only with the Euclidean discriminant.
    ensemble : number of embeddings that are trained one after the other and concatenated.
    runs : number of embeddings that are trained with different seeds; the one of the best held-out
        accuracy is kept, and `refit` trains with its seed.
    replacement, max_draws : draw wrong classes with replacement; maximum number of draws, None for
        as many as there are classes.
    max_norm : bound on the norms of prototypes and of the rows of the map, or None.
    init : ``"signs"``, a map of random signs and prototypes of zero, or ``"ball"``, both uniform
        within `max_norm` [HM, 8.3].
    second_stage : ``"confusion"``: train twice; the second time a confusion of two classes counts
        less, the more common it was the first time [HM, 3.3]. ``"delete"``: the second
        time without the classes that were recognised worst, which are then ranked last, or, with
        the linear discriminant, never first. Or ``"none"``.
    deleted : fraction of the classes that ``second_stage="delete"`` leaves out, at least one.
    index : ``"exact"`` ranking, or ``"ivf"``: approximate, with its recall on held-out rows in
        ``settings_["recall"]``.
    epochs, early_stopping, theta, patience, validation_fraction, refit, client, rounds,
    calibration, threads, random_state, progress : as those of `LinearSGD`.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `EmbeddingModel`.
    settings_ : the settings used.
    n_epochs_ : number of epochs.
    history_ : held-out accuracy after each epoch; draws and steps per row, and rows skipped.
    search_ : the candidates of the search, with the held-out accuracy of each.
    """

    model_: EmbeddingModel
    _method_class = WsabieMethod
    _trainer: Embedding | None = None

    def __init__(
        self,
        *,
        dim: int | str = "auto",
        discriminant: str = "euclidean",
        sampling: str = "warp",
        rank_weight: bool = False,
        last_violators: int = 0,
        forget: bool = True,
        adagrad: bool | str = True,
        margin: float | str = "auto",
        eta: float | str = "auto",
        center: bool = False,
        ensemble: int = 1,
        runs: int = 1,
        replacement: bool = False,
        max_draws: int | None = None,
        max_norm: float | None = None,
        init: str = "signs",
        second_stage: str = "none",
        deleted: float = 0.1,
        index: str = "exact",
        epochs: int = 50,
        early_stopping: bool = True,
        theta: float = 0.0,
        patience: int | None = None,
        validation_fraction: float = 0.1,
        refit: bool = True,
        client: Any = None,
        rounds: int = 8,
        calibration: str = "auto",
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> None:
        self.dim = dim
        self.discriminant = discriminant
        self.sampling = sampling
        self.rank_weight = rank_weight
        self.last_violators = last_violators
        self.forget = forget
        self.adagrad = adagrad
        self.margin = margin
        self.eta = eta
        self.center = center
        self.ensemble = ensemble
        self.runs = runs
        self.replacement = replacement
        self.max_draws = max_draws
        self.max_norm = max_norm
        self.init = init
        self.second_stage = second_stage
        self.deleted = deleted
        self.index = index
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.theta = theta
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.client = client
        self.rounds = rounds
        self.calibration = calibration
        self.threads = threads
        self.random_state = random_state
        self.progress = progress

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Train for one epoch on some rows, from the weights of earlier calls or of `fit`.

        Nothing is searched: parameters that are ``"auto"`` get default values. One embedding is
        trained. Classes that had no rows yet are ranked last by the Euclidean discriminant; by the
        linear one they score 0.

        Parameters
        ----------
        classes : all labels of this and later calls, at the first call; by default those of `y`.
        """
        first = not hasattr(self, "model_")
        X, seen, labels = self._validate_arrays(X, y, reset=first)
        if first:
            self.classes_ = seen if classes is None else np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise InputError("At least two classes are needed: give all of them as classes.")
            self._unseen = np.ones(len(self.classes_), np.bool_)
        numbers = np.searchsorted(self.classes_, seen).clip(0, len(self.classes_) - 1)
        if (self.classes_[numbers] != seen).any():
            raise InputError("y has labels that are not among the classes of the first call.")
        numbers = numbers.astype(np.int32)
        several = isinstance(labels, LabelSets)
        rows = as_source(X, labels.renumbered(numbers) if several else numbers[labels])
        method = self._method()
        trainer = self._trainer or self._begin(rows, method)
        with open_threads(self.threads) as pool:
            trainer.run_epoch(rows, seed=method.seed, pool=pool, advance=lambda n: None)
        self._unseen[numbers] = False
        self._trainer, self.model_ = trainer, rank_last(trainer.model(), self._unseen)
        self.n_epochs_ = self.n_iter_ = trainer.epoch
        return self

    def _begin(self, rows: Rows, method: WsabieMethod) -> Embedding:
        """Return a new embedding, or the one that `fit` has trained."""
        fitted = getattr(self, "model_", None)
        task = Task.of(method, rows, len(self.classes_), SILENT)
        trainer = task.make(method.default_setting(task.dim))
        trainer.forgets = False  # batches may be short: what they have found is kept
        if fitted is not None:
            if fitted.map.shape != trainer.V.shape:
                raise InputError("partial_fit resumes one embedding, not an ensemble.")
            trainer.start_from(fitted.map, fitted.prototypes)
        return trainer

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        self._trainer = None
        self._unseen = np.zeros(len(self.classes_), np.bool_)

    def neighbours(self, label: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` classes whose prototypes are nearest to that of a class [HM, Table 7].

        Returns
        -------
        labels, distances : arrays of shape (k,), nearest first.
        """
        check_is_fitted(self, "model_")
        numbers = np.flatnonzero(self.classes_ == label)
        if len(numbers) != 1:
            raise InputError(f"{label!r} is not one of the classes.")
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}.")
        near, distances = self.model_.neighbours(int(numbers[0]), k)
        return self.classes_[near], distances
