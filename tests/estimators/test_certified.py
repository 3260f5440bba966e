"""The estimators of the dual on stores: plain rows, product codes and sign bits."""

import numpy as np
import pytest

import myriad
from myriad.pipelines.coding import CodeOptions
from myriad.pipelines.compress import compress
from myriad.store import Store
from tests.pipelines.studying import make_store

CODES = {
    "none": None,
    "pq": CodeOptions("pq", 4),
    "bits": CodeOptions("bits", 32),
}
ESTIMATORS = {
    "topk": myriad.TopKSVM(k=2, lam=0.1, threads=1),
    "dual": myriad.DualSVM(lam=0.3, threads=1),
}


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
