"""The public doors: scikit-learn estimators over `training`, and trained models to use."""

from myriad.estimators.backbone import Backbone
from myriad.estimators.linear_sgd import LinearSGD
from myriad.estimators.quantizers import ProductQuantizer, ScalarQuantizer
from myriad.estimators.trained import Classifier, load
from myriad.estimators.transformers import VLAD, BagOfVisualWords, DenseSIFT, FisherVector

__all__ = [
    "VLAD",
    "Backbone",
    "BagOfVisualWords",
    "Classifier",
    "DenseSIFT",
    "FisherVector",
    "LinearSGD",
    "ProductQuantizer",
    "ScalarQuantizer",
    "load",
]
