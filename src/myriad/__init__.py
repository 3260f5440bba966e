"""Classify images into thousands of classes with linear models, on ordinary machines."""

from __future__ import annotations

from myriad.lazy import import_on_use

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
    "LinearClassifier": "myriad.estimators",
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
"""The module that defines each public name, which is imported when the name is first used."""

__all__ = sorted(_HOMES)


__getattr__ = import_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
