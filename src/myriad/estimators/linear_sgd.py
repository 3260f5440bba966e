"""`LinearSGD`: linear classifiers by stochastic gradient descent, settings found by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from myriad.errors import InputError
from myriad.models import LinearModel
from myriad.objectives import BINARY_LOSSES
from myriad.progress import SILENT, Progress
from myriad.store import ArrayRows, Rows, Store
from myriad.training import (
    BETA_WORDS,
    ETA_WORDS,
    TRAINERS,
    Fitted,
    Plan,
    Schedule,
    WarpOptions,
    hold_out,
    parse_setting,
)


class LinearSGD(ClassifierMixin, BaseEstimator):
    """A linear classifier of many classes, trained by SGD in exact blocks.

    The steps are those of example-at-a-time SGD, at the speed of a matrix product. Numbers given as
    ``"auto"`` are searched for on a held-out part of the rows, scored against all classes.

    Parameters
    ----------
    objective : ``"ovr"``, one class against the rest; or all classes jointly: ``"multiclass"``,
        ``"ranking"``, ``"warp"`` [GP, 3] or ``"softmax"`` [LS].
    loss : of ``ovr``: ``"hinge"``, ``"logistic"`` or ``"squared"``.
    beta : of ``ovr``: average number of negatives drawn a positive, ``"all"`` for every row, or
        ``"auto"``.
    eta : step, or ``"auto"``.
    lam : weight of the squared norm of the weights.
    schedule : ``"fixed"`` step; ``"lam"``, 1 / (lam (t + t0)) with t0 such that it begins at `eta`;
        or ``"decay"``, eta t0 / (t + t0).
    t0 : of ``decay``: steps after which the step has halved.
    replacement, exact_rank, constant_weight, max_draws, last_violators : of ``warp``: draw with
        replacement; count all violators instead of estimating their number; weigh all steps alike;
        the most draws a row, None for C - 1; how long a chain of last violators makes a row be
        passed over [HM, 6].
    epochs : the most passes over the rows.
    early_stopping : stop when held-out accuracy has not risen by more than `theta` points for
        `patience` epochs (None: 8, or 4 if 2,000 rows or more are held out), and keep the best
        number of epochs.
    validation_fraction : part of the rows of each class to hold out.
    refit : train again on all rows, held-out ones included, with what was found.
    memory : bytes that the weights trained together in a search may take.
    threads : threads to use; None for one a core. The result does not depend on it.
    random_state : seed of order and draws.
    progress : what to tell how far training is, if anything.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `LinearModel`.
    settings_ : the numbers used: ``eta``, ``beta``, ``lam``.
    n_epochs_ : passes over the rows.
    history_ : held-out accuracy after each epoch.
    search_ : the settings tried, with the held-out accuracy of each.
    """

    def __init__(
        self,
        *,
        objective: str = "ovr",
        loss: str = "hinge",
        beta: float | str = "auto",
        eta: float | str = "auto",
        lam: float = 0.0,
        schedule: str = "fixed",
        t0: float = 1000.0,
        replacement: bool = True,
        exact_rank: bool = False,
        constant_weight: bool = False,
        max_draws: int | None = None,
        last_violators: int = 0,
        epochs: int = 50,
        early_stopping: bool = True,
        theta: float = 0.0,
        patience: int | None = None,
        validation_fraction: float = 0.1,
        refit: bool = True,
        memory: int = 2 << 30,
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> None:
        self.objective = objective
        self.loss = loss
        self.beta = beta
        self.eta = eta
        self.lam = lam
        self.schedule = schedule
        self.t0 = t0
        self.replacement = replacement
        self.exact_rank = exact_rank
        self.constant_weight = constant_weight
        self.max_draws = max_draws
        self.last_violators = last_violators
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.theta = theta
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.memory = memory
        self.threads = threads
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: ArrayLike | Store, y: ArrayLike | None = None) -> Self:
        """Train on rows `X` and labels `y`, or on the training rows of a `Store`.

        A store's own validation rows are held out if it has any.
        """
        plan = self._plan()
        held_out: Rows | None = None
        if isinstance(X, Store):
            self.classes_ = np.array(X.class_names, dtype=object)
            self.n_features_in_ = X.dim
            rows: Rows = X.rows("train")
            held_out = X.rows("val") if "val" in set(X.splits) else None
        else:
            array, y = validate_data(self, X, y, dtype=np.float32, order="C")
            check_classification_targets(y)
            self.classes_, labels = np.unique(y, return_inverse=True)
            rows = ArrayRows(array, labels.astype(np.int32))
        if len(self.classes_) < 2:
            raise InputError("At least two classes are needed: y holds one class only.")
        fitted = self._fit_rows(rows, held_out, plan)
        self.model_ = LinearModel(fitted.W, fitted.b)
        self.settings_ = fitted.setting.to_json()
        self.n_epochs_ = self.n_iter_ = fitted.epochs
        self.history_, self.search_ = fitted.history, fitted.table
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the scores, of shape (n_samples, n_classes); for two classes their difference."""
        rows = self._rows(X)
        scores = self.model_.scores(rows)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the best label of each row."""
        return self.predict_topk(X, 1)[0][:, 0]

    def predict_topk(self, X: ArrayLike, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` best labels of each row and their scores, best first.

        Scores are made for a bounded number of rows at a time.
        """
        rows = self._rows(X)
        labels, scores = self.model_.rank(rows, k)
        return self.classes_[labels], scores

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights, of shape (n_classes, n_features), for two classes as well."""
        return self.model_.weights

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The biases, of shape (n_classes,)."""
        return self.model_.biases

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self, "model_")
        rows: NDArray[np.float32] = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return rows

    def _plan(self) -> Plan:
        if self.objective not in TRAINERS:
            raise InputError(
                f"objective must be one of {sorted(TRAINERS)}, not {self.objective!r}."
            )
        if self.loss not in BINARY_LOSSES:
            raise InputError(f"loss must be one of {sorted(BINARY_LOSSES)}, not {self.loss!r}.")
        return Plan(
            loss=BINARY_LOSSES[self.loss],
            eta=parse_setting("eta", self.eta, ETA_WORDS),
            beta=parse_setting("beta", self.beta, BETA_WORDS),
            lam=self.lam,
            schedule=Schedule(self.schedule, self.t0),
            warp=WarpOptions(
                self.replacement,
                self.exact_rank,
                self.constant_weight,
                self.max_draws,
                self.last_violators,
            ),
            epochs=self.epochs,
            theta=self.theta,
            patience=self.patience,
            memory=self.memory,
            seed=_seed(self.random_state),
        )

    def _fit_rows(self, rows: Rows, held_out: Rows | None, plan: Plan) -> Fitted:
        train = TRAINERS[self.objective]
        options: dict[str, Any] = {
            "n_classes": len(self.classes_),
            "threads": self.threads,
            "progress": self.progress or SILENT,
        }
        kept, own_split = rows, held_out is None
        if own_split and (self.early_stopping or plan.is_open(self.objective)):
            kept, held_out = hold_out(rows, self.validation_fraction, seed=plan.seed)
        if held_out is None:
            return train(rows, None, plan, **options)
        if not self.early_stopping:
            plan = replace(plan, patience=plan.epochs)
        fitted = train(kept, held_out, plan, **options)
        if not (self.refit and own_split):
            return fitted
        again = train(rows, None, plan.settled(fitted.setting, fitted.epochs), **options)
        return replace(again, history=fitted.history, table=fitted.table)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
