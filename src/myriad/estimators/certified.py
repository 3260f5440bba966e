"""What the classifiers trained in the dual share: the certificate, and plain weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.estimators.rows_classifier import RowsClassifier
from myriad.models import LinearModel
from myriad.training import Certified, Fitted


class CertifiedClassifier(RowsClassifier):
    """The base of both; see `TopKSVM` and `DualSVM` for its attributes."""

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
