"""The public doors: scikit-learn estimators over `training`, and trained models to use."""

from myriad.estimators.descriptors import DenseSIFT, LocalColour
from myriad.estimators.linear_sgd import LinearSGD
from myriad.estimators.nearest_means import NearestMeans
from myriad.estimators.quantizers import ProductQuantizer, ScalarQuantizer
from myriad.estimators.trained import Classifier, load
from myriad.estimators.transformers import VLAD, BagOfVisualWords, FisherVector

__all__ = [
    "VLAD",
    "BagOfVisualWords",
    "Classifier",
    "DenseSIFT",
    "FisherVector",
    "LinearSGD",
    "LocalColour",
    "NearestMeans",
    "ProductQuantizer",
    "ScalarQuantizer",
    "load",
]
