"""Ranking in parts, and the model folder."""

import json

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import LinearModel, ModelFolder, load_model, save_model
from myriad.models import model as model_module
from myriad.models.embedding import EmbeddingModel


def make_model(n_classes=9, dim=5, seed=0):
    rng = np.random.default_rng(seed)
    weights, biases = rng.standard_normal((n_classes, dim)), rng.standard_normal(n_classes)
    return LinearModel(weights.astype(np.float32), biases.astype(np.float32))


@pytest.mark.parametrize("k", [1, 4, 9, 20])
def test_ranks_as_a_full_sort(k, monkeypatch):
    monkeypatch.setattr(model_module, "SCORE_BYTES", 4 * 9 * 3)  # three rows at a time
    model = make_model()
    X = np.random.default_rng(1).standard_normal((10, 5)).astype(np.float32)
    scores = model.scores(X)
    np.testing.assert_allclose(scores, X @ model.weights.T + model.biases, rtol=1e-6)
    labels, best = model.rank(X, k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : min(k, 9)]
    np.testing.assert_array_equal(labels, order)
    np.testing.assert_allclose(best, np.take_along_axis(scores, order, axis=1), rtol=1e-6)


@pytest.mark.parametrize("k", [0, -1, 1.5, "two"])
def test_ranking_needs_a_place(k):
    W = np.eye(3, dtype=np.float32)
    model = LinearModel(W, np.zeros(3, np.float32))
    for asked in (model, EmbeddingModel(W, W)):
        with pytest.raises(InputError, match="k must be a whole number of at least 1"):
            asked.rank(W, k)
    assert model.rank(W, np.int64(2))[0].shape == (3, 2)


def test_ties_go_to_the_lowest_class():
    model = LinearModel(np.zeros((6, 2), np.float32), np.zeros(6, np.float32))
    labels, _ = model.rank(np.ones((1, 2), np.float32), 3)
    np.testing.assert_array_equal(labels[0], [0, 1, 2])


def test_rank_of_truth_agrees_with_ranking():
    model = make_model()
    X = np.random.default_rng(2).standard_normal((30, 5)).astype(np.float32)
    labels, _ = model.rank(X, 9)
    for place in range(9):
        ranks, guesses = model.judge(X, labels[:, place])
        assert (ranks == place + 1).all()
        np.testing.assert_array_equal(guesses, labels[:, 0])


NAMES = [f"class {i} <&\"'\n\u00e9" for i in range(9)]


def save(folder, model=None):
    contents = ModelFolder(model or make_model(), NAMES, None, {"eta": 0.1})
    save_model(folder, contents, card="# A model\n")


def test_folder_round_trip(tmp_path):
    save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.model.weights, make_model().weights)
    assert loaded.class_names == NAMES
    assert loaded.settings == {"eta": 0.1}
    names = sorted(p.name for p in (tmp_path / "m").iterdir())
    assert names == ["README.md", "config.json", "model.safetensors"]


def test_swapped_arrays_are_refused(tmp_path):
    save(tmp_path / "a")
    save(tmp_path / "b", make_model(seed=3))
    (tmp_path / "b" / "model.safetensors").replace(tmp_path / "a" / "model.safetensors")
    with pytest.raises(InputError, match="another model"):
        load_model(tmp_path / "a")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path, name):
    save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=name):
        load_model(tmp_path)


def test_a_flipped_byte_is_found(tmp_path):
    save(tmp_path)
    content = bytearray((tmp_path / "model.safetensors").read_bytes())
    content[-3] ^= 1
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="checksum"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"class_names": ["one"]},
        {"class_names": None},
        {"class_names": [1] * 9},
        {"model": {"kind": "unheard-of"}},
        {"model": {"kind": "pca"}},
        {"model": None},
        {"model": []},
        {"recipe": {"kind": "linear"}},
        {"recipe": 3},
    ],
)
def test_a_damaged_config_is_refused(tmp_path, change):
    save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError):
        load_model(tmp_path)


def test_a_failed_save_leaves_the_old_model(tmp_path, monkeypatch):
    save(tmp_path)
    monkeypatch.setattr("myriad.models.folder.checksum", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(tmp_path, make_model(seed=3))
    monkeypatch.undo()
    np.testing.assert_array_equal(load_model(tmp_path).model.weights, make_model().weights)
    assert not list(tmp_path.glob(".*part"))


def test_shapes_must_fit():
    with pytest.raises(InputError, match="do not make"):
        LinearModel(np.zeros((3, 2), np.float32), np.zeros(2, np.float32))
    with pytest.raises(InputError, match="float32"):
        LinearModel(np.zeros((3, 2)), np.zeros(3))
