"""Images to label next: from files of rows, novel ones apart, as CSV and page."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import save_model
from myriad.pipelines.run import Run
from myriad.pipelines.updating.next_labels import COLUMNS, suggest_labels, write_suggestions
from myriad.report.label_page import render_label_page
from myriad.store import ArrayRows, Store
from myriad.training.novelty import learn_novelty
from tests.models.folders import draw_rows, make_folder


@pytest.fixture
def model(tmp_path):
    folder = make_folder(5, dim=12, scale=1.2)
    X, labels = draw_rows(400, 5, 12, seed=1)
    best_scores = folder.calibration.standardise(folder.model.scores(X).max(axis=1))
    novelty = learn_novelty(ArrayRows(X, labels), 5, labels, best_scores, seed=0)
    folder = replace(folder, calibration=replace(folder.calibration, novelty=novelty))
    save_model(tmp_path / "model", folder, card="")
    return tmp_path / "model"


@pytest.fixture
def rows(tmp_path):
    """Return a file of rows, the last ten of which are like no class."""
    X, _ = draw_rows(200, 5, 12, seed=2)
    X[-10:] = 9.0 * np.random.default_rng(3).normal(size=(10, 12))
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy"


def test_unsure_rows_and_novel_ones(model, rows, tmp_path):
    found = suggest_labels(model, [str(rows)], 20)
    assert found.considered == 200
    assert len(found.images) == 20
    numbers = {int(image["path"].rpartition(":")[2]) for image in found.images}
    assert max(numbers) < 190
    assert 1 <= len(found.novel) <= 4
    assert all(image["kind"] == "novel" and image["novelty"] > 0.98 for image in found.novel)
    write_suggestions(found, tmp_path / "next.csv")
    with (tmp_path / "next.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == len(found.images) + len(found.novel)
    assert tuple(lines[0]) == COLUMNS
    assert lines[0]["path"] == found.images[0]["path"].rpartition("/")[2]
    assert lines[0]["label"] == ""
    page = render_label_page(found, title="<model>", read_image=lambda path: None)
    assert "&lt;model&gt;" in page
    assert "Unlike all classes" in page


def test_novel_rows_take_the_place_of_others_that_are_missing(model, tmp_path):
    X, _ = draw_rows(3, 5, 12, seed=2)
    novel = 9.0 * np.random.default_rng(3).normal(size=(30, 12))
    np.save(tmp_path / "rows.npy", np.concatenate([X, novel]).astype(np.float32))
    found = suggest_labels(model, [str(tmp_path / "rows.npy")], 10)
    assert 0 < len(found.images) <= 3
    assert len(found.images) + len(found.novel) == 10


def test_labelled_rows_are_known(model, rows, tmp_path):
    X, labels = draw_rows(60, 5, 12, seed=5)
    writer = Store.create(tmp_path / "s", class_names=list("abcde"), dim=12, n_shards=1)
    writer.write_shard(0, X, labels, [""] * 60, ["train"] * 60)
    writer.finish()
    found = suggest_labels(model, [str(rows)], 5, labelled=[tmp_path / "s"])
    assert len(found.images) == 5
    other = Store.create(tmp_path / "other", class_names=["a"], dim=3, n_shards=1)
    other.write_shard(0, np.ones((2, 3), np.float32), [0, 0], ["", ""], ["train"] * 2)
    other.finish()
    with pytest.raises(InputError, match="have 3 features, the model takes 12"):
        suggest_labels(model, [str(rows)], 5, labelled=[tmp_path / "other"])


def test_the_same_again(model, rows):
    first, second = (suggest_labels(model, [str(rows)], 5, run=Run(seed=4)) for _ in range(2))
    assert first.images == second.images


def test_bad_input(model, rows, tmp_path):
    with pytest.raises(InputError, match="at least 1"):
        suggest_labels(model, [str(rows)], 0)
    with pytest.raises(InputError, match="is not a file of rows"):
        suggest_labels(model, [str(rows), str(tmp_path)], 5)
    save_model(tmp_path / "plain", make_folder(5, dim=12, calibrated=False), card="")
    with pytest.raises(InputError, match="--next needs probabilities"):
        suggest_labels(tmp_path / "plain", [str(rows)], 5)
