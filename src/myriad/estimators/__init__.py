"""The public classes: scikit-learn estimators over `training`, and trained models."""

from myriad.estimators.backbone import Backbone
from myriad.estimators.descriptors import DenseSIFT, LocalColour
from myriad.estimators.dual_svm import DualSVM
from myriad.estimators.linear_classifier import LinearClassifier
from myriad.estimators.linear_sgd import LinearSGD
from myriad.estimators.nearest_means import NearestMeans
from myriad.estimators.quantizers import (
    BilinearCodes,
    ProductQuantizer,
    ScalarQuantizer,
    SignBits,
)
from myriad.estimators.topk_svm import TopKSVM
from myriad.estimators.trace_norm import TraceNormClassifier
from myriad.estimators.trained import Classifier, load
from myriad.estimators.transformers import VLAD, BagOfVisualWords, FisherVector
from myriad.estimators.wsabie import Wsabie

__all__ = [
    "VLAD",
    "Backbone",
    "BagOfVisualWords",
    "BilinearCodes",
    "Classifier",
    "DenseSIFT",
    "DualSVM",
    "FisherVector",
    "LinearClassifier",
    "LinearSGD",
    "LocalColour",
    "NearestMeans",
    "ProductQuantizer",
    "ScalarQuantizer",
    "SignBits",
    "TopKSVM",
    "TraceNormClassifier",
    "Wsabie",
    "load",
]
