"""Models with fewer labels: weights stay, probabilities still fit, bad input is named."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models import HeldScores, calibrate_labels, load_model, save_model
from myriad.pipelines.updating.relabelling import forget, merge
from tests.models.folders import draw_rows, make_folder


@pytest.fixture
def model(tmp_path):
    folder = make_folder(class_names=["ant", "bee", "cow", "dog", "elk"])
    X, labels = draw_rows(400, 5, 6, seed=1)
    held = HeldScores.of(folder.model.scores(X), labels)
    save_model(tmp_path / "model", folder, card="", held_scores=held)
    return tmp_path / "model"


def test_forget(model, tmp_path):
    found = forget(model, ["dog", "ant"], tmp_path / "fewer")
    before, after = load_model(model), load_model(tmp_path / "fewer")
    assert after.class_names == ["bee", "cow", "elk"]
    assert np.array_equal(after.model.weights, before.model.weights[[1, 2, 4]])
    assert 150 < found.calibration.n_rows < 300
    assert after.settings["forgotten_classes"] == 2
    for path in (tmp_path / "fewer").glob("*"):
        assert b"dog" not in path.read_bytes()
    assert found.to_json()["classes"] == 3


def test_merge(model, tmp_path):
    found = merge(model, ["ant", "dog"], "animal", tmp_path / "merged")
    folder = load_model(tmp_path / "merged")
    assert folder.class_names == ["animal", "bee", "cow", "elk"]
    X, labels = draw_rows(2000, 5, 6, seed=2)
    scores = load_model(model).model.scores(X)
    expected = np.maximum(scores[:, 0], scores[:, 3])
    np.testing.assert_array_equal(folder.model.scores(X)[:, 0], expected)
    truths = np.array([0, 1, 2, 0, 3])[labels]
    right = folder.model.scores(X).argmax(axis=1) == truths
    assert right.mean() > (scores.argmax(axis=1) == labels).mean()
    assert found.calibration.n_rows == 400
    assert abs(found.calibration.confidence.mean() - right.mean()) < 0.05


def test_several_labels(tmp_path):
    folder = make_folder(5, calibrated=False)
    X, labels = draw_rows(200, 5, folder.model.dim, seed=1)
    sets = LabelSets.from_matrix(np.eye(5, dtype=bool)[labels])
    calibration = calibrate_labels(folder.model.scores(X), sets, "validation")
    save_model(tmp_path / "m", replace(folder, label_calibration=calibration), card="")
    found = forget(tmp_path / "m", ["class 1"], tmp_path / "fewer")
    assert found.calibration.n_rows == 200
    after = load_model(tmp_path / "fewer").label_calibration
    np.testing.assert_array_equal(after.offsets, calibration.offsets[[0, 2, 3, 4]])
    # Which rows have both labels is not known.
    assert merge(tmp_path / "m", ["class 1", "class 2"], "x", tmp_path / "n").calibration is None
    assert load_model(tmp_path / "n").label_calibration is None


def test_a_model_without_probabilities_has_none_afterwards(tmp_path):
    save_model(tmp_path / "plain", make_folder(5, calibrated=False), card="")
    assert forget(tmp_path / "plain", ["class 1"], tmp_path / "fewer").calibration is None
    merged = merge(tmp_path / "plain", ["class 1", "class 2"], "class 1", tmp_path / "merged")
    assert merged.class_names == ["class 0", "class 1", "class 3", "class 4"]


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["zebra"], "no label 'zebra'"),
        (["ant", "bee", "cow", "dog"], "at least two of them must be left"),
        (["ant", "ant"], "named twice"),
    ],
)
def test_forget_refuses(model, tmp_path, labels, match):
    with pytest.raises(InputError, match=match):
        forget(model, labels, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("labels", "into", "match"),
    [
        (["ant", "zebra"], "x", "no label 'zebra'"),
        (["ant", "ant"], "x", "two different labels"),
        (["ant", "bee"], "cow", "another class of the model"),
        (["ant", "bee"], " ", "must be the name"),
        (["ant", "bee", "cow", "dog", "elk"], "x", "a single class"),
    ],
)
def test_merge_refuses(model, tmp_path, labels, into, match):
    with pytest.raises(InputError, match=match):
        merge(model, labels, into, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_model_itself_stays(model):
    with pytest.raises(InputError, match="is an input"):
        forget(model, ["ant"], model)
