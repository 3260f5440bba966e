"""What each of several signatures contributes to margins."""

import numpy as np
import pytest

from myriad.models import LinearModel
from myriad.pipelines.evidence.signature_parts import number_names, share_margins
from myriad.signatures import CombinedSignature
from myriad.signatures.networks.backbone import Backbone
from myriad.store import ArrayRows
from tests.signatures.onnx_files import write_network

RNG = np.random.default_rng(0)
NETWORK = Backbone(np.frombuffer(write_network(), np.uint8), "embedding", 3, size=(8, 8))
BOTH = CombinedSignature((NETWORK, NETWORK), (1.0, 2.0), ("onnx:a", "onnx:b"))


class FakeStore:
    """A store of rows in memory."""

    trained_splits = ("train",)

    def __init__(self, X, y, recipe=BOTH):
        self.recipe, self._rows = recipe, ArrayRows(X, y)

    def rows(self, splits):
        return self._rows


def make_rows(n=60):
    y = (np.arange(n) % 3).astype(np.int32)
    X = RNG.normal(size=(n, 6)).astype(np.float32)
    X[np.arange(n), y] += 5  # the first block alone knows the class
    return X, y


def test_shares_are_those_of_a_slow_loop():
    X, y = make_rows()
    W = RNG.normal(size=(3, 6)).astype(np.float32)
    W[:, :3] += 4 * np.eye(3, dtype=np.float32)
    model = LinearModel(W, RNG.normal(size=3).astype(np.float32))
    found = share_margins(model, FakeStore(X, y))
    sums = np.zeros(2)
    mean = X.mean(axis=0)
    for x, label in zip(X, y, strict=True):
        scores = W @ x + model.biases
        other = max((c for c in range(3) if c != label), key=lambda c: scores[c])
        gains = (W[label] - W[other]) * (x - mean)
        sums += gains[:3].sum(), gains[3:].sum()
    expected = 100 * sums / sums.sum()
    assert list(found) == ["onnx:a", "onnx:b"]
    np.testing.assert_allclose(list(found.values()), expected, atol=0.1)
    assert found["onnx:a"] > 90


@pytest.mark.parametrize("recipe", [None, NETWORK])
def test_one_signature_has_no_shares(recipe):
    X, y = make_rows()
    model = LinearModel(np.eye(3, 6, dtype=np.float32), np.zeros(3, np.float32))
    assert share_margins(model, FakeStore(X, y, recipe)) == {}


def test_models_of_other_features_have_no_shares():
    X, y = make_rows()
    model = LinearModel(np.eye(3, 4, dtype=np.float32), np.zeros(3, np.float32))
    assert share_margins(model, FakeStore(X, y)) == {}
    flat = LinearModel(np.zeros((3, 6), np.float32), np.zeros(3, np.float32))
    assert share_margins(flat, FakeStore(X, y)) == {}


def test_equal_names_are_numbered():
    assert number_names(("bov", "vlad", "bov")) == ["bov", "vlad", "bov (2)"]
