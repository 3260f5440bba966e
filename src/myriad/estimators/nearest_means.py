"""`NearestMeans`: the class whose mean is nearest, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from myriad.errors import InputError
from myriad.estimators.labels import has_several
from myriad.estimators.rows_classifier import FLOATS, LinearRowsClassifier, TrainingData, as_source
from myriad.parallel import open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows, as_csr
from myriad.training import ClassSums, Fitted, Means, Method
from myriad.training.calibrating import add_calibration, split_calibration_rows
from myriad.training.validation import hold_out

HELD_OUT = 0.2
"""The fraction of the rows of each class that calibrates probabilities before it is added."""


class NearestMeans(LinearRowsClassifier):
    """Nearest class mean, learned in one epoch: a baseline.

    Scores are linear, ``2 mu . x - |mu|^2`` but for a constant that all classes of a row share: the
    higher, the nearer.

    Parameters
    ----------
    calibration : rows to calibrate probabilities on: ``"auto"``, the validation rows, or a fifth of
        the rows before they are added to the means of the others; ``"split"``, a fifth of the rows,
        never trained on; or ``"none"``.
    threads : number of threads; None for one per core. The result does not depend on it.
    progress : a `Progress` that is notified while training, or None.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained `LinearModel`.
    class_count_ : rows of each class so far.
    """

    _method_class = Means

    def __init__(
        self,
        *,
        calibration: str = "auto",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.calibration = calibration
        self.threads = threads
        self.progress = progress

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the means with more rows; the result is that of `fit` on all rows so far.

        Parameters
        ----------
        classes : all labels of this and later calls; needed at the first call only.
        """
        first = not hasattr(self, "_sums")
        if has_several(y):
            raise InputError("partial_fit takes one label per row; fit also takes several.")
        X = as_csr(X) if issparse(X) else X
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS, "reset": first}
        rows, labels = validate_data(self, X, y, **options)
        check_classification_targets(labels)
        if first:
            if classes is None or len(np.unique(classes)) == 0:
                raise InputError("The first call of partial_fit must state all classes.")
            self.classes_ = np.unique(classes)
            self._sums = ClassSums(len(self.classes_), rows.shape[1])
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(
                "The classes of partial_fit differ from those of the first call or of fit."
            )
        numbers = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        unknown = self.classes_[numbers] != labels
        if unknown.any():
            raise InputError(
                f"y holds the class {labels[unknown][0]!r}, which was not stated at first."
            )
        self._take(self._add(as_source(rows, numbers.astype(np.int32))))
        return self

    def _fit_rows(self, data: TrainingData, method: Method) -> Fitted:
        self._sums = ClassSums(len(self.classes_), data.rows.dim)
        progress = self.progress or SILENT
        kept, calibration_rows = split_calibration_rows(data.rows, method)
        later = None  # rows that calibrate the means of the others, and then belong to them
        if method.calibration == "auto" and data.held_out is None:
            kept, later = hold_out(kept, HELD_OUT, seed=method.seed)
        val = data.held_out if later is None else later
        fitted = add_calibration(self._add(kept), method, kept, val, calibration_rows, progress)
        return fitted if later is None else replace(fitted, model=self._add(later).model)

    def _add(self, rows: Rows) -> Fitted:
        with open_threads(self.threads) as pool:
            self._sums.add(rows, pool=pool, progress=self.progress or SILENT)
        return Fitted(self._sums.to_model(), {}, 1)

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """Rows of each class so far."""
        return self._sums.counts
