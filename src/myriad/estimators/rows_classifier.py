"""The base classes of the classifiers of rows: checked input, held-out rows, ranked labels."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from myriad.arrays import as_rows, refuse_extreme_scale, refuse_unusable
from myriad.errors import InputError
from myriad.estimators.labels import (
    encode_one,
    encode_several,
    has_several,
    refuse_missing,
    unbox,
)
from myriad.estimators.parameters import check_parameters, check_seed
from myriad.estimators.representation import SearchTable
from myriad.models import (
    Assignment,
    Calibration,
    Decider,
    LabelCalibration,
    LinearModel,
    Model,
    ModelFolder,
)
from myriad.models.calibration.classes import LEAST_ROWS
from myriad.options import make_from_options, options_of
from myriad.parallel import open_cluster
from myriad.progress import SILENT, Progress
from myriad.store import ArrayRows, Rows, SparseRows, Store, StoreRows, as_csr, check_scale
from myriad.training import CertifiedFit, Context, Fitted, Method, hold_out
from myriad.training.calibrating import add_calibration, exclude, split_calibration_rows
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.engine.gram import RowProducts
from myriad.urls import UrlPath

FLOATS = [np.float32, np.float64, np.float16]
"""The dtypes of rows; they are converted to float32 a block at a time."""
CHUNK_BYTES = 64 << 20
EPOCHS_AND_SECONDS = {"epochs": "max_epochs", "seconds": "max_seconds"}
"""The parameters for two options of the methods, see `RowsClassifier._renamed`."""


@dataclass(frozen=True)
class TrainingData:
    """The rows that an estimator is trained on.

    Attributes
    ----------
    rows : the training rows.
    held_out : validation rows that are given; None if none are.
    refit_rows : rows on which the final model is trained with the settings found; None for none.
    """

    rows: Rows
    held_out: Rows | None = None
    refit_rows: Rows | None = None


def _has_probabilities(estimator: RowsClassifier) -> bool:
    """Return whether an estimator is fitted and calibrated; raises with what to do if not."""
    if not any(getattr(estimator, name, None) for name in ("calibration_", "label_calibration_")):
        raise AttributeError(
            f"A {type(estimator).__name__} has probabilities once it is fitted and at least "
            f"{LEAST_ROWS} rows were held out to calibrate them: let rows be held out, or give "
            "calibration='split'."
        )
    return True


class RowsClassifier(ClassifierMixin, BaseEstimator):
    """The base class of the classifiers of rows.

    A subclass names the method that it trains with, whose options it has as parameters. It may have
    the parameters ``early_stopping``, ``validation_fraction``, ``refit``, ``threads``,
    ``progress``, ``client`` and ``random_state``; those that it lacks have the values below.

    Attributes
    ----------
    classes_ : the labels, in the order of the scores.
    model_ : the trained model.
    settings_ : the settings used.
    n_epochs_ : number of epochs.
    history_ : a row for each epoch.
    search_ : the candidates of the search, with the held-out accuracy of each.
    calibration_ : makes probabilities of scores; None if no rows could calibrate them.
    label_calibration_ : the same where rows have several labels each.
    """

    _method_class: ClassVar[type[Method]]
    _renamed: ClassVar[Mapping[str, str]] = {}
    """The parameter for an option of the method, where their names differ."""

    early_stopping: bool = False
    validation_fraction: float = 0.1
    refit: bool = True
    threads: int | None = None
    progress: Progress | None = None
    client: Any = None
    random_state: Any = 0

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted estimator with the same parameters; a client is shared, not copied."""
        bare = copy(self)
        bare.client = None
        cloned: Self = super(RowsClassifier, bare).__sklearn_clone__()
        if self.client is not None:
            cloned.client = self.client
        return cloned

    def _method(self) -> Any:
        """Return an instance of `_method_class` with the parameters of this estimator, checked."""
        return self._make_method(seed=seed_of(self.random_state))

    def _make_method(self, *, stated: Mapping[str, Any] | None = None, **rest: Any) -> Any:
        """Return an instance of `_method_class`, its options taken from the parameters.

        Parameters
        ----------
        stated : options whose value is not that of the parameter.
        rest : fields of the method that are not options.
        """
        parameters = self.get_params(deep=False)
        names = {name: self._renamed.get(name, name) for name in options_of(self._method_class)}
        given = {name: parameters[own] for name, own in names.items() if own in parameters}
        if "patience" in given and not self.early_stopping:
            given["patience"] = given["epochs"]
        return make_from_options(
            self._method_class, given | dict(stated or {}), names=names, **rest
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: ArrayLike | Store, y: ArrayLike | None = None) -> Self:
        """Train on rows `X` and labels `y`, or on the training rows of a `Store`.

        Rows may be float16, float32 or float64, in memory or memory-mapped, or a sparse matrix.
        Several labels per row are given as a list of lists or as a matrix of 0 and 1 with a column
        for each class. The validation rows of a store are held out if it has any.
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        check_parameters(self)
        method = self._method()
        data = self._read_rows(X, y, sample_weight, groups)
        if len(self.classes_) < 2:
            raise InputError("At least two classes are needed: y holds one class only.")
        self._take(self._fit_rows(data, method))
        return self

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingData:
        """Return checked rows; set `classes_`."""
        if isinstance(X, Store):
            if y is not None or sample_weight is not None or groups is not None:
                raise InputError("A store contains its labels: do not pass y, weights or groups.")
            self.classes_ = np.array(X.class_names, dtype=object)
            self.n_features_in_ = X.dim
            check_scale(X.rows("train"))
            if "val" not in X.split_names:
                return TrainingData(X.rows("train"))
            refit_rows = X.rows(X.trained_splits) if "val" in X.trained_splits else None
            return TrainingData(X.rows("train"), X.rows("val"), refit_rows)
        X, self.classes_, labels = self._validate_arrays(X, y)
        return TrainingData(as_source(X, labels, sample_weight, groups))

    def _validate_arrays(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any, Any]:
        """Return checked rows, the classes in `y`, and its labels as class indices."""
        check_parameters(self)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": FLOATS, "reset": reset}
        refuse_unusable(X)
        X = as_csr(X) if issparse(X) else X
        if has_several(y):
            X = validate_data(self, X, **options)
            classes, sets = encode_several(y)
            if len(sets) != X.shape[0]:
                raise InputError(f"{X.shape[0]} rows need labels for as many, not {len(sets)}.")
            refuse_extreme_scale(X)
            return X, classes, sets
        refuse_missing(y)
        X, y = validate_data(self, X, y, **options)
        refuse_extreme_scale(X)
        return X, *encode_one(y)

    def _take(self, fitted: Fitted) -> None:
        """Set the attributes of a fitted estimator; a subclass may add its own."""
        self.model_: Model = fitted.model
        self.settings_ = fitted.settings
        self.n_epochs_ = self.n_iter_ = fitted.epochs
        self.history_, self.search_ = fitted.history, SearchTable(fitted.table)
        self.calibration_: Calibration | None = fitted.calibration
        self.label_calibration_: LabelCalibration | None = fitted.label_calibration

    def _fit_rows(self, data: TrainingData, method: Method) -> Fitted:
        progress = self.progress or SILENT
        context = Context(threads=self.threads, progress=progress, products=RowProducts())
        if self.client is None or not method.supports_workers:
            return self._fit_with(context, data, method)
        with open_cluster(self.client) as executor, _shared_folder(data.rows) as folder:
            workers = TrainingWorkers(executor, folder)
            return self._fit_with(replace(context, workers=workers), data, method)

    def _fit_with(self, context: Context, data: TrainingData, method: Method) -> Fitted:
        """Hold out rows if needed, train, and with `refit` train once more on all rows."""
        options: dict[str, Any] = {"n_classes": len(self.classes_), "context": context}
        kept, calibration_rows = split_calibration_rows(data.rows, method)
        held_out, refit_rows = data.held_out, data.refit_rows
        if isinstance(refit_rows, StoreRows) and isinstance(calibration_rows, StoreRows):
            refit_rows = exclude(refit_rows, calibration_rows)
        if not 0 <= self.validation_fraction < 1:
            raise InputError(
                "validation_fraction must be a fraction from 0 to 1, not "
                f"{self.validation_fraction!r}."
            )
        searched = self.early_stopping or method.needs_held_out(kept, len(self.classes_))
        if held_out is None and searched:
            refit_rows = kept
            kept, held_out = hold_out(kept, self.validation_fraction, seed=method.seed)
        fitted = method.fit(kept, held_out, **options)
        fitted = add_calibration(fitted, method, kept, held_out, calibration_rows, context.progress)
        if held_out is None or refit_rows is None or not self.refit:
            return fitted
        return method.settled(fitted).fit(refit_rows, None, **options).with_search_of(fitted)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the scores, of shape (n_samples, n_classes); for two classes their difference."""
        scores = np.concatenate([self.model_.scores(chunk) for chunk in self._chunks(X)])
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the best label of each row."""
        return self.predict_topk(X, 1)[0][:, 0]

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated probability of every class, of shape (n_samples, n_classes).

        Rows sum to 1 unless the classifier was trained on rows with several labels each: then every
        label has a separate probability. There is none if no rows were held out; see the
        parameter `calibration`.
        """
        decider = self._decider()
        return np.concatenate([decider.predict_proba(chunk) for chunk in self._chunks(X)])

    @available_if(_has_probabilities)
    def predict_set(
        self,
        X: ArrayLike,
        coverage: float = 0.95,
        *,
        method: str = "raps",
        by_class: bool = False,
    ) -> list[NDArray[Any]]:
        """Return the prediction set of each row: labels, the best first, never none.

        It has the right label with the probability `coverage`.

        Parameters
        ----------
        method : ``"raps"``, adaptive sets; or ``"lac"``, the smallest on average.
        by_class : guarantee the coverage for each class that has enough calibration rows.
        """
        decider = self._decider(coverage=coverage, set_method=method, by_class=by_class)
        chunks = [decider.decide(chunk, 1).sets or [] for chunk in self._chunks(X)]
        return [self.classes_[one] for sets in chunks for one in sets]

    @available_if(_has_probabilities)
    def predict_labels(self, X: ArrayLike, assign: str = "f1") -> list[NDArray[Any]]:
        """Return the labels of each row, the most probable first; a row may have several or none.

        For classifiers that were trained on rows with several labels each.

        Parameters
        ----------
        assign : where thresholds lie: ``"f1"`` for the best F1 score of each label on held-out
            rows, or a wanted precision such as ``"precision=0.9"``.
        """
        decider = self._decider(assign=Assignment.parse(assign))
        chunks = [decider.decide(chunk, 1).assigned or [] for chunk in self._chunks(X)]
        return [self.classes_[one] for some in chunks for one in some]

    def _decider(self, **options: Any) -> Decider:
        names = [str(name) for name in self.classes_]
        calibrations = self.calibration_, self.label_calibration_
        return Decider(ModelFolder(self.model_, names, None, {}, None, *calibrations), **options)

    def score(self, X: ArrayLike, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; of rows with several labels, any of them is correct."""
        if not has_several(y):
            return float(super().score(X, unbox(np.asarray(y)), sample_weight))
        classes, sets = encode_several(y)
        guesses = self.predict(X)
        if len(guesses) != len(sets):
            raise InputError(f"{len(guesses)} rows need labels for as many, not {len(sets)}.")
        number = {label: c for c, label in enumerate(classes.tolist())}
        guessed = np.array([number.get(guess, -1) for guess in guesses.tolist()])
        rows = np.repeat(np.arange(len(sets)), sets.sizes)
        right = np.zeros(len(sets))
        right[rows[sets.classes == guessed[rows]]] = 1.0
        return float(np.average(right, weights=sample_weight))

    def predict_topk(self, X: ArrayLike, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` best labels of each row and their scores, best first.

        Scores are made for a bounded number of rows at a time.
        """
        ranked = [self.model_.rank(chunk, k) for chunk in self._chunks(X)]
        labels, scores = (np.concatenate(found) for found in zip(*ranked, strict=True))
        return self.classes_[labels], scores

    def _chunks(self, X: ArrayLike) -> Iterator[NDArray[np.float32]]:
        """Yield rows to be scored as float32, a bounded number at a time."""
        check_is_fitted(self, "model_")
        refuse_unusable(X)
        checked = as_csr(X) if issparse(X) else X
        rows = validate_data(self, checked, accept_sparse="csr", dtype=FLOATS, reset=False)
        size = max(1, CHUNK_BYTES // (4 * rows.shape[1]))
        for start in range(0, rows.shape[0], size):
            chunk = rows[start : start + size]
            yield as_rows(chunk.toarray() if issparse(chunk) else chunk)


def as_source(X: Any, labels: Any, sample_weight: Any = None, groups: Any = None) -> Rows:
    """Return checked rows and labels in the form that trainers read."""
    kind = SparseRows if issparse(X) else ArrayRows
    return kind(X, labels, weights=sample_weight, groups=groups)


def seed_of(random_state: Any) -> int:
    """Return the seed of a `random_state` as scikit-learn defines it."""
    check_seed(random_state)
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


@contextmanager
def _shared_folder(rows: Rows) -> Iterator[Path]:
    """Yield a temporary folder that all workers see: beside a store, if the rows are in one."""
    beside = None
    if isinstance(rows, StoreRows) and not isinstance(rows.store.path, UrlPath):
        beside = rows.store.path.absolute().parent
    with tempfile.TemporaryDirectory(prefix=".myriad-", dir=beside) as folder:
        yield Path(folder)


class LinearRowsClassifier(RowsClassifier):
    """The base class of the classifiers whose model is linear."""

    model_: LinearModel

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights, of shape (n_classes, n_features), for two classes as well."""
        return self.model_.weights

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The biases, of shape (n_classes,)."""
        return self.model_.biases


class CertifiedClassifier(LinearRowsClassifier):
    """The base class of `TopKSVM` and `DualSVM`, which describe its attributes."""

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        assert isinstance(fitted, CertifiedFit)
        certificate = fitted.certificate
        self.gap_, self.gaps_ = certificate.gap, certificate.gaps
        self.primal_ = float(certificate.primals.sum())
        self.dual_ = float(certificate.duals.sum())
        tol: float = self.get_params(deep=False)["tol"]
        if self.gap_ > tol:
            warnings.warn(
                f"Training ended after {fitted.epochs} epochs with a relative duality gap of "
                f"{self.gap_:.2g}, above tol={tol:g}: allow more epochs or seconds, or raise lam.",
                ConvergenceWarning,
                stacklevel=4,
            )
