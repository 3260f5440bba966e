"""`TraceNormClassifier`: classes in a latent space of few dimensions, or of few features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.estimators.rows_classifier import RowsClassifier, seed_of
from myriad.models import LatentModel
from myriad.progress import Progress
from myriad.training import AtomDescent, Fitted, number_or

_NUMBER = number_or(auto=None)


class TraceNormClassifier(RowsClassifier):
    """Multinomial logistic regression of low rank, by stochastic atom descent [LS].

    It minimises ``lam gauge(W) + mean loss``, and bounds how far it is from the minimum. Each class
    has a bias that is not learned: the logarithm of its part of the rows, so that a `lam` large
    enough for W = 0 leaves a model that predicts the prior.

    Parameters
    ----------
    lam : weight of the gauge, above 0; ``"auto"`` follows a path from the least that makes W zero
        downwards and chooses on a held-out part of the rows.
    relax : the weights are fitted anew on the directions or features that `lam` chose, with this
        part of `lam`, so that they shrink less; 1 for not at all. ``"auto"`` tries parts where
        `lam` is chosen, else it is 1. Bound and objective are those before.
    gauge : ``"trace"``, the sum of the singular values: W has low rank; ``"l1"``, the sum of the
        absolute entries: W is sparse; ``"l1_l2"``, the sum over features of the norm over classes:
        few features are used.
    batch : rows of the mini-batches that atoms are first looked for on, which grow by themselves;
        None for four times the larger side of W, at least 1024.
    subspace_every : atoms between two minimisations over the support.
    tol : the suboptimality bound at which to stop, as a part of the objective.
    max_rounds : the most minimisations for one `lam`.
    validation_fraction : part of the rows of each class to hold out, where `lam` is ``"auto"``.
    refit : train again on all rows, held-out ones included, with the `lam` found.
    threads : threads to use; None for one a core. The result does not depend on it.
    random_state : seed of mini-batches and starting vectors.
    progress : what to tell how far training is, if anything.
    callback : called after each round with its row of the history.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `FactoredModel`, or `ChosenModel` of some features.
    settings_ : the numbers used.
    rank_ : the rank of the weights.
    bound_ : the objective is at most this far above its minimum.
    n_epochs_ : rounds.
    history_ : ``objective``, ``bound``, ``rank``, ``atoms`` and ``seconds`` after each round.
    search_ : the path: ``lam``, ``relax``, ``rank`` and held-out accuracy of each value.
    """

    model_: LatentModel

    def __init__(
        self,
        *,
        lam: float | str = "auto",
        relax: float | str = "auto",
        gauge: str = "trace",
        batch: int | None = None,
        subspace_every: int = 8,
        tol: float = 0.01,
        max_rounds: int = 100,
        validation_fraction: float = 0.1,
        refit: bool = True,
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
        callback: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.lam = lam
        self.relax = relax
        self.gauge = gauge
        self.batch = batch
        self.subspace_every = subspace_every
        self.tol = tol
        self.max_rounds = max_rounds
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.threads = threads
        self.random_state = random_state
        self.progress = progress
        self.callback = callback

    def _method(self) -> AtomDescent:
        return AtomDescent(
            lam=_NUMBER("lam", self.lam),
            relax=_NUMBER("relax", self.relax),
            gauge=self.gauge,
            batch=self.batch,
            subspace_every=self.subspace_every,
            tol=self.tol,
            rounds=self.max_rounds,
            seed=seed_of(self.random_state),
            callback=self.callback,
        )

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        self.rank_, self.bound_ = fitted.settings["rank"], fitted.settings["bound"]

    def embed(self, X: Any) -> NDArray[np.float32]:
        """Return the latents of rows, (n_samples, n_latents): all that scores depend on."""
        return np.concatenate([self.model_.lift(part) for part in self._parts(X)])

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights, of shape (n_classes, n_features), multiplied out when asked for."""
        return self.model_.to_linear().weights

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The biases, of shape (n_classes,)."""
        return self.model_.biases
