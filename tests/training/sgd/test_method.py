"""The options of SGD."""

import math

import pytest

from myriad.errors import InputError
from myriad.training import SGD, Schedule


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"eta": -1.0}, "eta"),
        ({"eta": math.inf}, "eta"),
        ({"beta": 0.0}, "beta"),
        ({"lam": math.nan}, "lam"),
        ({"patience": 0}, "patience"),
        ({"schedule": Schedule("lam")}, "lam"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_wrong_plan_is_refused(wrong, name):
    with pytest.raises(InputError, match=name):
        SGD(**wrong)
