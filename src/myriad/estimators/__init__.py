"""The public doors: scikit-learn estimators over `training`, and trained models to use."""

from myriad.estimators.linear_sgd import LinearSGD
from myriad.estimators.quantizers import (
    BilinearCodes,
    ProductQuantizer,
    ScalarQuantizer,
    SignBits,
)
from myriad.estimators.trained import Classifier, load
from myriad.estimators.transformers import VLAD, BagOfVisualWords, DenseSIFT, FisherVector

__all__ = [
    "VLAD",
    "BagOfVisualWords",
    "BilinearCodes",
    "Classifier",
    "DenseSIFT",
    "FisherVector",
    "LinearSGD",
    "ProductQuantizer",
    "ScalarQuantizer",
    "SignBits",
    "load",
]
