"""`LinearClassifier`: a linear classifier that chooses its objective and settings."""

from __future__ import annotations

import warnings
from typing import Any, Self

from numpy.typing import ArrayLike

from myriad.estimators.labels import number_groups
from myriad.estimators.rows_classifier import LinearRowsClassifier
from myriad.progress import Progress
from myriad.store import Store
from myriad.training import Automatic, Fitted


class LinearClassifier(LinearRowsClassifier):
    """Linear classifier for many classes that chooses its objective and settings automatically.

    Cross-validation inside the training rows compares averaged softmax regression, on the rows and
    in the space of probabilistic discriminant analysis (over learning rates and numbers of epochs),
    and one-vs-rest support vector machines (over regularisation strengths); a thorough search also
    discriminant analysis itself and one-vs-rest logistic regression. The best candidate is trained
    on all rows, which are centred.

    Where the largest class has more than three times the rows of the smallest, candidates are
    compared by the mean of the accuracies of the classes and trained with balanced classes;
    `measure` changes this. With more than 20,000 rows, or many classes of many features, they are
    compared on a subsample. With more than 2,000 classes, discriminant analysis and gradient
    descent in its space are compared on validation rows. With several labels per row, one-vs-rest
    with sampled negatives is trained.

    Parameters
    ----------
    search : search effort: ``"quick"``, ``"normal"`` or ``"thorough"``.
    measure : the accuracy to choose by: ``"samples"``, over samples, as `score` measures it;
        ``"classes"``, the mean over classes, with balanced classes; or ``"auto"``, the latter where
        the largest class has more than three times the rows of the smallest.
    center : subtract the mean of the rows for training; the fitted model takes uncentred rows.
    validation_fraction : fraction of the rows of each class to hold out where there are too many
        rows for cross-validation.
    memory : memory limit in bytes for weights that are trained together in a search.
    calibration : rows to calibrate probabilities on: ``"auto"``, rows that are held out anyway;
        ``"split"``, a fifth of the rows, never trained on; or ``"none"``.
    threads : number of threads; None for one per core. The result does not depend on it.
    random_state : seed of the folds, of the order of rows and of all draws.
    progress : a `Progress` that is notified while training, or None.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `LinearModel`.
    objective_ : the objective that was chosen.
    settings_ : the settings used, with the accuracy of the cross-validation, its standard error,
        and the best candidate of another objective.
    n_epochs_ : number of epochs.
    history_ : held-out accuracy after each epoch, where rows are held out.
    search_ : the candidates, with the cross-validated accuracy of each.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from myriad import LinearClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> LinearClassifier().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.88
    True
    """

    _method_class = Automatic

    def __init__(
        self,
        *,
        search: str = "normal",
        measure: str = "auto",
        center: bool = True,
        validation_fraction: float = 0.1,
        memory: int = 2 << 30,
        calibration: str = "auto",
        threads: int | None = None,
        random_state: Any = 0,
        progress: Progress | None = None,
    ) -> None:
        self.search = search
        self.measure = measure
        self.center = center
        self.validation_fraction = validation_fraction
        self.memory = memory
        self.calibration = calibration
        self.threads = threads
        self.random_state = random_state
        self.progress = progress

    def fit(
        self,
        X: ArrayLike | Store,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on rows `X` and labels `y`, or on the training rows of a `Store`.

        See `RowsClassifier.fit`.

        Parameters
        ----------
        sample_weight : array of shape (n_samples,) that multiplies the steps of each row.
        groups : array of shape (n_samples,); rows with the same value (photographs of one object,
            frames of one video) are never divided between training and validation. A row whose
            value is missing (None or NaN) is a group of its own.
        """
        numbers = None if groups is None else number_groups(groups)
        return self._fit(X, y, sample_weight, numbers)

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        self.objective_: str = fitted.settings["objective"]
        if not fitted.table:
            warnings.warn(
                "No class has two rows (or groups), so nothing can be held out: default settings "
                "are used, and there are no probabilities.",
                UserWarning,
                stacklevel=4,
            )
