"""What all classifiers of rows share: parameters that are the options of their method."""

import inspect

import numpy as np
import pytest

from myriad import (
    DualSVM,
    InputError,
    LinearSGD,
    NearestMeans,
    TopKSVM,
    TraceNormClassifier,
    Wsabie,
)
from myriad.options import flat_values, options_of

CLASSIFIERS = [LinearSGD, TopKSVM, DualSVM, Wsabie, TraceNormClassifier, NearestMeans]
NOT_PARAMETERS = {
    TraceNormClassifier: {"steps"},
    Wsabie: {"memory"},
}
"""Options of a method that its estimator leaves at their default."""


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_defaults_of_the_constructor_are_those_of_the_options(kind):
    parameters = inspect.signature(kind).parameters
    options = options_of(kind._method_class)
    left_out = {name for name in options if kind._renamed.get(name, name) not in parameters}
    assert left_out == NOT_PARAMETERS.get(kind, set())
    for name in options.keys() - left_out:
        stated = parameters[kind._renamed.get(name, name)].default
        stated = "none" if name == "max_norm" and stated is None else stated
        assert options[name].parse(stated) == options[name].default, name


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_an_estimator_of_default_parameters_trains_the_default_method(kind):
    made, default = kind()._method(), kind._method_class()
    assert made == default
    assert flat_values(made) == flat_values(default)


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (LinearSGD(eta="fast"), "eta must be a number above 0 or auto, not 'fast'"),
        (LinearSGD(max_norm=0), "max_norm must be a number above 0 or none, not 0"),
        (LinearSGD(average="often"), "average must be True or False, not 'often'"),
        (DualSVM(max_epochs=0), "max_epochs must be a whole number of at least 1, not 0"),
        (TopKSVM(max_seconds=-1), "max_seconds must be a number above 0, not -1"),
        (TraceNormClassifier(max_rounds=2.5), "max_rounds must be a whole number"),
        (Wsabie(adagrad="maybe"), "adagrad must be one of yes, no, count, not 'maybe'"),
    ],
)
def test_errors_name_the_parameter_and_what_it_accepts(estimator, sentence):
    with pytest.raises(InputError, match=sentence):
        estimator.fit(np.eye(4), [0, 1, 0, 1])


def test_without_early_stopping_all_epochs_run():
    assert LinearSGD(epochs=3, early_stopping=False)._method().patience == 3
    assert LinearSGD(epochs=3, patience=2)._method().patience == 2
    assert Wsabie(epochs="4", early_stopping=False)._method().patience == 4
