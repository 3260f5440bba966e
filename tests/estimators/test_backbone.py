"""Networks as scikit-learn transformers."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from myriad import Backbone, InputError
from myriad.signatures import OnnxOptions, read_onnx
from tests.signatures.onnx_files import write_network

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (20, 24, 3), dtype=np.uint8) for _ in range(5)]


def test_rows_are_those_of_the_signature(tmp_path):
    write_network(tmp_path / "n.onnx", kernel=RNG.normal(size=(3, 4)))
    network = f"onnx:{tmp_path / 'n.onnx'}"
    transformer = Backbone(network=network, mean=(100, 110, 120), deviation=50.5, threads=2)
    with pytest.raises(NotFittedError):
        transformer.transform(IMAGES)
    rows = clone(transformer).fit(IMAGES).transform(IMAGES)
    options = OnnxOptions(mean="100,110,120", deviation="50.5")
    signature = read_onnx(tmp_path / "n.onnx", options)
    np.testing.assert_array_equal(rows, [signature.describe(image) for image in IMAGES])
    assert transformer.fit().transform([]).shape == (0, 4)
    grey = transformer.transform([IMAGES[0][:, :, 0]])
    assert np.isfinite(grey).all()


def test_unknown_networks_are_refused():
    with pytest.raises(InputError, match="efficientnet-lite0 or onnx:FILE"):
        Backbone(network="resnet").fit()
    with pytest.raises(InputError, match="network must be text"):
        Backbone(network=None).fit()
