"""`TopKSVM`: the top-k multiclass SVM and smooth top-k losses, with a certificate of optimality."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from myriad.errors import InputError
from myriad.estimators.rows_classifier import (
    EPOCHS_AND_SECONDS,
    CertifiedClassifier,
    TrainingData,
    seed_of,
)
from myriad.progress import Progress
from myriad.store import ArrayRows, Store
from myriad.training import TopK, check_gram


class TopKSVM(CertifiedClassifier):
    """A multiclass SVM whose loss is zero if the correct class is among the k best [TK].

    It minimises ``lam/2 |W|^2 + mean loss`` by coordinate ascent in the dual, until the relative
    duality gap, recomputed in float64, is at most `tol`. With ``k=1`` it is the multiclass SVM of
    Crammer and Singer, and with ``variant="entropy"`` multinomial logistic regression.

    Parameters
    ----------
    k : k of the top-k loss, from 1 to the number of classes minus one.
    variant : ``"alpha"``, the mean of the k largest margin violations, cut at zero; ``"beta"``,
        the mean of the k largest, each cut at zero; or ``"entropy"``, the softmax loss in which no
        wrong class counts more than ``1/k`` of all [LHS]. It stores a variable for nearly every row
        and class, 12 bytes each.
    smoothing : gamma of the smoothed hinge of ``"alpha"`` and ``"beta"`` [LHS], which is below the
        hinge by at most ``gamma / (2 k)``; 0 for the hinge itself.
    lam : regularisation strength, or ``"auto"`` to search for it on held-out rows.
    center : subtract the mean of the rows for training; the fitted model takes uncentred rows.
        Not with a kernel.
    tol : relative duality gap at which training stops; below 1e-5 training runs in float64.
    max_epochs : maximum number of epochs.
    max_seconds : maximum training time in seconds, or None; training then stops at its current gap.
    bias : value of a constant feature (regularised bias), or ``"auto"`` for the root mean square
        norm of the rows; 0 for none.
    kernel : None; ``"precomputed"``, rows then being products with the training rows; or a function
        of two arrays of rows that returns all their products. `lam` must then be a number.
    validation_fraction : fraction of the rows of each class to hold out where `lam` is searched.
    refit : train again on all rows, held-out ones included, with the settings found.
    calibration : rows to calibrate probabilities on: ``"auto"``, rows that are held out anyway;
        ``"split"``, a fifth of the rows, never trained on; or ``"none"``.
    threads : number of threads; None for one per core. The result does not depend on it.
    random_state : seed of the order of rows.
    progress : a `Progress` that is notified while training, or None.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `LinearModel`; with a kernel its features are the training rows.
    gap_, primal_, dual_ : the relative duality gap reached, and the two values.
    settings_ : the settings used.
    n_epochs_ : number of epochs.
    history_ : the certificates computed: ``epoch``, ``seconds``, ``primal``, ``dual``, ``gap``, and
        the ``estimate`` of the gap during training.
    search_ : the values of `lam` tried, with the held-out accuracy of each.
    """

    _method_class = TopK
    _renamed = EPOCHS_AND_SECONDS

    def __init__(
        self,
        *,
        k: int = 1,
        variant: str = "alpha",
        smoothing: float = 0.0,
        lam: float | str = "auto",
        center: bool = True,
        tol: float = 1e-3,
        max_epochs: int = 300,
        max_seconds: float | None = None,
        bias: float | str = 0.0,
        kernel: str | Callable[[Any, Any], Any] | None = None,
        validation_fraction: float = 0.1,
        refit: bool = True,
        calibration: str = "auto",
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> None:
        self.k = k
        self.variant = variant
        self.smoothing = smoothing
        self.lam = lam
        self.center = center
        self.tol = tol
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.bias = bias
        self.kernel = kernel
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.calibration = calibration
        self.threads = threads
        self.random_state = random_state
        self.progress = progress

    def _method(self) -> Any:
        seed = seed_of(self.random_state)
        return self._make_method(kernel=self.kernel is not None, seed=seed)

    def fit(self, X: ArrayLike | Store, y: ArrayLike | None = None) -> Self:
        """Train on rows `X` and labels `y`, or on the training rows of a `Store`.

        With ``kernel="precomputed"`` `X` is the Gram matrix of the rows.
        """
        if self.kernel is None:
            return super().fit(X, y)
        if isinstance(X, Store):
            raise InputError("With a kernel, pass rows as an array, not as a store.")
        method = self._method()
        if method.calibration == "split":
            raise InputError("calibration='split' cannot be combined with a kernel.")
        array, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("At least two classes are needed: y holds one class only.")
        self.X_fit_ = None if self.kernel == "precomputed" else array
        gram = self._products(array)
        check_gram(gram)
        rows = ArrayRows(gram, labels.astype(np.int32), dtype=method.dtype)
        self._take(self._fit_rows(TrainingData(rows), method))
        return self

    def _products(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the products of rows with the training rows."""
        if callable(self.kernel):
            return np.asarray(self.kernel(rows, self.X_fit_), dtype=np.float64)
        if self.kernel != "precomputed":
            raise InputError(
                f"kernel must be None, 'precomputed' or a function, not {self.kernel!r}."
            )
        return rows

    def _chunks(self, X: ArrayLike) -> Iterator[NDArray[np.float32]]:
        if self.kernel is None:
            yield from super()._chunks(X)
            return
        check_is_fitted(self, "model_")
        rows = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        yield self._products(rows).astype(np.float32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
