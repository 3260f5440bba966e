"""The public doors: scikit-learn estimators over `training`, and trained models to use."""

from myriad.estimators.descriptors import DenseSIFT, LocalColour
from myriad.estimators.dual_svm import DualSVM
from myriad.estimators.linear_sgd import LinearSGD
from myriad.estimators.quantizers import (
    BilinearCodes,
    ProductQuantizer,
    ScalarQuantizer,
    SignBits,
)
from myriad.estimators.topk_svm import TopKSVM
from myriad.estimators.trained import Classifier, load
from myriad.estimators.transformers import VLAD, BagOfVisualWords, FisherVector
from myriad.estimators.wsabie import Wsabie

__all__ = [
    "VLAD",
    "BagOfVisualWords",
    "BilinearCodes",
    "Classifier",
    "DenseSIFT",
    "DualSVM",
    "FisherVector",
    "LinearSGD",
    "LocalColour",
    "ProductQuantizer",
    "ScalarQuantizer",
    "SignBits",
    "TopKSVM",
    "Wsabie",
    "load",
]
