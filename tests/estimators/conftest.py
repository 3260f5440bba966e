"""Data that the tests of several estimators share."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@pytest.fixture(scope="package")
def digits():
    """Return digits from 0 to 1 with texts as labels: X_train, X_test, y_train, y_test."""
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {c}" for c in range(10)])
    return train_test_split(X / 16, names[y], random_state=0, stratify=y)
