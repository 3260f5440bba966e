"""The options of SGD."""

import math

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.store import ArrayRows
from myriad.training import SGD, Context, OptimiserOptions, Schedule


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


@pytest.mark.parametrize("objective", ["ovr", "warp"])
def test_training_may_begin_within_the_bound_of_norms(objective):
    draws = np.random.default_rng(0)
    X, y = draws.standard_normal((40, 6)).astype(np.float32), np.arange(40, dtype=np.int32) % 4
    optimiser = OptimiserOptions(max_norm=0.5, init="ball")
    options = {"eta": 1e-9, "epochs": 1, "center": False, "scale": False, "optimiser": optimiser}
    method = SGD(objective=objective, **options)
    rows = ArrayRows(X, y, list("abcd"))
    model = method.fit(rows, None, n_classes=4, context=Context(threads=1)).model
    norms = np.linalg.norm(model.weights, axis=1)
    assert 0.05 < norms.min() < norms.max() <= 0.5 * (1 + 1e-5)
    assert len(set(norms.round(4))) == 4
    with pytest.raises(InputError, match="max_norm"):
        OptimiserOptions(init="ball")
