"""Classes trained beside fixed ones: the gradient, the optimum, threads, anchors."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from myriad.models import LinearModel
from myriad.parallel import open_threads
from myriad.training.extension import train_beside
from myriad.training.extension_problem import FixedScores, Problem
from tests.models.folders import draw_rows


@pytest.fixture
def pool():
    with open_threads(2) as found:
        yield found


def draw(n_rows=240, n_classes=8, n_old=6, dim=5, seed=0):
    """Return rows, their classes, and a model of the first classes: scores by nearest means."""
    X, labels = draw_rows(n_rows, n_classes, dim, seed)
    means = np.random.default_rng(99).normal(size=(n_classes, dim)).astype(np.float32)[:n_old]
    return X, labels, LinearModel(means, -0.5 * np.square(means).sum(axis=1))


def make_problem(pool, scale=1.5, anchor=None):
    X, labels, model = draw()
    fixed = FixedScores.of(model, X, np.where(labels < 6, labels, -1), scale, pool)
    targets = np.where(labels >= 6, labels - 6, -1).astype(np.int32)
    return Problem(X, targets, 2, fixed, scale, anchor, pool), X, labels, model


def loss_by_definition(parameters, X, labels, model, scale, lam):
    """Return the objective with a softmax over all classes, old and new."""
    mean = X.mean(axis=0)
    new = (X - mean) @ parameters[:, :-1].T + parameters[:, -1]
    logits = np.concatenate([scale * model.scores(X), new], axis=1).astype(np.float64)
    sums = np.log(np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1))
    sums += logits.max(axis=1)
    # Of a row of an old class, the probability of all old classes together counts.
    old = np.log(np.exp(logits[:, :6]).sum(axis=1))
    own = np.where(labels >= 6, logits[np.arange(len(X)), labels], old)
    square = np.square(X - mean).sum(axis=1).mean()
    return (sums - own).mean() + 0.5 * lam * square * np.square(parameters[:, :-1]).sum()


def test_the_objective_is_that_of_a_softmax_over_all_classes(pool):
    problem, X, labels, model = make_problem(pool)
    parameters = np.random.default_rng(1).normal(size=(2, 6))
    expected = loss_by_definition(parameters, X, labels, model, 1.5, 0.1)
    assert problem.value(parameters, 0.1)[0] == pytest.approx(expected, rel=1e-5)


def test_the_gradient_is_that_of_the_objective(pool):
    anchor = LinearModel(np.full((2, 5), 0.3, np.float32), np.zeros(2, np.float32))
    problem, *_ = make_problem(pool, anchor=anchor)
    at = np.random.default_rng(2).normal(size=12)

    def value(flat):
        return problem.value(flat.reshape(2, 6), 0.1)[0]

    def gradient(flat):
        return problem.value(flat.reshape(2, 6), 0.1)[1]

    # The products are float32, so differences are taken over wide steps.
    assert check_grad(value, gradient, at, epsilon=1e-2) < 2e-2


def test_the_weights_do_not_depend_on_the_number_of_threads():
    X, labels, model = draw()
    targets = np.where(labels >= 6, labels - 6, -1).astype(np.int32)
    found = []
    for threads in (1, 2):
        with open_threads(threads) as pool:
            fixed = FixedScores.of(model, X, np.where(labels < 6, labels, -1), 1.0, pool)
            found.append(train_beside(X, targets, 2, fixed, 1.0, seed=0, pool=pool))
    assert np.array_equal(found[0].model.weights, found[1].model.weights)
    assert np.array_equal(found[0].held_scores, found[1].held_scores)


@pytest.mark.parametrize("scale", [0.2, 1.0, 20.0])
def test_new_classes_are_separated_whatever_the_scale_of_old_scores(pool, scale):
    X, labels, model = draw(600)
    small = LinearModel(model.weights / scale, model.biases / scale)
    fixed = FixedScores.of(small, X, np.where(labels < 6, labels, -1), scale, pool)
    targets = np.where(labels >= 6, labels - 6, -1).astype(np.int32)
    found = train_beside(X, targets, 2, fixed, scale, seed=0, pool=pool)
    X_test, y_test = draw_rows(1000, 8, 5, seed=7)
    best = np.random.default_rng(99).normal(size=(8, 5))
    ideal = (X_test @ best.T - 0.5 * np.square(best).sum(axis=1)).argmax(axis=1) == y_test
    right = small.with_classes(found.model).scores(X_test).argmax(axis=1) == y_test
    assert right.mean() > ideal.mean() - 0.04
    assert sorted(found.held.tolist()) == list(range(600))
    assert found.held_scores.shape == (600, 2)


def test_held_out_scores_are_adjusted_as_the_model_is(pool):
    X, labels, model = draw(90)
    fixed = FixedScores.of(model, X, np.where(labels < 6, labels, -1), 1.0, pool)
    targets = np.where(labels >= 6, labels - 6, -1).astype(np.int32)
    plain = train_beside(X, targets, 2, fixed, 1.0, seed=0, pool=pool)
    weights = np.ones(len(X))
    found = train_beside(X, targets, 2, fixed, 1.0, weights=weights, seed=0, pool=pool)
    assert (plain.factor, plain.offset) == (1.0, 0.0)
    assert found.factor != 1.0
    assert found.lam == plain.lam
    expected = found.factor * plain.model.scores(X) + found.offset
    np.testing.assert_allclose(found.model.scores(X), expected, rtol=1e-4, atol=1e-4)
    expected = found.factor * plain.held_scores + found.offset
    np.testing.assert_allclose(found.held_scores, expected, rtol=1e-4, atol=1e-4)


def test_fixed_scores_are_those_of_the_model(pool):
    X, labels, model = draw()
    known = np.where(labels < 6, labels, -1).astype(np.int32)
    fixed = FixedScores.of(model, X, known, 1.5, pool)
    logits = 1.5 * model.scores(X).astype(np.float64)
    np.testing.assert_allclose(fixed.log_sums, np.log(np.exp(logits).sum(axis=1)), rtol=1e-9)
    old = known >= 0
    np.testing.assert_allclose(fixed.true[old], logits[old, known[old]])
    assert np.isinf(fixed.true[~old]).all()


def test_leads_become_those_of_held_out_rows(pool):
    X, labels, model = draw()
    known = np.where(labels < 6, labels, -1).astype(np.int32)
    fixed = FixedScores.of(model, X, known, 1.0, pool)
    margins = np.random.default_rng(3).normal(size=500)
    changed = fixed.like_held_out(margins)
    old = known >= 0
    before, after = (one.true[old] - one.others[old] for one in (fixed, changed))
    np.testing.assert_array_equal(np.argsort(before), np.argsort(after))
    assert after.mean() == pytest.approx(margins.mean(), abs=0.05)
    assert after.std() == pytest.approx(margins.std(), rel=0.1)
    assert np.isinf(changed.true[~old]).all()


def test_an_anchor_holds_weights_that_need_not_change(pool):
    X, labels, model = draw(600, n_classes=6)
    rest = LinearModel(model.weights[:5], model.biases[:5])
    anchor = LinearModel(model.weights[5:], model.biases[5:])
    fixed = FixedScores.of(rest, X, np.where(labels < 5, labels, -1), 1.0, pool)
    targets = np.where(labels == 5, 0, -1).astype(np.int32)
    problem = Problem(X, targets, 1, fixed, 1.0, anchor, pool)
    found = problem.make_model(problem.minimise(1e3, problem.start()))
    np.testing.assert_allclose(found.weights, anchor.weights, atol=1e-3)
