"""``predict``: ranked labels, and the same in Python."""

import csv
import json

import numpy as np
import pytest

import myriad
from tests.cli.calling import call, call_json


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


def test_files_and_folders_of_predictions(capsys, model, photos, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    # The last digits of a score depend on how many rows are scored together.
    monkeypatch.setattr("myriad.pipelines.predicting.predict.BATCH", 1)
    folder = next(path for path in sorted((photos / "test").iterdir()))
    words = [model, folder, "--csv", tmp_path / "p.csv", "--parquet", tmp_path / "p.parquet"]
    found = call_json(capsys, "predict", *words, "--sort-into", tmp_path / "sorted", "-k", "2")
    n = len(found["predictions"])
    assert sum(found["sorted"].values()) == n
    assert len([path for path in (tmp_path / "sorted").rglob("*") if path.is_file()]) == n
    table = pq.read_table(tmp_path / "p.parquet")
    assert table.num_rows == 2 * n
    whole = (tmp_path / "p.csv").read_bytes()

    # A run that was interrupted after its first image resumes from there.
    (tmp_path / "p.csv").unlink()
    (tmp_path / "p.parquet").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("myriad.pipelines.predicting.files.Journal.close", keep_one)
        patch.setattr("myriad.pipelines.predicting.outputs.write_csv", interrupt)
        call(capsys, "predict", *words, "-k", "2", status=130)
    journal = tmp_path / ".p.csv.journal"
    assert len(journal.read_text().splitlines()) == 2
    call(capsys, "predict", *words, "-k", "3", "--resume", status=2)
    again = call(capsys, "predict", *words, "-k", "2", status=2)
    assert "p.csv was being written when a run was interrupted. Use --resume" in again.err
    shown = call(capsys, "predict", *words, "-k", "2", "--resume", "--json")
    assert json.loads(shown.out)["predictions"] == found["predictions"]
    assert f"Predictions written to {tmp_path / 'p.csv'}." in shown.err
    assert (tmp_path / "p.csv").read_bytes() == whole
    assert not journal.exists()


def keep_one(journal, *, done):
    """Close a journal with one image in it, as if the run had been killed."""
    journal._stream.close()
    lines = journal.path.read_text().splitlines(keepends=True)
    journal.path.write_text("".join(lines[:2]))


def interrupt(*arguments):
    raise KeyboardInterrupt


def test_images_to_label_next(capsys, photos, tmp_path):
    model = tmp_path / "chosen"  # cross-validation has enough rows for probabilities
    call(capsys, "train", photos, "--out", model, "--components", 8, "--regions", 1, "--quiet")
    words = [model, photos / "test", "--next", "5", "--store", f"{model}.store"]
    csv, page = tmp_path / "next.csv", tmp_path / "next.html"
    found = call_json(capsys, "predict", *words, "--csv", csv, "--page", page)
    assert 1 <= len(found["next"]) <= 5
    assert csv.read_text().startswith("path,label,kind,suggested")
    assert "data:image/jpeg" in page.read_text()
    assert "to label next" in call(capsys, "predict", *words).out
    for more in (
        ["--resume"],
        ["--sort-into", tmp_path / "x"],
        ["--parquet", tmp_path / "x"],
        ["--coverage", "0.9"],
    ):
        refused = call_json(capsys, "predict", *words, *more, status=2)
        assert "cannot be combined with --next" in refused["error"]


def test_outputs_that_do_not_fit(capsys, model, photos, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").touch()
    for more, sentence in (
        (["--resume"], "name it with --csv or --parquet"),
        (["--copy"], "needs --sort-into"),
        (["--page", tmp_path / "p.html"], "need --next"),
        (["--sort-into", tmp_path / "mine"], "is not empty"),
    ):
        refused = call_json(capsys, "predict", model, photos / "test", *more, status=2)
        assert sentence in refused["error"]
