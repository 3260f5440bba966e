"""Estimators on a Dask cluster: by a client, the active one or an address, alone or cloned."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from myriad import DualSVM, LinearSGD, NearestMeans, Wsabie
from myriad.errors import InputError

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

OPTIONS = {"eta": 0.1, "beta": 4.0, "epochs": 2, "scale": False, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 5
    means = 3 * rng.standard_normal((5, 8))
    return (means[y] + rng.standard_normal((200, 8))).astype(np.float32), y


def test_a_client_and_the_active_one_train_the_same_model(client, rows):
    X, y = rows
    here = LinearSGD(**OPTIONS, threads=1).fit(X, y)
    for where in (client, "active"):
        there = LinearSGD(**OPTIONS, client=where).fit(X, y)
        np.testing.assert_array_equal(here.coef_, there.coef_)
        np.testing.assert_array_equal(here.intercept_, there.intercept_)
        assert there.client is where
    assert client.status == "running"  # it is the caller's to close


@pytest.mark.parametrize("kind", [LinearSGD, DualSVM, Wsabie])
def test_a_clone_shares_the_client(client, kind):
    estimator = kind(client=client, random_state=3)
    cloned = clone(estimator)
    assert cloned is not estimator
    assert cloned.client is client
    assert estimator.client is client
    assert cloned.get_params() == estimator.get_params()


def test_a_clone_is_not_fitted_and_options_are_its_own(client, rows):
    fitted = LinearSGD(**OPTIONS, client=client).fit(*rows)
    cloned = clone(fitted)
    assert not hasattr(cloned, "model_")
    assert clone(fitted.set_params(client="active")).client == "active"
    assert clone(LinearSGD()).client is None
    assert "client" not in vars(clone(NearestMeans()))


def test_a_search_over_options_uses_the_client(client, rows):
    search = GridSearchCV(LinearSGD(**OPTIONS, client=client), {"eta": [0.03, 0.1]}, cv=2)
    search.fit(*rows)
    assert search.best_estimator_.client is client
    assert search.best_score_ > 0.5


def test_a_missing_active_client_is_reported(rows, monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    with pytest.raises(InputError, match="no active Dask client"):
        LinearSGD(**OPTIONS, client="active").fit(*rows)
