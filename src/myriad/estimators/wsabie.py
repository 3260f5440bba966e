"""`Wsabie`: a small embedding of rows and classes, for very many classes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from myriad.errors import InputError
from myriad.estimators.rows_classifier import RowsClassifier, as_source, seed_of
from myriad.measures import LabelSets
from myriad.models import EmbeddingModel
from myriad.parallel import open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training import EmbeddingOptions, Fitted, WsabieMethod, number_or
from myriad.training.embedding.fitting import Task, model_of
from myriad.training.embedding.trainer import Embedding

_AUTO = number_or(auto=None)


class Wsabie(RowsClassifier):
    """A map into `dim` dimensions and a prototype of each class there, learned together [HM].

    A row belongs to the class whose prototype lies nearest to its embedding. Defaults are
    Wsabie++; Wsabie proper is ``discriminant="linear", rank_weight=True, last_violators=0,
    adagrad=False, max_norm=1.0``. Steps, margins and norms are counted in units of the data: the
    embedding of a row is about 1 long at the beginning.

    Parameters
    ----------
    dim : dimensions of the embedding, at most as many as there are features; ``"auto"`` for 128, or
        all features if there are fewer.
    discriminant : ``"euclidean"``, nearest prototype, or ``"linear"``, largest product.
    sampling : ``"warp"``, wrong classes are drawn until one comes within the margin, or ``"auc"``,
        one is drawn.
    rank_weight : weigh a step by the rank of the truth that the draws tell.
    last_violators : how long a chain of last violators makes a row be passed over, so that classes
        which are always confused do not rule the training [HM, 6]; 0 for none. A chain cannot be
        longer than there are classes.
    forget : whether `fit` forgets last violators at the beginning of each pass; if not, as in [HM],
        a class whose last violator violates the margin of all its rows is never trained on them
        again. `partial_fit` does not forget.
    adagrad : steps shrink with the squared gradients (True), with their number (``"count"``), or
        not (False).
    margin : by how much the truth should score better than any other class, or ``"auto"``.
    eta : step, or ``"auto"``.
    ensemble : embeddings trained one after the other and concatenated.
    replacement, max_draws : draw wrong classes with replacement; the most draws, None for as many
        as there are classes.
    max_norm : bound on the norms of prototypes and of the rows of the map, or None.
    index : ``"exact"`` ranking, or ``"ivf"``: approximate, its recall on held-out rows in
        ``settings_["recall"]``.
    epochs, early_stopping, theta, patience, validation_fraction, refit, client, rounds, threads,
    random_state, progress : as those of `LinearSGD`.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `EmbeddingModel`.
    settings_ : the numbers used.
    n_epochs_ : passes over the rows.
    history_ : held-out accuracy after each epoch; draws and steps a row, and rows passed over.
    search_ : the settings tried, with the held-out accuracy of each.
    """

    model_: EmbeddingModel
    _trainer: Embedding | None = None

    def __init__(
        self,
        *,
        dim: int | str = "auto",
        discriminant: str = "euclidean",
        sampling: str = "warp",
        rank_weight: bool = False,
        last_violators: int = 8,
        forget: bool = True,
        adagrad: bool | str = True,
        margin: float | str = "auto",
        eta: float | str = "auto",
        ensemble: int = 1,
        replacement: bool = False,
        max_draws: int | None = None,
        max_norm: float | None = None,
        index: str = "exact",
        epochs: int = 50,
        early_stopping: bool = True,
        theta: float = 0.0,
        patience: int | None = None,
        validation_fraction: float = 0.1,
        refit: bool = True,
        client: Any = None,
        rounds: int = 8,
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
        self.ensemble = ensemble
        self.replacement = replacement
        self.max_draws = max_draws
        self.max_norm = max_norm
        self.index = index
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.theta = theta
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.client = client
        self.rounds = rounds
        self.threads = threads
        self.random_state = random_state
        self.progress = progress

    def _method(self) -> WsabieMethod:
        if self.dim != "auto" and not isinstance(self.dim, Integral):
            raise InputError(f"dim must be a whole number or auto, not {self.dim!r}.")
        return WsabieMethod(
            dim=None if self.dim == "auto" else int(self.dim),
            eta=_AUTO("eta", self.eta),
            margin=_AUTO("margin", self.margin),
            options=EmbeddingOptions(
                discriminant=self.discriminant,
                sampling=self.sampling,
                rank_weight=self.rank_weight,
                last_violators=self.last_violators,
                forget=self.forget,
                adagrad=self.adagrad,
                replacement=self.replacement,
                max_draws=self.max_draws,
                max_norm=self.max_norm,
            ),
            ensemble=self.ensemble,
            epochs=self.epochs,
            theta=self.theta,
            patience=self.patience if self.early_stopping else self.epochs,
            index=self.index,
            rounds=self.rounds,
            seed=seed_of(self.random_state),
        )

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Pass once over some rows, going on from what earlier calls, or `fit`, have learned.

        Nothing is searched: what is ``"auto"`` takes modest numbers. One embedding is trained.

        Parameters
        ----------
        classes : all labels that will ever come, at the first call; by default those of `y`.
        """
        first = not hasattr(self, "model_")
        X, seen, labels = self._take_arrays(X, y, reset=first)
        if first:
            self.classes_ = seen if classes is None else np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise InputError("At least two classes are needed: give all of them as classes.")
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
        self._trainer, self.model_ = trainer, model_of(trainer, method.options)
        self.n_epochs_ = self.n_iter_ = trainer.epoch
        return self

    def _begin(self, rows: Rows, method: WsabieMethod) -> Embedding:
        """Return an embedding at its beginning, or as `fit` has left it."""
        fitted = getattr(self, "model_", None)
        dim = method.dim_for(rows.dim)
        task = Task.of(method, rows, len(self.classes_), dim, SILENT)
        trainer = task.make(method.stated(dim))
        if fitted is not None:
            if fitted.map.shape != trainer.V.shape:
                raise InputError("partial_fit goes on with one embedding, not with an ensemble.")
            trainer.take(fitted.map, fitted.prototypes)
        return trainer

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        self._trainer = None

    def neighbours(self, label: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` classes whose prototypes lie nearest to that of a class [HM, Table 7].

        Returns
        -------
        Their labels, nearest first, and their distances.
        """
        check_is_fitted(self, "model_")
        places = np.flatnonzero(self.classes_ == label)
        if len(places) != 1:
            raise InputError(f"{label!r} is not one of the classes.")
        if k < 1:
            raise InputError(f"k must be at least 1, not {k}.")
        near, distances = self.model_.neighbours(int(places[0]), k)
        return self.classes_[near], distances
