"""PCA, kernel PCA, k-means and Gaussian mixtures: learned once from descriptors, then frozen."""

from myriad.vocabularies.expectation import learn_mixture, refine_mixture, start_mixture
from myriad.vocabularies.intersection_pca import IntersectionPCA, learn_intersection_pca
from myriad.vocabularies.kmeans import Words, learn_centres, learn_words, nearest_centres
from myriad.vocabularies.mixture import GaussianMixture, MixtureSums
from myriad.vocabularies.pca import PCA, learn_pca

__all__ = [
    "PCA",
    "GaussianMixture",
    "IntersectionPCA",
    "MixtureSums",
    "Words",
    "learn_centres",
    "learn_intersection_pca",
    "learn_mixture",
    "learn_pca",
    "learn_words",
    "nearest_centres",
    "refine_mixture",
    "start_mixture",
]
