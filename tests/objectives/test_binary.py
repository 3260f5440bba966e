"""Every binary loss of the registry: its step is minus its derivative, and it is convex."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import hinge_loss, log_loss

from myriad.objectives import BINARY_LOSSES, DUAL_LOSSES
from myriad.objectives.binary import binary_step, binary_value, dual_bounds, dual_value

SCORES = np.linspace(-30, 30, 241) + 0.013  # clear of the hinge's corner


@pytest.mark.parametrize("loss", BINARY_LOSSES.values(), ids=BINARY_LOSSES)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_step_is_minus_the_derivative(loss, sign):
    h = 1e-5
    for score in SCORES:
        slope = (binary_value(loss, sign, score + h) - binary_value(loss, sign, score - h)) / (
            2 * h
        )
        assert binary_step(loss, sign, score) == pytest.approx(-slope, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("loss", BINARY_LOSSES.values(), ids=BINARY_LOSSES)
def test_value_is_convex(loss):
    values = np.array([binary_value(loss, 1.0, score) for score in SCORES])
    assert (np.diff(values, 2) >= -1e-9).all()


def test_values_agree_with_scikit_learn():
    signs, scores = np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.3, -2.0, -0.4, 1.7])
    hinge = [binary_value(BINARY_LOSSES["hinge"], z, s) for z, s in zip(signs, scores, strict=True)]
    assert np.mean(hinge) == pytest.approx(hinge_loss(signs, scores))
    logistic = [
        binary_value(BINARY_LOSSES["logistic"], z, s) for z, s in zip(signs, scores, strict=True)
    ]
    assert np.mean(logistic) == pytest.approx(log_loss(signs, 1 / (1 + np.exp(-scores))))


def test_the_perceptron_leaves_zero_weights():
    perceptron = BINARY_LOSSES["perceptron"]
    assert [binary_step(perceptron, z, 0.0) for z in (1.0, -1.0)] == [1.0, -1.0]
    assert binary_value(perceptron, 1.0, 0.5) == 0.0


def test_logistic_does_not_overflow():
    assert binary_value(BINARY_LOSSES["logistic"], 1.0, -1e4) == 1e4
    assert binary_step(BINARY_LOSSES["logistic"], -1.0, 1e4) == -1.0
    assert binary_step(BINARY_LOSSES["logistic"], 1.0, 1e4) == 0.0


def test_a_number_that_is_not_registered_gives_nan():
    assert np.isnan(binary_value(len(BINARY_LOSSES), 1.0, 0.5))


def test_the_registry_imports_no_compiler():
    code = "import sys, myriad.objectives; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("loss", DUAL_LOSSES)
@pytest.mark.parametrize("weight", [0.2, 3.0])
def test_the_dual_bounds_give_the_loss(loss, weight):
    lam, variables = 0.5, np.linspace(0, 40, 400_001)
    upper, ridge = dual_bounds(loss, np.array(weight), lam)
    inside = variables[variables <= upper]
    for score in (-1.3, 0.2, 0.9, 2.0):
        dual = lam * (inside * (1 - score) - ridge * inside**2 / 2).max()
        expected = weight * dual_value(DUAL_LOSSES[loss], 1.0, score)
        assert dual == pytest.approx(expected, rel=1e-3, abs=1e-6)
