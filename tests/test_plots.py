"""The plots show the numbers that they are about."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import myriad
from myriad import plots
from myriad.errors import InputError

NAMES = np.array(["owl", "بومة", "heron", "鷺", "tern"], dtype=object)
N = 400


class Fixed:
    """A classifier of row numbers whose probabilities are given."""

    def __init__(self, probabilities):
        self.classes_, self.probabilities = NAMES, probabilities

    def predict_proba(self, X):
        return self.probabilities[X]

    def predict(self, X):
        return self.predict_topk(X, 1)[0][:, 0]

    def predict_topk(self, X, k):
        order = np.argsort(-self.probabilities[X], axis=1, kind="stable")[:, :k]
        return NAMES[order], np.take_along_axis(self.probabilities[X], order, axis=1)


@pytest.fixture
def model():
    return Fixed(np.random.default_rng(0).dirichlet(np.full(5, 0.5), N))


@pytest.fixture
def y(model):
    """Labels that are drawn from the probabilities, which are therefore calibrated."""
    draws = np.random.default_rng(1).random((N, 1))
    return NAMES[(model.probabilities.cumsum(axis=1) < draws).sum(axis=1).clip(0, 4)]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


X = np.arange(N)


def test_the_module_is_an_attribute_of_the_package():
    assert myriad.plots is plots
    assert "plots" in dir(myriad)


def test_accuracy_at_k(model, y):
    ax = plots.accuracy_at_k(model, X, y, k=9, label="one")
    guesses, _ = model.predict_topk(X, 5)
    expected = [100 * (guesses[:, :k] == y[:, None]).any(axis=1).mean() for k in range(1, 6)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected)
    assert expected[-1] == 100
    assert plots.accuracy_at_k(model, X, y, label="two", ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_reliability_of_calibrated_probabilities_is_near_the_diagonal(model, y):
    line = plots.reliability(model, X, y).lines[1]
    assert np.abs(np.subtract(line.get_xdata(), line.get_ydata())).mean() < 12


def test_risk_coverage_ends_with_the_error_of_all_rows(model, y):
    line = plots.risk_coverage_curve(model, X, y).lines[0]
    assert line.get_xdata()[-1] == 100
    assert line.get_ydata()[-1] == pytest.approx(100 * (model.predict(X) != y).mean())


def test_confused_classes_stand_side_by_side():
    truth = np.repeat(np.arange(5), 80)
    probabilities = 0.8 * np.eye(5)[truth] + 0.04
    for one, other in ((0, 3), (1, 4)):  # half of the rows of each are taken for the other
        probabilities[np.flatnonzero(truth == one)[::2]] = 0.8 * np.eye(5)[other] + 0.04
    ax = plots.confusion_groups(Fixed(probabilities), X, NAMES[truth])
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert abs(shown.index("owl") - shown.index("鷺")) == 1
    assert abs(shown.index("بومة") - shown.index("tern")) == 1
    counts = ax.images[0].get_array()
    assert counts[shown.index("owl"), shown.index("鷺")] == pytest.approx(50)
    assert counts[shown.index("鷺"), shown.index("鷺")] == pytest.approx(100)


def test_without_errors_there_is_nothing_to_draw():
    truth = np.arange(N) % 5
    ax = plots.confusion_groups(Fixed(np.eye(5)[truth]), X, NAMES[truth])
    assert "No class" in ax.get_title()


def test_an_unknown_label_is_named():
    with pytest.raises(InputError, match=r"'herron'.*Did you mean 'heron'"):
        plots.confusion_groups(Fixed(np.eye(5)[X % 5]), X[:1], ["herron"])


SEARCHED = SimpleNamespace(
    search_=[
        {"objective": "softmax", "eta": 0.1, "epochs": 2, "top1": 70.0},
        {"objective": "softmax", "eta": 0.1, "epochs": 4, "top1": None},
        *({"objective": "dual", "lam": 10.0**-i, "top1": 80.0 - i} for i in range(4)),
    ]
)


def test_search_draws_the_candidates_of_each_objective_and_the_best():
    ax = plots.search(SEARCHED)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["softmax", "dual", "lam 1"]
    assert [len(line.get_xdata()) for line in ax.lines] == [1, 4, 1]
    assert ax.lines[2].get_ydata() == [80.0]


def test_search_against_a_setting():
    ax = plots.search(SEARCHED, against="lam")
    assert ax.get_xlabel() == "lam"
    assert ax.get_xscale() == "symlog"
    assert list(ax.lines[0].get_xdata()) == [1e-3, 1e-2, 1e-1, 1.0]
    assert plots.search(SEARCHED, against="eta").lines[1].get_ydata() == [70.0]
    with pytest.raises(InputError, match="Did you mean 'lam'"):
        plots.search(SEARCHED, against="lamb")


def test_search_that_did_not_take_place():
    with pytest.raises(InputError, match="without a search"):
        plots.search(SimpleNamespace(search_=[]))
