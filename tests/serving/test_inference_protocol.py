"""The Open Inference Protocol: metadata and inference of rows and images."""

import base64
import json

import numpy as np
import pytest

from myriad.models import load_model
from tests.serving.calling import refusal


def ask(client, name, tensor, **more):
    return client.post(f"/v2/models/{name}/infer", json={"inputs": [tensor], **more})


def make_rows(n=2, dim=8):
    X = np.random.default_rng(0).standard_normal((n, dim)).astype(np.float32)
    data = X.ravel().tolist()
    return X, {"name": "rows", "datatype": "FP32", "shape": [n, dim], "data": data}


def test_health_and_metadata(rows, images):
    assert rows.get("/v2/health/live").json() == {"live": True}
    assert rows.get("/v2/health/ready").json() == {"ready": True}
    server = rows.get("/v2").json()
    assert server["name"] == "myriad"
    found = rows.get("/v2/models/rows.model").json()
    assert found["inputs"] == [{"name": "rows", "datatype": "FP32", "shape": [-1, 8]}]
    assert [one["name"] for one in found["outputs"]] == ["labels", "scores"]
    of_images = images.get("/v2/models/letters.model").json()
    assert of_images["inputs"][0] == {"name": "images", "datatype": "BYTES", "shape": [-1]}
    assert of_images["outputs"][2]["name"] == "probabilities"
    assert rows.get("/v2/models/rows.model/ready").json()["ready"]
    refusal(rows.get("/v2/models/other"), 404)


def test_rows_are_ranked(rows, rows_model):
    X, tensor = make_rows()
    found = ask(rows, "rows.model", tensor, id="7", parameters={"k": 3}).json()
    assert found["id"] == "7"
    assert found["model_name"] == "rows.model"
    labels, scores = found["outputs"]
    folder = load_model(rows_model)
    wanted, values = folder.model.rank(X, 3)
    assert labels["shape"] == scores["shape"] == [2, 3]
    assert labels["data"] == [folder.class_names[c] for c in wanted.ravel()]
    np.testing.assert_allclose(scores["data"], values.ravel(), rtol=1e-5)
    nested = {**tensor, "data": X.tolist()}
    assert ask(rows, "rows.model", nested).status_code == 200


def test_images_are_ranked(images, letter):
    content, label = letter
    data = [base64.b64encode(content).decode()] * 2
    tensor = {"name": "images", "datatype": "BYTES", "shape": [2], "data": data}
    outputs = ask(images, "letters.model", tensor, parameters={"k": 2}).json()["outputs"]
    assert [one["name"] for one in outputs] == ["labels", "scores", "probabilities"]
    assert outputs[0]["shape"] == [2, 2]
    assert outputs[0]["data"][0] == label


BAD = {
    "no inputs": ({"inputs": []}, 400),
    "no list": ({"inputs": 7}, 400),
    "another name": ({"inputs": [{"name": "x", "data": []}]}, 400),
    "no data": ({"inputs": [{"name": "rows"}]}, 400),
    "shape": ({"inputs": [make_rows()[1] | {"shape": [3, 8]}]}, 400),
    "negative shape": ({"inputs": [make_rows()[1] | {"shape": [-2, -8]}]}, 400),
    "datatype": ({"inputs": [make_rows()[1] | {"datatype": "BYTES"}]}, 400),
    "features": ({"inputs": [make_rows(dim=4)[1]]}, 422),
    "k": ({"inputs": [make_rows()[1]], "parameters": {"k": 0}}, 422),
    "base64": ({"inputs": [{"name": "images", "datatype": "BYTES", "data": ["%"]}]}, 400),
    "numbers": ({"inputs": [{"name": "images", "datatype": "BYTES", "data": [7]}]}, 400),
    "image": ({"inputs": [{"name": "images", "datatype": "BYTES", "data": ["eA=="]}]}, 422),
    "half a character as id": ({"id": "\ud800", "inputs": [make_rows()[1]]}, 400),
    "many": (
        {"inputs": [{"name": "rows", "datatype": "FP32", "shape": [9999, 8], "data": []}]},
        413,
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_refused(images, rows, case):
    content, status = BAD[case]
    client, name = (images, "letters") if "images" in str(content) else (rows, "rows")
    refusal(client.post(f"/v2/models/{name}.model/infer", json.dumps(content)), status)
