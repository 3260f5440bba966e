"""PCA against scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import PCA as TheirPCA

from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.vocabularies import PCA, learn_pca
from myriad.vocabularies import blocks as module


def make_values(n=1500, dim=20, seed=0):
    rng = np.random.default_rng(seed)
    scales = np.linspace(3, 0.2, dim)
    mixing = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return (rng.standard_normal((n, dim)) * scales @ mixing + 5).astype(np.float32)


@pytest.mark.parametrize("whiten", [False, True])
def test_agrees_with_scikit_learn(whiten, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 400)
    values = make_values()
    ours = learn_pca(values, 8, whiten=whiten)
    theirs = TheirPCA(8, whiten=whiten, svd_solver="full").fit(values.astype(np.float64))
    np.testing.assert_allclose(ours.variances, theirs.explained_variance_, rtol=1e-4)
    expected = theirs.transform(values.astype(np.float64))
    projected = ours.project(values)
    signs = np.sign((projected * expected).sum(axis=0))
    assert projected.dtype == np.float32
    np.testing.assert_allclose(projected, expected * signs, atol=2e-3)


def test_remembers_the_variance_of_all_directions():
    values = make_values()
    assert learn_pca(values, 3).total == pytest.approx(values.var(axis=0, ddof=1).sum(), rel=1e-4)


def test_components_are_orthonormal_with_fixed_signs():
    pca = learn_pca(make_values(), 20)
    np.testing.assert_allclose(pca.components @ pca.components.T, np.eye(20), atol=1e-5)
    largest = pca.components[np.arange(20), np.abs(pca.components).argmax(axis=1)]
    assert (largest > 0).all()


def test_whitening_a_constant_feature_gives_no_infinity():
    values = make_values(dim=3)
    values[:, 1] = 2
    projected = learn_pca(values, 3, whiten=True).project(values)
    assert np.isfinite(projected).all()
    np.testing.assert_allclose(projected[:, :2].std(axis=0), 1, rtol=1e-3)


def test_constant_rows_project_to_zero():
    values = np.full((10, 4), 3, np.float32)
    pca = learn_pca(values, 2)
    assert np.abs(pca.project(values)).max() < 1e-5


def test_survives_a_round_trip():
    pca = learn_pca(make_values(), 5, whiten=True)
    again = restore(*flatten(pca), PCA)
    values = make_values(seed=1)
    np.testing.assert_array_equal(again.project(values), pca.project(values))


@pytest.mark.parametrize("dim", [0, 21])
def test_refuses_a_wrong_dimension(dim):
    with pytest.raises(InputError, match="1 to 20"):
        learn_pca(make_values(), dim)


def test_refuses_too_few_or_broken_rows():
    with pytest.raises(InputError, match="two rows"):
        learn_pca(np.zeros((1, 3), np.float32), 2)
    with pytest.raises(InputError, match="row 1"):
        learn_pca(np.array([[0, 1], [np.nan, 1]], np.float32), 2)


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.zeros(3, np.float32)},
        {"components": np.zeros((5, 20))},
        {"components": np.zeros(20, np.float32)},
        {"variances": np.full(5, -1, np.float32)},
        {"variances": np.full(5, np.nan, np.float32)},
        {"variances": "many"},
        {"whiten": 1},
        {"total": float("nan")},
        {"total": "all"},
    ],
)
def test_refuses_damaged_fields(change):
    pca = learn_pca(make_values(), 5)
    fields = {"mean": pca.mean, "components": pca.components, "variances": pca.variances}
    with pytest.raises(InputError):
        PCA(**(fields | change))
