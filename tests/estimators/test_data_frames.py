"""Rows and labels in data frames of pandas and polars, where these are installed."""

import numpy as np
import pytest

import myriad
from myriad.errors import InputError

X = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
NAMES = ["a", "b", "c"]
y = np.array([NAMES[i % 3] for i in range(12)])
KINDS = [myriad.NearestMeans, myriad.LinearSGD]


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    return pytest.importorskip(request.param)


@pytest.fixture
def frame(library):
    return library.DataFrame({name: X[:, i] for i, name in enumerate(NAMES)})


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_its_array(kind, library, frame):
    options = {} if kind is myriad.NearestMeans else {"eta": 0.1, "beta": 1.0, "epochs": 2}
    plain = kind(**options).fit(X, y)
    model = kind(**options).fit(frame, library.Series(y))
    np.testing.assert_array_equal(model.classes_, plain.classes_)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))


def test_labels_that_are_missing(library, frame):
    labels = [None, *y[1:].tolist()]
    with pytest.raises(InputError, match="1 of 12 labels are missing"):
        myriad.NearestMeans().fit(frame, library.Series(labels))


def test_columns_that_are_no_numbers(library):
    words = library.DataFrame({"a": X[:, 0], "b": y})
    model = myriad.NearestMeans().fit(library.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y)
    for use in (lambda: myriad.NearestMeans().fit(words, y), lambda: model.predict(words)):
        with pytest.raises(ValueError, match="could not convert string to float"):
            use()


def test_values_that_are_missing(library):
    holes = library.DataFrame({"a": X[:, 0].tolist(), "b": [None, *X[1:, 1].tolist()]})
    with pytest.raises(ValueError, match="contains NaN"):
        myriad.NearestMeans().fit(holes, y)


def test_a_lazy_frame(library, frame):
    if not hasattr(frame, "lazy"):
        pytest.skip("the library has none")
    with pytest.raises(InputError, match=r"call its collect\(\) first"):
        myriad.NearestMeans().fit(frame.lazy(), y)


def test_categories_are_labels():
    pandas = pytest.importorskip("pandas")
    found = myriad.NearestMeans().fit(X, pandas.Series(y, dtype="category")).classes_
    np.testing.assert_array_equal(found, NAMES)


def test_a_column_is_no_matrix(library):
    with pytest.raises(ValueError, match=r"2D array|2-dimensional"):
        myriad.NearestMeans().fit(library.Series(X[:, 0]), y)
