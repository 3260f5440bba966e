"""The fields of a linear model."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import LinearModel


def test_shapes_must_fit():
    with pytest.raises(InputError, match="must have the shape"):
        LinearModel(np.zeros((3, 2), np.float32), np.zeros(2, np.float32))
    with pytest.raises(InputError, match="float32"):
        LinearModel(np.zeros((3, 2)), np.zeros(3))
