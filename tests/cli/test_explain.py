"""``myriad explain``: a picture and the parts of a score; training keeps pictures of classes."""

import cv2
import pytest

from myriad.models import load_model, load_pictures
from tests.cli.calling import call, call_json


@pytest.fixture
def image(photos):
    return sorted((photos / "test").rglob("*.png"))[0]


def test_a_picture_is_drawn(model, image, tmp_path, capsys):
    out = tmp_path / "why.png"
    predicted = call_json(capsys, "predict", model, image, "-k", 2)["predictions"][0]["labels"]
    found = call_json(capsys, "explain", model, image, "--out", out)
    assert found["label"] == predicted[0]["label"]
    assert found["score"] == pytest.approx(predicted[0]["score"], abs=0.01)
    assert cv2.imread(str(out)).shape == cv2.imread(str(image)).shape
    against = call_json(
        capsys, "explain", model, image, "--out", out, "--overwrite", "--against", found["label"]
    )
    assert against["label"] == predicted[1]["label"]
    assert against["score"] == pytest.approx(predicted[1]["score"] - found["score"], abs=0.02)
    assert "Picture" in call(capsys, "explain", model, image, "--out", out, "--overwrite").out


def test_wrong_calls_write_nothing(model, image, tmp_path, capsys):
    out = tmp_path / "why.png"
    (tmp_path / "broken.jpg").write_bytes(b"nothing")
    for words, sentence in [
        ((model, image, "--out", tmp_path / "why.txt"), "must end with"),
        ((model, tmp_path / "broken.jpg", "--out", out), "cannot be used"),
        ((model, tmp_path / "missing.jpg", "--out", out), "missing file"),
        ((model, image, "--out", out, "--label", "zebra"), "no class 'zebra'"),
        ((tmp_path, image, "--out", out), "not a model folder"),
    ]:
        assert sentence in call_json(capsys, "explain", *words, status=2)["error"]
    assert not out.exists()
    out.touch()
    assert (
        "--overwrite" in call_json(capsys, "explain", model, image, "--out", out, status=2)["error"]
    )


def test_training_keeps_a_picture_of_each_class(model):
    names = load_model(model).class_names
    pictures = load_pictures(model, names)
    assert pictures is not None
    assert all(pictures.read(c).startswith(b"\xff\xd8\xff") for c in range(len(names)))
