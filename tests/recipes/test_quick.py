"""Recipes run on built-in data, resume, and say what is missing."""

import json

import pytest

from tests.scripts import run_script

QUICK = {
    "silhouettes": ["--methods", "TopPush;TopPush, to the gap;Recall@1;top-3 alpha"],
    "topk_networks": [],
    "good_practice": [],
    "choose_or_compress": [],
    "highly_multiclass": [],
    "last_violators": [],
    "confusable_classes": [],
    "large_scale_learning": ["--parts", "solvers,codes"],
    "extending": [],
    "next_labels": [],
    "data_faults": [],
}
"""Recipes with a file of results, and what a quick run of them is given."""
FOLDERS = ["automatic", "calibration"]
"""Recipes with a folder of results."""
OTHERS = ["photographs", "fisher_settings", "scene15_splits"]
"""Recipes that are run by the tests of benchmarks, or in other processes."""
MISSING = {"scene15_splits": ["--out", "models"], "automatic": ["--out", "runs"]}
MISSING["calibration"] = MISSING["automatic"]

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]  # as in a program


def run(monkeypatch, name, *words):
    run_script(monkeypatch, f"recipes/{name}.py", *words)


@pytest.mark.parametrize("name", QUICK)
def test_recipes_run_on_built_in_data_and_resume(monkeypatch, tmp_path, capsys, name):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "results.json"
    run(monkeypatch, name, "--quick", "--out", out, *QUICK[name])
    first = capsys.readouterr().out
    found = json.loads(out.read_text("utf-8"))
    assert found["recipe"] == name
    assert found["cells"]
    for cell in found["cells"].values():
        assert {"machine", "commit", "date"} <= set(cell)
    before = out.stat().st_mtime_ns
    run(monkeypatch, name, "--quick", "--out", out, *QUICK[name])
    again = capsys.readouterr().out
    assert out.stat().st_mtime_ns == before
    assert again.splitlines()[-1] == first.splitlines()[-1]


@pytest.mark.parametrize("name", FOLDERS)
def test_recipes_with_a_folder_run_on_built_in_data_and_resume(monkeypatch, tmp_path, name):
    run(monkeypatch, name, "--quick", "--out", tmp_path)
    found = {path: path.stat().st_mtime_ns for path in tmp_path.glob("digits*.json")}
    assert found
    run(monkeypatch, name, "--quick", "--out", tmp_path)
    assert found == {path: path.stat().st_mtime_ns for path in tmp_path.glob("digits*.json")}


@pytest.mark.parametrize("name", [*QUICK, *FOLDERS, *OTHERS])
def test_recipes_say_what_is_missing(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    words = MISSING.get(name, [])
    with pytest.raises(SystemExit, match="--data is missing: this recipe needs"):
        run(monkeypatch, name, *words)
    with pytest.raises(SystemExit, match="does not exist"):
        run(monkeypatch, name, "--data", tmp_path / "nothing", *words)


def test_images_without_a_folder_for_their_rows_are_refused(monkeypatch, tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(SystemExit, match="--work is missing"):
        run(monkeypatch, "topk_networks", "--data", tmp_path / "images")


def test_results_of_another_call_are_refused(monkeypatch, tmp_path):
    out = tmp_path / "results.json"
    out.write_text(json.dumps({"recipe": "other", "cells": {}}), "utf-8")
    with pytest.raises(SystemExit, match="results of another call"):
        run(monkeypatch, "silhouettes", "--quick", "--out", out)
