"""What all classifiers of rows share: parameters that are options of their method, and stores."""

import inspect
from decimal import Decimal

import numpy as np
import pytest

import myriad
from myriad import (
    DualSVM,
    InputError,
    LinearSGD,
    NearestMeans,
    SignBits,
    TopKSVM,
    TraceNormClassifier,
    Wsabie,
)
from myriad.codes import CodeOptions
from myriad.options import flat_values, options_of
from myriad.pipelines.stores.compress import compress
from myriad.store import Store
from tests.pipelines.studying import make_store

CLASSIFIERS = [LinearSGD, TopKSVM, DualSVM, Wsabie, TraceNormClassifier, NearestMeans]
NOT_PARAMETERS = {
    TraceNormClassifier: {"steps"},
    Wsabie: {"memory"},
}
"""Options of a method that its estimator leaves at their default."""
CODES = {
    "none": None,
    "pq": CodeOptions("pq", 4),
    "bits": CodeOptions("bits", 32),
}
ESTIMATORS = {
    "topk": myriad.TopKSVM(k=2, lam=0.1, threads=1),
    "dual": myriad.DualSVM(lam=0.3, threads=1),
}


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


@pytest.fixture(scope="module", params=CODES)
def store(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    plain = make_store(folder / "plain", dim=32, n=600)
    if CODES[request.param] is None:
        return plain
    compress(plain.path, folder / "coded", options=CODES[request.param])
    return Store.open(folder / "coded")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_store_gives_the_weights_of_its_decoded_rows(store, name):
    from_store = ESTIMATORS[name].fit(store)
    assert from_store.gap_ <= 1e-3
    rows = store.rows("train")
    X = rows.read(np.arange(rows.n_rows))
    names = np.array(store.class_names)
    expected = _fit_array(name, X, names[rows.labels])
    # Both are within the gap of one optimum, whichever order the rows came in.
    distance = np.linalg.norm(from_store.coef_ - expected.coef_)
    assert distance < 0.2 * np.linalg.norm(expected.coef_)
    test = store.rows("test")
    held = test.read(np.arange(test.n_rows))
    assert (from_store.predict(held) == names[test.labels]).mean() > 0.8


def _fit_array(name, X, y):
    kind, options = type(ESTIMATORS[name]), ESTIMATORS[name].get_params()
    return kind(**options).fit(X, y)


@pytest.mark.parametrize(
    ("other", "message"), [(1, "all numbers or all text"), (None, "3 of 6 labels are missing")]
)
@pytest.mark.parametrize("kind", [LinearSGD, NearestMeans])
def test_labels_that_cannot_be_compared_are_refused(kind, other, message):
    with pytest.raises(InputError, match=message):
        kind().fit(np.eye(6, 4, dtype=np.float32), np.array(["ant", other] * 3, dtype=object))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([2**70, 2**71] * 3, object), "64 bits"),
        (np.array([2**63, -1] * 3, object), "64 bits"),
        (np.array([Decimal(1), Decimal(2)] * 3, object), "their types are Decimal"),
        (np.ma.masked_array([0, 1] * 3, mask=[1, 0] * 3), "3 values of y are masked"),
    ],
)
def test_labels_that_no_class_can_have_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        NearestMeans().fit(np.eye(6, 4, dtype=np.float32), labels)


def test_masked_values_are_refused():
    X, y = np.eye(6, 4, dtype=np.float32), ["ant", "bee"] * 3
    model = NearestMeans().fit(np.ma.masked_array(X, mask=False), y)
    masked = np.ma.masked_array(X, mask=X > 0)
    for call in (NearestMeans().fit, model.score):
        with pytest.raises(InputError, match="4 values of X are masked"):
            call(masked, y)
    with pytest.raises(InputError, match="4 values of X are masked"):
        model.predict(masked)
    with pytest.raises(InputError, match="4 values of X are masked"):
        SignBits().fit(masked)
