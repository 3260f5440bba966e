"""``evaluate``: images and stores, unknown classes, tables."""

import inspect
import json
import shutil

from myriad.cli.evaluate import evaluate
from myriad.options import options_of
from myriad.pipelines.describing.options import ExtractOptions
from tests.cli.calling import call, call_json


def test_the_limit_of_bad_images_is_the_option_of_extraction(photos, model, capsys):
    known = options_of(ExtractOptions)["max_bad"]
    parameter = inspect.signature(evaluate).parameters["max_bad"]
    (stated,) = parameter.annotation.__metadata__
    assert (parameter.default, stated.help) == (known.default, known.help)
    refused = call_json(capsys, "evaluate", model, photos, "--max-bad", 7, status=2)
    assert f"at least {known.minimum} and at most {known.maximum}" in refused["error"]


def test_evaluate_images_and_stores(photos, model, tmp_path, capsys):
    found = call_json(capsys, "evaluate", model, photos)
    assert (found["n"], found["split"], found["classes"]) == (36, "test", 12)
    assert found["top1"] > 60
    assert found["top5"] >= found["top1"]
    every = call_json(capsys, "evaluate", model, photos, "--split", "all")
    assert every["n"] == 180
    rows = call_json(capsys, "evaluate", model, model.with_name("letters.store"))
    assert (rows["n"], rows["split"]) == (144, "all")
    assert rows["top1"] > 60


def test_evaluate_refuses_rows_of_another_vocabulary(photos, model, tmp_path, capsys):
    options = ["--components", 8, "--regions", 1, "--seed", 1]
    call_json(capsys, "extract", photos, "--out", tmp_path / "rows", *options)
    refused = call_json(capsys, "evaluate", model, tmp_path / "rows", status=2)
    assert "another signature or vocabulary" in refused["error"]


def test_evaluate_counts_unknown_classes_as_wrong(photos, model, tmp_path, capsys):
    known = sorted((photos / "test").iterdir())[0]
    shutil.copytree(known, tmp_path / "data" / known.name)
    shutil.copytree(known, tmp_path / "data" / "no such class")
    found = call_json(capsys, "evaluate", model, tmp_path / "data")
    assert found["unknown"] == 3
    assert found["top1"] <= 50
    assert found["accuracy_at"]["10"] <= 50


def test_tables_for_people_go_to_stdout_and_progress_to_stderr(photos, model, capsys):
    shown = call(capsys, "evaluate", model, photos)
    assert "mean over classes" in shown.out
    assert "Scoring images" in shown.err
    assert "Scoring" not in shown.out


def test_rows_that_the_model_was_trained_on_are_mentioned(photos, model, tmp_path, capsys):
    own = call(capsys, "evaluate", model, model.with_name("letters.store"))
    assert "including those that the model was trained on; see --split" in own.err
    shutil.copytree(model, tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["trained_from"] = {"store": "another"}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    other = call(capsys, "evaluate", tmp_path / "model", model.with_name("letters.store"))
    assert "All rows are evaluated, of any split; see --split" in other.err


def test_images_that_the_model_was_trained_on_are_mentioned(photos, model, capsys):
    every = call(capsys, "evaluate", model, photos, "--split", "all")
    assert "144 of 180 images were used in training or validation" in every.err
    held_out = call(capsys, "evaluate", model, photos)
    assert "were used in training" not in held_out.err
