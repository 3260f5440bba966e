"""The public doors: scikit-learn estimators over `training`, and trained models to use."""

from myriad.estimators.linear_sgd import LinearSGD

__all__ = ["LinearSGD"]
