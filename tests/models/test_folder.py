"""Model folders: round trip, damage, interrupted writing."""

import json

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.files import write_arrays
from myriad.models import (
    HeldScores,
    LinearModel,
    ModelFolder,
    load_held_scores,
    load_model,
    save_model,
)

NAMES = [f"class {i} <&\"'\n\u00e9" for i in range(9)]


def make_model(n_classes=9, dim=5, seed=0):
    rng = np.random.default_rng(seed)
    weights, biases = rng.standard_normal((n_classes, dim)), rng.standard_normal(n_classes)
    return LinearModel(weights.astype(np.float32), biases.astype(np.float32))


def save(folder, model=None):
    contents = ModelFolder(model or make_model(), NAMES, None, {"eta": 0.1})
    save_model(folder, contents, card="# A model\n")


def test_round_trip(tmp_path):
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
def test_missing_file_is_named(tmp_path, name):
    save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=name):
        load_model(tmp_path)


def test_flipped_byte_is_found(tmp_path):
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
        {"class_names": ["one"] * 9},
        {"class_names": [*"12345678", "\ud800"]},
        {"model": {"kind": "unheard-of"}},
        {"model": {"kind": "pca"}},
        {"model": None},
        {"model": []},
        {"recipe": {"kind": "linear"}},
        {"recipe": 3},
    ],
)
def test_damaged_config_is_refused(tmp_path, change):
    save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError):
        load_model(tmp_path)


def test_failed_save_leaves_the_old_model(tmp_path, monkeypatch):
    save(tmp_path)
    monkeypatch.setattr("myriad.models.folder.checksum", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(tmp_path, make_model(seed=3))
    monkeypatch.undo()
    np.testing.assert_array_equal(load_model(tmp_path).model.weights, make_model().weights)
    assert not list(tmp_path.glob(".*part"))


def make_held_arrays(n_rows=6, n_classes=9):
    scores = np.random.default_rng(0).standard_normal((n_rows, n_classes)).astype(np.float32)
    return HeldScores.of(scores, np.arange(n_rows, dtype=np.int32)).to_arrays()


def test_held_scores_come_back(tmp_path):
    assert load_held_scores(tmp_path, 9) is None
    arrays = make_held_arrays()
    write_arrays(tmp_path / "held_scores.safetensors", arrays)
    held = load_held_scores(tmp_path, 9)
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(held, name), array)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": np.full(6, 9, np.int32)},
        {"labels": np.full(6, -1, np.int32)},
        {"labels": np.zeros(6, np.float32)},
        {"labels": np.zeros(5, np.int32)},
        {"classes": np.full((6, 9), 2**31 - 1, np.int32)},
        {"classes": np.zeros(6, np.int32), "scores": np.zeros(6, np.float32)},
        {"scores": np.zeros((6, 9), np.uint8)},
        {"scores": np.arange(54, dtype=np.float32).reshape(6, 9)},
        {"rest_scores": np.zeros(6, np.float32), "rest_counts": np.zeros(6, np.float32)},
        {"rest_scores": np.zeros((6, 1), np.float32), "rest_counts": -np.ones((6, 1), np.float32)},
        {"more": np.zeros(6, np.float32)},
    ],
    ids=lambda change: ", ".join(change),
)
def test_damaged_held_scores_are_refused(tmp_path, change):
    write_arrays(tmp_path / "held_scores.safetensors", make_held_arrays() | change)
    with pytest.raises(InputError, match=r"held-out scores .* Remove .*held_scores\.safetensors"):
        load_held_scores(tmp_path, 9)
