"""A lam for each class: the same as training each class by itself."""

import numpy as np
import pytest

from myriad import DualSVM
from myriad.errors import InputError
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context
from myriad.training.dual.class_lams import measure_losses, pick_lams

ONE = Context(threads=1)


def make_rows(n, seed, n_classes=3):
    draws = np.random.default_rng(seed)
    labels = np.arange(n, dtype=np.int32) % n_classes
    centres = np.random.default_rng(9).standard_normal((n_classes, 6))
    noise = np.array([0.3, 1.0, 3.0])[labels][:, None]
    X = centres[labels] + draws.standard_normal((n, 6)) * noise
    return ArrayRows(X.astype(np.float32), labels, [str(c) for c in range(n_classes)])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_each_class_has_the_optimum_of_its_own_lam(loss):
    rows, lams = make_rows(60, 0), (0.5, 0.05, 0.005)
    options = {"loss": loss, "tol": 1e-4, "center": False, "epochs": 3000}
    method = BinaryDual(lam=0.05, lams=lams, lam_per_class=True, **options)
    found = method.fit(rows, None, n_classes=3, context=ONE)
    assert found.settings["lams"] == list(lams)
    assert found.settings["gap"] <= 1e-4
    for c, lam in enumerate(lams):
        alone = BinaryDual(lam=lam, **options).fit(rows, None, n_classes=3, context=ONE)
        # The problem of a class has the weight lam / lam_c here.
        value = found.certificate.primals[c] * lam / 0.05
        assert value == pytest.approx(alone.certificate.primals[c], rel=1e-3)
        w = alone.model.weights[c]
        np.testing.assert_allclose(found.model.weights[c], w, atol=0.05 * np.abs(w).max())


def test_the_search_takes_the_least_held_out_loss_of_each_class():
    train, val = make_rows(90, 1), make_rows(60, 2)
    method = BinaryDual(loss="squared_hinge", lam_per_class=True, center=False)
    found = method.fit(train, val, n_classes=3, context=ONE)
    lams = found.settings["lams"]
    assert len(set(lams)) > 1
    assert {row["lam"] for row in found.table} >= set(lams)
    losses = {}
    for row in found.table:
        plain = BinaryDual(loss="squared_hinge", lam=row["lam"], center=False)
        model = plain.fit(train, None, n_classes=3, context=ONE).model
        losses[row["lam"]] = measure_losses(plain, model.weights, model.biases, val)
    for c in range(3):
        first = losses[found.table[0]["lam"]][c]  # the search trains coarsely
        assert losses[lams[c]][c] <= min(loss[c] for loss in losses.values()) + 0.2 * first
    again = method.settled(found).fit(train, None, n_classes=3, context=ONE)
    np.testing.assert_allclose(again.model.weights, found.model.weights, atol=1e-6)


def test_the_search_keeps_to_the_time_limit():
    method = BinaryDual(lam_per_class=True, seconds=1e-9)  # has passed after any epoch
    found = method.fit(make_rows(90, 1), make_rows(60, 2), n_classes=3, context=ONE)
    assert {row["epochs"] for row in found.table} == {1}


def test_held_out_losses_agree_with_plain_numpy():
    val, method = make_rows(30, 5), BinaryDual(loss="squared_hinge")
    W, b = np.random.default_rng(0).standard_normal((3, 6)), np.array([0.1, 0.0, -0.2])
    signs = np.where(val.labels[:, None] == np.arange(3), 1, -1)
    margins = signs * (val.X @ W.T + b)
    expected = (np.maximum(0, 1 - margins) ** 2).mean(axis=0)
    np.testing.assert_allclose(measure_losses(method, W, b, val), expected, rtol=1e-6)


def test_classes_without_held_out_rows_take_the_lam_of_all():
    val = make_rows(4, 0)
    val = ArrayRows(val.X, np.array([0, 0, 1, 1], np.int32), val.class_names)
    losses = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 9.0], [2.0, 3.0, 9.0]])
    path = np.array([1.0, 0.1, 0.01])
    assert pick_lams(path, losses, val, 3).tolist() == [0.1, 1.0, 1.0]


def test_the_estimator_and_wrong_calls():
    rows = make_rows(90, 1)
    svm = DualSVM(loss="squared_hinge", lam_per_class=True, threads=1).fit(rows.X, rows.labels)
    assert len(svm.settings_["lams"]) == 3
    assert svm.score(rows.X, rows.labels) > 0.5
    with pytest.raises(InputError, match="lam_per_class"):
        BinaryDual(lam=0.1, lam_per_class=True)
    with pytest.raises(InputError, match="3 classes need as many lams"):
        BinaryDual(lam=0.1, lams=(1.0,), lam_per_class=True).fit(
            rows, None, n_classes=3, context=ONE
        )
