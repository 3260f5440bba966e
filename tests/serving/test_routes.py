"""The API: predictions of images and rows as ``predict --json`` has them, classes, feedback."""

import csv
import io
import json
import logging
import shutil
from pathlib import Path

import cv2
import jsonschema
import numpy as np
import pytest

from myriad.images.manifest import list_manifest
from myriad.models import Decider, load_model
from myriad.pipelines.predicting.predict import predict
from myriad.pipelines.run import Run
from tests.cli.schemas import load_schema
from tests.serving.calling import Client, refusal

MULTIPART = {"content-type": "multipart/form-data; boundary=line"}


NPY_HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"


def as_npy_header(text):
    """Return a .npy file of 16 bytes with this header."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(16)


def as_npy(rows):
    stream = io.BytesIO()
    np.save(stream, rows)
    return stream.getvalue()


def draw_rows(n=3, dim=8):
    return np.random.default_rng(3).standard_normal((n, dim)).astype(np.float32)


def check_rows(answer, rows_model, rows, k):
    assert answer.status_code == 200, answer.text
    found = answer.json()
    jsonschema.validate(found, load_schema("predict"))
    decider = Decider(load_model(rows_model))
    expected = decider.describe(decider.decide(rows, k))
    for one, wanted in zip(found["predictions"], expected, strict=True):
        assert [entry["label"] for entry in one["labels"]] == [
            entry["label"] for entry in wanted["labels"]
        ]
        scores = [[entry["score"] for entry in some["labels"]] for some in (one, wanted)]
        np.testing.assert_allclose(*scores, rtol=1e-5)


def test_an_image_has_the_labels_of_the_command(images, image_model, letters, letter):
    content, label = letter
    answer = images.post("/predict", content, params={"k": 3})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    jsonschema.validate(found, load_schema("predict"))
    path = letters / label / "0001.png"
    expected = predict(image_model, [str(path)], k=3, run=Run(threads=1)).predictions[0]
    assert found["bad"] == []
    (one,) = found["predictions"]
    assert one["path"] == "image"
    for entry, wanted in zip(one["labels"], expected["labels"], strict=True):
        assert entry["label"] == wanted["label"]
        assert entry["score"] == pytest.approx(wanted["score"], rel=1e-5)
        assert entry["probability"] == pytest.approx(wanted["probability"], rel=1e-4)


def test_several_images_of_a_form_bad_ones_apart(images, letter):
    files = [
        ("image", ("one.png", letter[0], "image/png")),
        ("image", ("../../etc/bad.jpg", b"not an image", "image/jpeg")),
        ("other", ("two.png", letter[0], "image/png")),
    ]
    found = images.post("/predict", files=files, params={"k": 1}).json()
    assert [one["path"] for one in found["predictions"]] == ["one.png", "two.png"]
    assert found["bad"] == [{"path": "bad.jpg", "reason": "not an image"}]


def test_prediction_sets_and_labels_to_choose_from(images, image_model, letter):
    names = load_model(image_model).class_names
    query = {"coverage": 0.9, "only": names[2:4]}
    found = images.post("/predict", letter[0], params=query).json()["predictions"][0]
    assert {entry["label"] for entry in found["labels"]} == set(names[2:4])
    assert set(found["set"]) <= set(names[2:4])
    assert sum(entry["probability"] for entry in found["labels"]) == pytest.approx(1)
    together = images.post("/predict", letter[0], params={"only": ",".join(names[2:4])}).json()
    assert {entry["label"] for entry in together["predictions"][0]["labels"]} == set(names[2:4])


def test_a_prior_weighs_labels(image_model, letter, tmp_path):
    prior = tmp_path / "prior.csv"
    prior.write_text(f"label,weight\n{letter[1]},0\n")
    with Client(image_model, prior=str(prior)) as client:
        found = client.post("/predict", letter[0], params={"k": 100}).json()["predictions"][0]
    labels = [entry["label"] for entry in found["labels"]]
    assert letter[1] not in labels
    assert len(labels) == len(load_model(image_model).class_names) - 1


def test_unknown_where_the_model_says_so(image_model, letters):
    # The model was trained on these images, so it is sure of them, but not of mixtures of them.
    images = [cv2.imread(str(path)) for path in sorted(letters.rglob("*.png"))]
    images += [one // 2 + other // 2 for one, other in zip(images, images[::-1], strict=True)]
    files = [cv2.imencode(".png", image)[1].tobytes() for image in images]
    with Client(image_model, reject="rate=0.5") as client:
        answers = client.post_together([("/predict", content) for content in files])
        found = [answer.json()["predictions"][0] for answer in answers]
    assert 0 < sum(one["unknown"] for one in found) < len(files)
    sure = [one["labels"][0]["probability"] for one in found if not one["unknown"]]
    unsure = [one["labels"][0]["probability"] for one in found if one["unknown"]]
    assert min(sure) >= max(unsure)


@pytest.mark.parametrize("form", ["json", "npy", "bytes"])
def test_rows_in_every_form(rows, rows_model, form):
    X = draw_rows()
    if form == "json":
        answer = rows.post("/predict", params={"k": 4}, json={"rows": X.tolist()})
    else:
        kind = "application/x-npy" if form == "npy" else "application/octet-stream"
        answer = rows.post("/predict", as_npy(X), params={"k": 4}, headers={"content-type": kind})
    check_rows(answer, rows_model, X, 4)


def test_rows_by_column_and_of_one_dimension(rows, rows_model):
    X = draw_rows()
    check_rows(rows.post("/predict", as_npy(np.asfortranarray(X))), rows_model, X, 5)
    check_rows(rows.post("/predict", as_npy(X[0].astype(np.float64))), rows_model, X[:1], 5)


def test_requests_at_the_same_time_get_their_own_answers(rows, rows_model):
    X = draw_rows(40)
    answers = rows.post_together([("/predict?k=2", as_npy(row)) for row in X])
    for answer, row in zip(answers, X, strict=True):
        check_rows(answer, rows_model, row[None], 2)


def test_a_model_of_rows_takes_no_images(rows, letter):
    assert "send rows" in refusal(rows.post("/predict", letter[0]), 422)


BAD = {
    "empty body": (b"", {}, 400, "no body"),
    "not an image": (b"hello", {}, 422, "not an image"),
    "cut image": (b"\xff\xd8\xff\xe0" + bytes(200), {}, 422, "truncated JPEG"),
    "content type": (b"x", {"content-type": "text/plain"}, 415, "not read"),
    "broken form": (b"x", MULTIPART, 400, "multipart"),
    "form without boundary": (b"x", {"content-type": "multipart/form-data"}, 400, "multipart"),
    "empty form": (b"--line--\r\n", MULTIPART, 400, "form"),
    "not JSON": (b"{", {"content-type": "application/json"}, 400, "not valid JSON"),
    "JSON without rows": (b"[1]", {"content-type": "application/json"}, 400, "object"),
    "ragged rows": (b'{"rows": [[1], [1, 2]]}', {"content-type": "application/json"}, 400, "same"),
    "infinite rows": (b'{"rows": [[1e999]]}', {"content-type": "application/json"}, 400, "finite"),
    "cut npy": (as_npy(np.ones((2, 4)))[:-3], {}, 400, "truncated"),
    "npy header that is not closed": (as_npy_header("{'shape': ("), {}, 400, "valid .npy"),
    "npy header that nests": (as_npy_header("[" * 9000), {}, 400, "valid .npy"),
    "npy of true rows": (as_npy_header(NPY_HEADER % "(True, 4)"), {}, 400, "one or two"),
    "npy of negative rows": (as_npy_header(NPY_HEADER % "(-2, -2)"), {}, 400, "one or two"),
    "npy of objects": (b"\x93NUMPY\x01\x00\x02\x00{}", {}, 400, "valid .npy"),
    "features": (as_npy(np.ones((2, 4))), {}, 422, "features"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_bodies_are_refused_in_one_sentence(images, case):
    content, headers, status, words = BAD[case]
    assert words in refusal(images.post("/predict", content, headers=headers), status)


def test_broken_forms_are_not_logged(images, monkeypatch, capsys):
    monkeypatch.setattr(logging.root, "handlers", [])  # those of pytest
    refusal(images.post("/predict", b"--other\r\n", headers=MULTIPART), 400)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("query", "status"),
    [({"k": 0}, 422), ({"k": "many"}, 422), ({"coverage": 2}, 422), ({"only": "nothing"}, 422)],
)
def test_bad_settings_are_refused(images, letter, query, status):
    refusal(images.post("/predict", letter[0], params=query), status)


def test_a_model_without_probabilities_has_no_sets(rows):
    answer = rows.post("/predict", as_npy(draw_rows()), params={"coverage": 0.9})
    assert "probabilities" in refusal(answer, 422)


def test_too_many_images_and_rows(images, rows, letter):
    files = [("image", (f"{i}.png", letter[0], "image/png")) for i in range(5)]
    assert "4 images" in refusal(images.post("/predict", files=files), 413)
    assert "rows at most" in refusal(rows.post("/predict", as_npy(np.ones((2000, 8)))), 413)


def test_classes_are_searched(rows):
    found = rows.get("/classes", params={"q": "CLASS 00", "limit": 3}).json()
    assert found["total"] == 6
    assert [one["label"] for one in found["classes"]] == ["class 000", "class 001", "class 002"]
    assert rows.get("/classes", params={"q": "no such"}).json()["classes"] == []
    refusal(rows.get("/classes", params={"limit": 0}), 422)


def test_pictures_of_classes(images, rows, image_model):
    names = load_model(image_model).class_names
    answer = images.get("/picture", params={"label": names[0]})
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.content.startswith(b"\xff\xd8\xff")
    assert images.get("/picture", params={"label": names[-1]}).status_code == 204
    assert rows.get("/picture", params={"label": "class 000"}).status_code == 204
    refusal(images.get("/picture", params={"label": "nothing"}), 422)


def test_a_class_is_explained(images, image_model, letter):
    names = load_model(image_model).class_names
    predicted = images.post("/predict", letter[0], params={"k": 10}).json()["predictions"][0]
    scores = {entry["label"]: entry["score"] for entry in predicted["labels"]}
    query = {"label": names[0], "against": names[1]}
    found = images.post("/explain", letter[0], params=query).json()
    assert found["score"] == pytest.approx(scores[names[0]] - scores[names[1]], abs=0.01)
    assert found["heatmap"].startswith("data:image/png;base64,")
    refusal(images.post("/explain", letter[0], params={"label": "nothing"}), 422)
    refusal(images.post("/explain", letter[0]), 422)
    refusal(images.post("/explain", b"no image", params={"label": names[0]}), 422)
    same = {"label": names[0], "against": names[0]}
    assert "itself" in refusal(images.post("/explain", letter[0], params=same), 422)


def test_feedback_is_kept_for_training(images, letter):
    content, label = letter
    assert images.post("/feedback", content, params={"label": label}).json() == {"kept": 1}
    assert images.post("/feedback", content, params={"label": label}).json() == {"kept": 1}
    folder = images.service.options.feedback
    listed = list_manifest(Path(folder) / "manifest.csv")
    assert listed.class_names == [label]
    assert (listed.root / listed.paths[0]).read_bytes() == content
    for body, query, status in [
        (b"not an image", {"label": label}, 422),
        (content, {"label": "nothing"}, 422),
        (content, {}, 422),
        (b"", {"label": label}, 400),
    ]:
        refusal(images.post("/feedback", body, params=query), status)
    with open(f"{folder}/manifest.csv", newline="") as stream:
        assert len(list(csv.reader(stream))) == 2


def test_feedback_is_off_by_default(rows):
    assert "--feedback" in refusal(rows.post("/feedback", b"x", params={"label": "a"}), 403)


def test_metrics_count_without_names(images, letter):
    images.post("/predict", letter[0])
    text = images.get("/metrics").text
    assert 'myriad_requests_total{endpoint="/predict",status="200"}' in text
    assert 'myriad_request_seconds_bucket{endpoint="/predict",le="+Inf"}' in text
    assert "myriad_queue_length 0" in text
    assert images.service.model.checksum in text
    for name in [*images.service.model.class_names, str(images.model), "image.png"]:
        assert f'"{name}"' not in text


def test_health_and_description(images):
    assert images.get("/healthz").json() == {"status": "ok"}
    model = images.get("/model").json()
    assert model["classes"] == 10
    assert model["images"]
    assert model["feedback"]
    schema = images.get("/openapi.json").json()
    assert {"/predict", "/explain", "/v2/models/{name}/infer"} <= schema["paths"].keys()
    page = images.get("/docs")
    assert "/predict" in page.text
    assert "http" not in page.text.replace("http://localhost", "")
    refusal(images.get("/nothing"), 404)
    refusal(images.get("/assets/../options.py"), 404)
    refusal(images.get("/predict"), 405)


def test_names_that_are_no_text_are_escaped(rows_model, tmp_path):
    """Names of classes may come from files with any bytes; JSON cannot hold them."""
    folder = tmp_path / "odd\udcff.model"
    shutil.copytree(rows_model, folder)
    config = json.loads((folder / "config.json").read_bytes())
    config["class_names"][0] = "odd\udcff"
    (folder / "config.json").write_text(json.dumps(config))
    with Client(folder) as client:
        assert client.get("/model").json()["name"] == "odd\\udcff.model"
        assert client.get("/classes?q=odd").json()["classes"][0]["label"] == "odd\\udcff"
        X = np.ones((1, load_model(folder).model.dim), np.float32)
        answer = client.post("/predict", as_npy(X), params={"k": 1000})
        assert "odd\\udcff" in [one["label"] for one in answer.json()["predictions"][0]["labels"]]
