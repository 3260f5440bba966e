"""`DualSVM`: one-vs-rest support vector machines in the dual, each with a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.estimators.rows_classifier import (
    EPOCHS_AND_SECONDS,
    CertifiedClassifier,
    TrainingData,
)
from myriad.progress import Progress
from myriad.store import Rows
from myriad.training import BinaryDual, Fitted, Method


class DualSVM(CertifiedClassifier):
    """One-vs-rest support vector machines, the problem that LIBLINEAR solves.

    Class c minimises ``lam/2 |w|^2 + sum_i weight_i loss_i`` by coordinate ascent in the dual, all
    classes in the same epochs, until the relative duality gap of every class, recomputed in
    float64, is at most `tol`. Without weights it is ``LinearSVC(C=1 / (lam n))`` of the rows, which
    are centred by default, with `bias` as its ``intercept_scaling``.

    Parameters
    ----------
    loss : ``"squared_hinge"``, or ``"hinge"``, which takes about three times as long to train.
    lam : regularisation strength, or ``"auto"`` to search for it on held-out rows.
    lam_per_class : search for a separate lam for each class [LS]; they are in
        ``settings_["lams"]``.
    beta : weight of the negatives of a class together, as a multiple of that of its positives, so
        that rare classes are not ignored [GP, 3.2]; ``"all"`` gives every row the same weight.
    class_weight : weight of the positives of a class: a dictionary from labels to numbers,
        ``"balanced"`` for the inverse of their frequency, or None.
    center : subtract the mean of the rows for training; the fitted model takes uncentred rows.
    tol : relative duality gap at which training stops; below 1e-5 training runs in float64.
    max_epochs : maximum number of epochs.
    max_seconds : maximum training time in seconds, or None; training then stops at its current gap.
    bias : value of a constant feature (regularised bias), or ``"auto"`` for the root mean square
        norm of the rows; 0 for none.
    validation_fraction : fraction of the rows of each class to hold out where `lam` is searched.
    refit : train again on all rows, held-out ones included, with the settings found.
    client : train on a Dask cluster: a client, ``"active"`` for the one that the program has made,
        the address of a scheduler, or ``"local:N"``. The model is the same. Workers must see
        the store; arrays are written to a temporary folder for them.
    calibration : rows to calibrate probabilities on: ``"auto"``, rows that are held out anyway;
        ``"split"``, a fifth of the rows, never trained on; or ``"none"``.
    threads : number of threads; None for one per core. The result does not depend on it.
    random_state : seed of the order of rows.
    progress : a `Progress` that is notified while training, or None.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `LinearModel`.
    gaps_ : the relative duality gap of each class; `gap_` is the largest.
    primal_, dual_ : the values, summed over classes.
    settings_ : the settings used.
    n_epochs_ : number of epochs.
    history_ : the certificates computed: ``epoch``, ``seconds``, ``primal``, ``dual``, ``gap``.
    search_ : the values of `lam` tried, with the held-out accuracy of each.
    """

    _method_class = BinaryDual
    _renamed = EPOCHS_AND_SECONDS

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        lam: float | str = "auto",
        lam_per_class: bool = False,
        beta: float | str = "all",
        class_weight: Mapping[Any, float] | str | None = None,
        center: bool = True,
        tol: float = 1e-3,
        max_epochs: int = 300,
        max_seconds: float | None = None,
        bias: float | str = "auto",
        validation_fraction: float = 0.1,
        refit: bool = True,
        client: Any = None,
        calibration: str = "auto",
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> None:
        self.loss = loss
        self.lam = lam
        self.lam_per_class = lam_per_class
        self.beta = beta
        self.class_weight = class_weight
        self.center = center
        self.tol = tol
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.bias = bias
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.client = client
        self.calibration = calibration
        self.threads = threads
        self.random_state = random_state
        self.progress = progress

    def _fit_rows(self, data: TrainingData, method: Method) -> Fitted:
        if self.class_weight is not None:
            assert isinstance(method, BinaryDual)
            weights = self._weigh(data.rows)
            method = replace(method, class_weights=tuple(weights.tolist()))
        return super()._fit_rows(data, method)

    def _weigh(self, rows: Rows) -> NDArray[np.float64]:
        """Return the weight of the positives of each class, float64 of shape (n_classes,)."""
        n_classes = len(self.classes_)
        if self.class_weight == "balanced":
            counts = rows.all_labels.counts(n_classes)
            return rows.n_rows / (n_classes * np.maximum(counts, 1.0))
        if not isinstance(self.class_weight, Mapping):
            raise InputError(
                "class_weight must be None, 'balanced' or a dictionary from labels to numbers, "
                f"not {self.class_weight!r}."
            )
        weights = self.class_weight
        return np.array([float(weights.get(label, 1.0)) for label in self.classes_])
