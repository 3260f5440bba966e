"""Classify images into thousands of classes with linear models, on ordinary machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.lazy import import_on_use

if TYPE_CHECKING:
    from myriad import plots as plots
    from myriad.errors import InputError as InputError
    from myriad.errors import MyriadError as MyriadError
    from myriad.errors import WorkError as WorkError
    from myriad.estimators import VLAD as VLAD
    from myriad.estimators import Backbone as Backbone
    from myriad.estimators import BagOfVisualWords as BagOfVisualWords
    from myriad.estimators import BilinearCodes as BilinearCodes
    from myriad.estimators import Classifier as Classifier
    from myriad.estimators import DenseSIFT as DenseSIFT
    from myriad.estimators import DualSVM as DualSVM
    from myriad.estimators import FisherVector as FisherVector
    from myriad.estimators import LinearClassifier as LinearClassifier
    from myriad.estimators import LinearSGD as LinearSGD
    from myriad.estimators import LocalColour as LocalColour
    from myriad.estimators import NearestMeans as NearestMeans
    from myriad.estimators import ProductQuantizer as ProductQuantizer
    from myriad.estimators import ScalarQuantizer as ScalarQuantizer
    from myriad.estimators import SignBits as SignBits
    from myriad.estimators import TopKSVM as TopKSVM
    from myriad.estimators import TraceNormClassifier as TraceNormClassifier
    from myriad.estimators import Wsabie as Wsabie
    from myriad.estimators import load as load
    from myriad.images import BadImage as BadImage
    from myriad.store import Store as Store
    from myriad.version import __version__ as __version__

_MODULES = {
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
    "plots": "myriad.plots",
}
"""The module that defines each public name, which is imported when the name is first used."""

__all__ = sorted(_MODULES)

__getattr__ = import_on_use(__name__, {**_MODULES, "__version__": "myriad.version"})


def __dir__() -> list[str]:
    return [*globals(), *__all__]
