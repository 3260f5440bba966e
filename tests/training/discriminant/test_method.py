"""Discriminant analysis as a method, and gradient descent in its space."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models import LinearModel
from myriad.store import ArrayRows
from myriad.training import METHODS, SGD, Context, Discriminant, make_method
from myriad.training.discriminant import method as module
from myriad.training.discriminant.gaussian import find_space

CLASSES, DIM = 60, 24


def draw(per_class, seed):
    """Return rows of many classes with few rows each: small differences, large common noise."""
    means = np.random.default_rng(0).standard_normal((CLASSES, DIM))
    means[:, DIM // 2 :] = 0.0
    noise = np.linspace(0.3, 6.0, DIM)
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(CLASSES, dtype=np.int32), per_class)
    X = means[y] + noise * rng.standard_normal((len(y), DIM))
    return ArrayRows((X + 5.0).astype(np.float32), y)


@pytest.fixture(scope="module")
def rows():
    return draw(4, 1), draw(4, 2)


def accuracy(model, rows):
    guesses = model.scores(rows.read(range(rows.n_rows))).argmax(axis=1)
    return 100 * (guesses == rows.labels).mean()


def test_it_is_better_than_class_means_and_than_gradient_descent(rows):
    train, test = rows
    found = {
        name: accuracy(
            make_method(METHODS, name, **given).fit(train, None, n_classes=60).model, test
        )
        for name, given in {"plda": {}, "means": {}, "softmax": {"scale": False}}.items()
    }
    assert found["plda"] > found["means"] + 10
    assert found["plda"] > found["softmax"] + 5


def test_lam_is_searched_on_validation_rows(rows):
    train, val = rows
    method = Discriminant()
    assert method.is_open
    fitted = method.fit(train, val, n_classes=CLASSES)
    assert len(fitted.table) >= 4
    assert fitted.settings["lam"] in [row["lam"] for row in fitted.table]
    settled = method.settled(fitted)
    assert not settled.is_open
    again = settled.fit(train, None, n_classes=CLASSES)
    assert again.model.weights.tobytes() == fitted.model.weights.tobytes()


def test_the_model_is_the_same_on_two_threads(rows):
    method = Discriminant(lam=0.1)
    first, second = (
        method.fit(rows[0], None, n_classes=CLASSES, context=Context(threads=n)).model
        for n in (1, 2)
    )
    assert first.weights.tobytes() == second.weights.tobytes()


def test_many_features_are_projected_onto_the_span_of_the_rows(rows, monkeypatch):
    train, test = rows
    few = train.select(np.arange(0, train.n_rows, 12))  # fewer rows than features
    plain = Discriminant(lam=0.1).fit(few, None, n_classes=CLASSES).model
    monkeypatch.setattr(module, "MANY_FEATURES", 4)
    spanned = Discriminant(lam=0.1).fit(few, None, n_classes=CLASSES).model
    asked = test.read(range(50))
    np.testing.assert_array_equal(spanned.rank(asked, 1)[0], plain.rank(asked, 1)[0])


def test_what_it_does_not_take_is_refused(rows, monkeypatch):
    train, _ = rows
    X = train.read(range(4))
    several = ArrayRows(X, LabelSets.from_lists([[0, 1], [1], [0], [1]]))
    with pytest.raises(InputError, match="one label each"):
        Discriminant(lam=0.1).fit(several, None, n_classes=2)
    monkeypatch.setattr(module, "MOST_FEATURES", 10)
    with pytest.raises(InputError, match="24 are too many"):
        Discriminant(lam=0.1).fit(train, None, n_classes=CLASSES)
    with pytest.raises(InputError, match="24 are too many"):
        SGD(eta=0.1, scale=False, plda=0.1).fit(train, None, n_classes=CLASSES)


def test_gradient_descent_in_the_space_of_discriminant_analysis(rows):
    train, test = rows
    options = {"eta": 0.01, "scale": False, "epochs": 8}
    method = SGD(objective="softmax", plda=0.1, center=False, **options)
    fitted = method.fit(train, None, n_classes=CLASSES)
    with Context(threads=1).open() as running:
        space = find_space(train, CLASSES, 0.1, running)
    plain = SGD(objective="softmax", center=False, **options)
    expected = space.expand(plain.fit(space.project(train), None, n_classes=CLASSES).model)
    assert fitted.model.weights.tobytes() == expected.weights.tobytes()
    assert fitted.settings["plda"] == 0.1
    assert method.settled(fitted).plda == 0.1
    assert accuracy(fitted.model, test) > 5 * 100 / CLASSES


def test_workers_and_a_model_to_start_from_are_not_for_the_space():
    assert SGD(objective="softmax").supports_workers
    assert not SGD(objective="softmax", plda=0.1).supports_workers
    start = LinearModel(np.zeros((2, 3), np.float32), np.zeros(2, np.float32))
    with pytest.raises(InputError, match="starts from zero"):
        SGD(plda=0.1, start=start)
