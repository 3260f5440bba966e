"""``predict``: ranked labels, and the same in Python."""

import csv

import numpy as np
import pytest

import myriad
from tests.cli.calling import call_json


def test_predict_ranks_labels(photos, model, tmp_path, capsys):
    one = next(path for path in sorted((photos / "test").rglob("*.png")))
    found = call_json(capsys, "predict", model, one, "-k", 3)
    (prediction,) = found["predictions"]
    assert prediction["path"] == str(one)
    scores = [entry["score"] for entry in prediction["labels"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    folder = call_json(capsys, "predict", model, photos / "test", "--csv", tmp_path / "l.csv")
    assert len(folder["predictions"]) == 36
    with (tmp_path / "l.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 36 * 5
    assert lines[0]["rank"] == "1"
    assert lines[0]["label"] == folder["predictions"][0]["labels"][0]["label"]
    right = [p["labels"][0]["label"] in p["path"] for p in folder["predictions"]]
    assert np.mean(right) > 0.6


def test_predict_lists_bad_images_apart(photos, model, tmp_path, capsys):
    good = next(path for path in sorted((photos / "test").rglob("*.png")))
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    found = call_json(capsys, "predict", model, good, tmp_path / "bad.jpg")
    assert len(found["predictions"]) == 1
    assert found["bad"][0]["path"].endswith("bad.jpg")
    assert found["bad"][0]["reason"]


def test_a_loaded_model_predicts_in_python(photos, model):
    classifier = myriad.load(model)
    paths = sorted((photos / "test").rglob("*.png"))
    labels, scores = classifier.predict_topk(paths, 2)
    assert labels.shape == scores.shape == (36, 2)
    assert classifier.score(paths, [path.parent.name for path in paths]) > 0.6
    np.testing.assert_array_equal(classifier.predict(classifier.transform(paths)), labels[:, 0])
    with pytest.raises(myriad.InputError, match="features"):
        classifier.predict(np.zeros((1, 3)))
    with pytest.raises(myriad.InputError, match="list"):
        classifier.predict(str(paths[0]))
