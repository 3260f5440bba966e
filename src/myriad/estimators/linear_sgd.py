"""`LinearSGD`: linear classifiers by stochastic gradient descent, with a search for settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from myriad.errors import InputError
from myriad.estimators.labels import extend_classes
from myriad.estimators.rows_classifier import LinearRowsClassifier, TrainingData, as_source, seed_of
from myriad.measures import LabelSets
from myriad.progress import Progress
from myriad.store import Rows, Store
from myriad.training import SGD, Context, Fitted, IncrementalTraining, Method


class LinearSGD(LinearRowsClassifier):
    """Linear classifier for many classes, trained by SGD in exact blocks.

    The steps are those of example-at-a-time SGD, at the speed of a matrix product. Parameters given
    as ``"auto"`` are searched for on held-out rows, scored against all classes.

    Parameters
    ----------
    objective : ``"ovr"``, one class against the rest; or all classes jointly: ``"multiclass"``,
        ``"ranking"``, ``"warp"`` [GP, 3], ``"auc"`` [HM, 5.1] or ``"softmax"`` [LS]. All but
        ``softmax`` accept several labels per row.
    loss : for ``ovr``: ``"hinge"``, ``"logistic"``, ``"squared"`` or ``"perceptron"``.
    k : for ``softmax``: k of the top-k loss; the k - 1 largest wrong scores are left
        out of the loss (truncated top-k entropy [LHS]), which is then not convex.
    negatives : for ``softmax``: wrong classes drawn for each row, corrected for their probability
        (sampled softmax), or ``"all"``.
    beta : for ``ovr``: average number of negatives per positive, ``"all"`` for every row, or
        ``"auto"``.
    eta : learning rate, or ``"auto"``.
    lam : regularisation strength, the weight of ``|W|^2 / 2``; ``"auto"`` tries several values
        where rows are few.
    center : subtract the mean of the rows for training; the fitted model takes uncentred rows.
    scale : scale each feature to unit variance, True or False, or ``"auto"`` to find out whether
        that helps, unless `lam` is stated. The weights are always for unscaled rows.
    plda : train in the space of probabilistic discriminant analysis with this regularisation, for
        many classes of few rows; None for none. The weights are for rows as they are.
    balanced : for the joint objectives: sample classes uniformly, then one row of each [GP, Eq. 4].
    batch : rows of a mini-batch, whose mean gradient makes one step; ``"all"`` for gradient descent
        on all rows, 1 for a step after each row.
    schedule : ``"fixed"`` learning rate; ``"lam"``, 1 / (lam (t + t0)) with t0 such that it begins
        at `eta`; or ``"decay"``, eta t0 / (t + t0).
    t0 : for ``decay``: steps after which the learning rate has halved; ``"auto"`` searches for it
        together with `eta`.
    adagrad : ``"class"``: the learning rate of a class shrinks by the root of its squared gradients
        [HM, 7]; ``"feature"``: that of a feature does; or ``"none"``.
    average : average the weights over the latest steps, at least half of all.
    max_norm : bound on the norm of a class's weights, None for no bound [HM].
    init : initial weights: ``"zero"``, or ``"ball"``, uniform within `max_norm` [HM, 8.3].
    replacement, exact_rank, constant_weight, max_draws, last_violators : of ``warp``: draw with
        replacement; count all violators instead of estimating their number; give all steps the same
        weight; maximum number of draws per row, None for C - 1; how long a chain of last violators
        makes a row be skipped [HM, 6].
    epochs : maximum number of epochs.
    early_stopping : stop when held-out accuracy has not risen by more than `theta` points for
        `patience` epochs (None: 8, or 4 if 2,000 rows or more are held out), and keep the best
        number of epochs.
    theta : minimum increase of held-out accuracy in percentage points (often called ``min_delta``).
    patience : number of epochs to wait for an increase.
    validation_fraction : fraction of the rows of each class to hold out.
    refit : train again on all rows, held-out ones included, with the settings found.
    memory : memory limit in bytes for weights that are trained together in a search.
    client : train on a Dask cluster: a client, ``"active"`` for the one that the program has made,
        the address of a scheduler, or ``"local:N"``. ``ovr`` gives the same model; see
        `rounds`. Workers must see the store; arrays are written to a temporary folder for them.
    rounds : with `client`, how many times an epoch of a joint objective averages its weights.
    calibration : rows to calibrate probabilities on: ``"auto"``, rows that are held out anyway;
        ``"split"``, a fifth of the rows, never trained on; or ``"none"``.
    threads : number of threads; None for one per core. The result does not depend on it.
    random_state : seed of the order of rows and of all draws.
    warm_start : start `fit` from the weights of the previous fit, with the settings found then.
    progress : a `Progress` that is notified while training, or None.
    callback : called after each epoch with its row of the history.
    verbose : print a line for each epoch.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `LinearModel`.
    settings_ : the settings used.
    n_epochs_ : number of epochs.
    history_ : held-out accuracy after each epoch.
    search_ : the candidates of the search, with the held-out accuracy of each.
    """

    _method_class = SGD

    def __init__(
        self,
        *,
        objective: str = "ovr",
        loss: str = "hinge",
        k: int = 1,
        negatives: int | str = "all",
        beta: float | str = "auto",
        eta: float | str = "auto",
        lam: float | str = 0.0,
        center: bool = True,
        scale: bool | str = "auto",
        plda: float | None = None,
        balanced: bool = False,
        batch: int | str = 1,
        schedule: str = "fixed",
        t0: float | str = 1000.0,
        adagrad: str = "none",
        average: bool = False,
        max_norm: float | None = None,
        init: str = "zero",
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
        client: Any = None,
        rounds: int = 8,
        calibration: str = "auto",
        threads: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        progress: Progress | None = None,
        callback: Callable[[dict[str, Any]], None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.objective = objective
        self.loss = loss
        self.k = k
        self.negatives = negatives
        self.beta = beta
        self.eta = eta
        self.lam = lam
        self.center = center
        self.scale = scale
        self.plda = plda
        self.balanced = balanced
        self.batch = batch
        self.schedule = schedule
        self.t0 = t0
        self.adagrad = adagrad
        self.average = average
        self.max_norm = max_norm
        self.init = init
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
        self.client = client
        self.rounds = rounds
        self.calibration = calibration
        self.threads = threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.progress = progress
        self.callback = callback
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike | Store,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on rows `X` and labels `y`, or on the training rows of a `Store`.

        See `RowsClassifier.fit`.

        Parameters
        ----------
        sample_weight : array of shape (n_samples,) that multiplies the steps of each row.
        """
        self.__dict__.pop("_incremental", None)
        return self._fit(X, y, sample_weight)

    def _fit_rows(self, data: TrainingData, method: Method) -> Fitted:
        before = getattr(self, "model_", None)
        if self.warm_start and before is not None:
            if before.n_classes != len(self.classes_) or before.dim != data.rows.dim:
                raise InputError("warm_start needs the classes and features of the fit before.")
            settled = cast(SGD, method.settled(Fitted(before, self.settings_, self.epochs)))
            method = replace(settled, start=before)
        return super()._fit_rows(data, method)

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train for one epoch on some rows, from the weights of earlier calls.

        Labels seen for the first time become new classes, after those known. Nothing is held out:
        where `eta` or `beta` is ``"auto"``, the values that `fit` found are used, else defaults.

        Parameters
        ----------
        classes : all labels, including those without a row so far.
        """
        first = not hasattr(self, "model_")
        X, seen, labels = self._validate_arrays(X, y, reset=first)
        if first:
            known = np.unique(seen[:0] if classes is None else np.asarray(classes))
            self.classes_ = known if len(known) else seen[:0]  # [] has another dtype
        self.classes_, numbers = extend_classes(self.classes_, seen)
        if isinstance(labels, LabelSets):
            labels = labels.renumbered(numbers)
        else:
            labels = numbers[labels]
        if len(self.classes_) < 2:
            raise InputError("At least two classes are needed: give all of them as classes.")
        self._train_epoch(as_source(X, labels, sample_weight))
        return self

    def _train_epoch(self, rows: Rows) -> None:
        """Train for one epoch on rows whose labels are indices of `classes_`."""
        n_classes, before = len(self.classes_), getattr(self, "model_", None)
        incremental: IncrementalTraining | None = getattr(self, "_incremental", None)
        if incremental is None:
            method = self._method()
            if before is not None:
                method = method.settled(Fitted(before, self.settings_ | {"scale": False}, 1))
            incremental = IncrementalTraining.begin(method, rows, n_classes, before)
        self._incremental = incremental.run(rows, n_classes, context=Context(threads=self.threads))
        epochs = self._incremental.trainer.epoch
        self._take(Fitted(self._incremental.model, self._incremental.settings, epochs))

    def _method(self) -> SGD:
        method: SGD = self._make_method(
            stated={"max_norm": "none" if self.max_norm is None else self.max_norm},
            objective=self.objective,
            seed=seed_of(self.random_state),
            callback=self._print_epoch if self.verbose else self.callback,
        )
        return method

    def _print_epoch(self, row: dict[str, Any]) -> None:
        """Print a line for an epoch."""
        accuracy = f", held-out top-1 {row['top1']:.2f} %" if "top1" in row else ""
        print(f"epoch {row['epoch']}{accuracy}", flush=True)
        if self.callback is not None:
            self.callback(row)
