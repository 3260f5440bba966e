"""Classify images into thousands of classes with linear models, on ordinary machines."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Backbone": "myriad.estimators",
    "BadImage": "myriad.images",
    "BagOfVisualWords": "myriad.estimators",
    "BilinearCodes": "myriad.estimators",
    "Classifier": "myriad.estimators",
    "DenseSIFT": "myriad.estimators",
    "DualSVM": "myriad.estimators",
    "FisherVector": "myriad.estimators",
    "InputError": "myriad.errors",
    "LinearSGD": "myriad.estimators",
    "LocalColour": "myriad.estimators",
    "MyriadError": "myriad.errors",
    "NearestMeans": "myriad.estimators",
    "ProductQuantizer": "myriad.estimators",
    "ScalarQuantizer": "myriad.estimators",
    "SignBits": "myriad.estimators",
    "Store": "myriad.store",
    "TopKSVM": "myriad.estimators",
    "TraceNormClassifier": "myriad.estimators",
    "VLAD": "myriad.estimators",
    "WorkError": "myriad.errors",
    "Wsabie": "myriad.estimators",
    "load": "myriad.estimators",
}
"""Where each public name lives; it is imported when first asked for."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'myriad' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
