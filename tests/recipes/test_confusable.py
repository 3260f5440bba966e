"""The simulations of `confusable_classes.py` against exact values."""

import numpy as np
import pytest

from tests.scripts import ROOT


@pytest.fixture(autouse=True)
def recipes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))


@pytest.mark.parametrize(("p", "q"), [(0.1, 0.1), (0.9, 0.1), (0.3, 0.8)])
def test_the_formula_is_the_stationary_distribution_of_the_chain(p, q):
    from confusable_simulations import find_stationary

    none = (1 - p) * (1 - q)
    steps = np.array(
        [
            [none, p * (1 - q / 2), q * (1 - p / 2)],  # both violate: one of them at random
            [none, p, (1 - p) * q],
            [none, (1 - q) * p, q],
        ]
    )
    np.testing.assert_allclose(steps.sum(axis=1), 1)
    found = np.array(find_stationary(p, q))
    np.testing.assert_allclose(found @ steps, found, atol=1e-12)


def test_simulations_follow_the_formulas():
    from confusable_simulations import count_losses, draw_errors, walk_chain

    assert walk_chain(0.5, 0.5, 4000)["difference"] < 0.05
    counted = count_losses(0.5, 15, 200)
    assert abs(counted["counted"] - counted["expected"]) < 5 * counted["error"]
    assert count_losses(1.0, 15, 5)["counted"] == 1.0
    errors = draw_errors(0.5, 10, 1000)
    assert errors["deviation"] == pytest.approx(errors["expected"], rel=0.1)


def test_the_class_confusion_loss_agrees_with_its_definition():
    from confusable_simulations import count_confusions

    draws = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 11)
    guesses = draws.integers(0, 4, (3, len(y)))
    expected = [
        sum(
            np.mean(row[y == label] != guess)  # [HM, Equation 7]
            for label, guess in zip(y, row, strict=True)
            if guess != label
        )
        for row in guesses
    ]
    np.testing.assert_allclose(count_confusions(y, guesses), expected)


def test_prototypes_are_classified_by_distance():
    from confusable_simulations import MEANS, classify, place_prototypes

    X = np.array([[0.0, 1.0], [-1.5, -1.0], [1.4, -1.0], [0.1, 2.0]])
    found = classify(X, MEANS[:1])[0]
    assert found.tolist() == [0, 2, 3, 0]
    placed = place_prototypes(5, 400)
    assert placed["best"] <= placed["unmoved"]
