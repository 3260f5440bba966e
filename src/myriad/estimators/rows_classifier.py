"""What all doors to training on rows share: checked input, a held-out part, ranked labels out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from myriad.errors import InputError
from myriad.models import Model
from myriad.progress import SILENT, Progress
from myriad.store import ArrayRows, Rows, Store
from myriad.training import Fitted, Method, hold_out


class RowsClassifier(ClassifierMixin, BaseEstimator):
    """The base of the classifiers of rows; a subclass states its options and its `_method`.

    A subclass may have the options ``early_stopping``, ``validation_fraction``, ``refit``,
    ``threads`` and ``progress``; what it does not have is as here.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained model.
    settings_ : the numbers used.
    n_epochs_ : passes over the rows.
    history_ : a row for each epoch.
    search_ : the settings tried, with the held-out accuracy of each.
    """

    early_stopping: bool = False
    validation_fraction: float = 0.1
    refit: bool = True
    threads: int | None = None
    progress: Progress | None = None

    @abstractmethod
    def _method(self) -> Method:
        """Return the method with the options of this estimator, checked."""

    def fit(self, X: ArrayLike | Store, y: ArrayLike | None = None) -> Self:
        """Train on rows `X` and labels `y`, or on the training rows of a `Store`.

        A store's own validation rows are held out if it has any.
        """
        method = self._method()
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
        self._take(self._fit_rows(rows, held_out, method))
        return self

    def _take(self, fitted: Fitted) -> None:
        """Take what training has come to; a subclass may add attributes of its own."""
        self.model_: Model = fitted.model
        self.settings_ = fitted.settings
        self.n_epochs_ = self.n_iter_ = fitted.epochs
        self.history_, self.search_ = fitted.history, fitted.table

    def _fit_rows(self, rows: Rows, held_out: Rows | None, method: Method) -> Fitted:
        options: dict[str, Any] = {
            "n_classes": len(self.classes_),
            "threads": self.threads,
            "progress": self.progress or SILENT,
        }
        kept, own_split = rows, held_out is None
        if own_split and (self.early_stopping or method.is_open):
            kept, held_out = hold_out(rows, self.validation_fraction, seed=method.seed)
        if held_out is None:
            return method.fit(rows, None, **options)
        fitted = method.fit(kept, held_out, **options)
        if not (self.refit and own_split):
            return fitted
        again = method.settled(fitted).fit(rows, None, **options)
        return replace(again, history=fitted.history, table=fitted.table)

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

    def _rows(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self, "model_")
        rows: NDArray[np.float32] = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return rows


def seed_of(random_state: Any) -> int:
    """Return the seed that scikit-learn's ways of stating one stand for."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
