"""`LinearSGD`: linear classifiers by stochastic gradient descent, settings found by themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.estimators.rows_classifier import RowsClassifier, seed_of
from myriad.models import LinearModel
from myriad.progress import Progress
from myriad.training import SGD, Schedule, WarpOptions, number_or, one_of

_ETA, _BETA = number_or(auto=None), number_or(auto=None, all=math.inf)
_SCALE = one_of({"auto": None, True: True, False: False})


class LinearSGD(RowsClassifier):
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
    lam : weight of the squared norm of the weights; ``"auto"`` tries several where rows are few.
    scale : bring each feature to unit variance, True or False, or ``"auto"`` to find out whether
        that helps, unless `lam` is stated. The weights are for plain rows all the same.
    balanced : of the joint objectives: draw classes uniformly, then a row of each [GP, Eq. 4].
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

    model_: LinearModel

    def __init__(
        self,
        *,
        objective: str = "ovr",
        loss: str = "hinge",
        beta: float | str = "auto",
        eta: float | str = "auto",
        lam: float | str = 0.0,
        scale: bool | str = "auto",
        balanced: bool = False,
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
        self.scale = scale
        self.balanced = balanced
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

    def _method(self) -> SGD:
        return SGD(
            objective=self.objective,
            loss=self.loss,
            eta=_ETA("eta", self.eta),
            beta=_BETA("beta", self.beta),
            lam=_ETA("lam", self.lam),
            scale=_SCALE("scale", self.scale),
            balanced=self.balanced,
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
            patience=self.patience if self.early_stopping else self.epochs,
            memory=self.memory,
            seed=seed_of(self.random_state),
        )

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights, of shape (n_classes, n_features), for two classes as well."""
        return self.model_.weights

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The biases, of shape (n_classes,)."""
        return self.model_.biases
