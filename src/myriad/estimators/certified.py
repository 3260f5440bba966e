"""The base class of the classifiers trained in the dual: certificate and weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.estimators.rows_classifier import RowsClassifier
from myriad.models import LinearModel
from myriad.training import Certified, Fitted

EPOCHS_AND_SECONDS = {"epochs": "max_epochs", "seconds": "max_seconds"}
"""The parameters for two options of the methods, see `RowsClassifier._renamed`."""


class CertifiedClassifier(RowsClassifier):
    """The base class of `TopKSVM` and `DualSVM`, which describe its attributes."""

    model_: LinearModel

    def _take(self, fitted: Fitted) -> None:
        super()._take(fitted)
        assert isinstance(fitted, Certified)
        certificate = fitted.certificate
        self.gap_, self.gaps_ = certificate.gap, certificate.gaps
        self.primal_ = float(certificate.primals.sum())
        self.dual_ = float(certificate.duals.sum())

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights, of shape (n_classes, n_features), for two classes as well."""
        return self.model_.weights

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The biases, of shape (n_classes,)."""
        return self.model_.biases
