"""`TraceNormClassifier`: classes in a latent space of few dimensions, or of few features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.estimators.rows_classifier import RowsClassifier, seed_of
from myriad.models import LatentModel
from myriad.progress import Progress
from myriad.training import AtomDescent, Fitted


class TraceNormClassifier(RowsClassifier):
    """Multinomial logistic regression of low rank, by stochastic atom descent [LS].

    It minimises ``lam gauge(W) + mean loss``, with a bound on the distance to the minimum. A class
    has a bias that is not learned: the logarithm of its fraction of the rows, so that a `lam` large
    enough for W = 0 leaves a model that predicts the prior.

    Parameters
    ----------
    lam : regularisation strength, above 0; ``"auto"`` follows a path from the smallest value that
        makes W zero downwards and chooses on held-out rows.
    relax : the weights are fitted again on the directions or features that `lam` selected, with
        this fraction of `lam`, so that they shrink less; 1 for no second fit. ``"auto"`` tries
        several fractions where `lam` is chosen, else it is 1. Bound and objective are those of the
        first fit.
    gauge : ``"trace"``, the sum of the singular values: W has low rank; ``"l1"``, the sum of the
        absolute entries: W is sparse; ``"l1_l2"``, the sum over features of the norm over classes:
        few features are used.
    center : subtract the mean of the rows for training; the fitted model takes uncentred rows.
    batch : initial size of the mini-batches on which atoms are searched; it grows during
        training; None for four times the larger side of W, at least 1024.
    subspace_every : atoms to add between two minimisations over all atoms.
    tol : relative suboptimality bound to stop at.
    max_rounds : maximum number of minimisations for one `lam`.
    validation_fraction : fraction of the rows of each class to hold out, where `lam` is ``"auto"``.
    refit : train again on all rows, held-out ones included, with the `lam` found.
    calibration : rows to calibrate probabilities on: ``"auto"``, rows that are held out anyway;
        ``"split"``, a fifth of the rows, never trained on; or ``"none"``.
    threads : number of threads; None for one per core. The result does not depend on it.
    random_state : seed of mini-batches and starting vectors.
    progress : a `Progress` that is notified while training, or None.
    callback : called after each round with its row of the history.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `FactoredModel`, or `ChosenModel` of some features.
    settings_ : the settings used.
    rank_ : the rank of the weights.
    bound_ : upper bound on the distance of the objective from its minimum.
    n_epochs_ : rounds.
    history_ : ``objective``, ``bound``, ``rank``, ``atoms`` and ``seconds`` after each round.
    search_ : the path: ``lam``, ``relax``, ``rank`` and held-out accuracy of each value.
    """

    model_: LatentModel
    _method_class = AtomDescent
    _renamed: ClassVar[Mapping[str, str]] = {"rounds": "max_rounds"}

    def __init__(
        self,
        *,
        lam: float | str = "auto",
        relax: float | str = "auto",
        gauge: str = "trace",
        center: bool = True,
        batch: int | None = None,
        subspace_every: int = 8,
        tol: float = 0.01,
        max_rounds: int = 100,
        validation_fraction: float = 0.1,
        refit: bool = True,
        calibration: str = "auto",
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
        callback: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.lam = lam
        self.relax = relax
        self.gauge = gauge
        self.center = center
        self.batch = batch
        self.subspace_every = subspace_every
        self.tol = tol
        self.max_rounds = max_rounds
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.calibration = calibration
        self.threads = threads
        self.random_state = random_state
        self.progress = progress
        self.callback = callback

    def _method(self) -> Any:
        return self._make_method(seed=seed_of(self.random_state), callback=self.callback)

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        self.rank_, self.bound_ = fitted.settings["rank"], fitted.settings["bound"]

    def embed(self, X: Any) -> NDArray[np.float32]:
        """Return the latent representation of rows, of shape (n_samples, n_latents)."""
        return np.concatenate([self.model_.project(chunk) for chunk in self._chunks(X)])

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights, of shape (n_classes, n_features), computed from the factors on access."""
        return self.model_.to_linear().weights

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The biases, of shape (n_classes,)."""
        return self.model_.biases
