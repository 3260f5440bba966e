"""Training with the settings of an earlier model, without another search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.models import HeldScores
from myriad.store import CentredRows, Rows, ScaledRows, feature_means, unit_variance
from myriad.training import METHODS
from myriad.training.automatic.folds import CLASS_ACCURACY, draw_folds
from myriad.training.automatic.priors import correct_priors, log_priors
from myriad.training.calibrating import score_held
from myriad.training.context import Context
from myriad.training.dual.method import DualMethod
from myriad.training.dual.svms import BinaryDual
from myriad.training.method import Fitted, Method, make_method
from myriad.training.settings import mean_square

N_FOLDS = 3
HELD_OUT_TOL = 0.03
"""The relative duality gap of the model that scores held-out rows, as in the search of `train`."""
UNKNOWN_EPOCHS = 16
"""Epochs of gradient descent for models of earlier versions, which do not store their number."""


@dataclass(frozen=True)
class StoredMethod:
    """A method with the settings that a model stores.

    Attributes
    ----------
    prior_weight : strength of the prior correction after training; see `automatic.Choice`.
    scaled : whether features are scaled to unit variance; see the same.
    """

    method: Method
    prior_weight: float = 0.0
    scaled: bool = False

    def fit(self, rows: Rows, context: Context) -> Fitted:
        """Train on rows."""
        n_classes = len(rows.class_names)
        if self.scaled:
            scale = unit_variance(CentredRows(rows, feature_means(rows).astype(np.float32)))
            scaled = ScaledRows(rows, scale)
            fitted = self.method.fit(scaled, None, n_classes=n_classes, context=context)
            fitted = replace(fitted, model=fitted.model.unscaled(scale))
        else:
            fitted = self.method.fit(rows, None, n_classes=n_classes, context=context)
        if not self.prior_weight:
            return fitted
        priors = log_priors(rows.labels, n_classes)
        return replace(fitted, model=correct_priors(fitted.model, self.prior_weight, priors))


def read_method(
    settings: Mapping[str, Any], rows: Rows, n_before: int, *, seed: int
) -> StoredMethod:
    """Return the method with the settings that a model stores; `InputError` if it stores none.

    Parameters
    ----------
    rows : the rows to train on.
    n_before : number of rows that the model was trained on.
    """
    objective = settings.get("objective")
    if objective not in METHODS or objective == "auto":
        raise InputError("The model does not record how it was trained, so it cannot be updated.")
    known = METHODS[objective].command_options(objective)
    stated = {name: settings[name] for name in known if name in settings}
    if "eta" in known:
        stated.setdefault("epochs", UNKNOWN_EPOCHS)
    else:
        stated.pop("epochs", None)  # the number until the gap was small, not a maximum
    method = make_method(METHODS, objective, seed=seed, **stated)
    if isinstance(method, BinaryDual) and method.lam is not None:
        # The loss is a mean over rows: lam is inversely proportional to their number.
        method = replace(method, lam=method.lam * n_before / rows.n_rows)
        if settings.get("chosen_by") == "auto":
            measure = settings.get("cross_validation", {}).get("measure")
            method = _like_automatic(method, rows, balanced=measure == CLASS_ACCURACY)
    scaled = settings.get("scaled") is True
    return StoredMethod(method, float(settings.get("prior_weight", 0.0)), scaled)


def _like_automatic(method: BinaryDual, rows: Rows, *, balanced: bool) -> BinaryDual:
    """Return the method with the bias and class weights of ``auto``; see `dual_family.Dual`."""
    mean = feature_means(rows).astype(np.float32)
    method = replace(method, bias=float(np.sqrt(mean_square(CentredRows(rows, mean)))))
    if balanced:
        counts = np.maximum(np.bincount(rows.labels, minlength=len(rows.class_names)), 1)
        method = replace(method, class_weights=tuple((counts.mean() / counts).tolist()))
    return method


def cross_fit(
    stored: StoredMethod, rows: Rows, context: Context
) -> tuple[Fitted, HeldScores | None]:
    """Train on all rows; return the model, and scores of a third of the rows by cross-fitting."""
    folds = draw_folds(rows.labels, N_FOLDS, seed=stored.method.seed, groups=rows.groups)
    held = np.flatnonzero(folds == 0)
    method = stored.method
    coarse = method
    if isinstance(method, DualMethod):
        coarse = replace(method, tol=max(method.tol, HELD_OUT_TOL))
    first = replace(stored, method=coarse).fit(rows.select(np.flatnonzero(folds != 0)), context)
    if isinstance(method, DualMethod):
        # Training on all rows takes at least as many epochs as on two thirds of them.
        stored = replace(stored, method=replace(method, first_check=first.epochs))
    return stored.fit(rows, context), score_held(first.model, rows.select(held))
