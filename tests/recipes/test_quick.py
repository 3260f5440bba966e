"""Recipes run on built-in data, resume, and say what is missing."""

import json

import pytest

from tests.scripts import run_script

QUICK = {
    "silhouettes": ["--methods", "TopPush;Recall@1;top-3 alpha"],
    "good_practice": ["--features", "fv-2"],
    "choose_or_compress": [],
}


def run(monkeypatch, name, *words):
    run_script(monkeypatch, f"recipes/{name}.py", *words)


@pytest.mark.parametrize("name", QUICK)
def test_recipes_run_on_built_in_data_and_resume(monkeypatch, tmp_path, capsys, name):
    out = tmp_path / "results.json"
    run(monkeypatch, name, "--quick", "--out", out, *QUICK[name])
    first = capsys.readouterr().out
    found = json.loads(out.read_text("utf-8"))
    assert found["recipe"] == name
    assert len(found["cells"]) >= 3
    for cell in found["cells"].values():
        assert {"machine", "commit", "date", "seconds"} <= set(cell)
    before = out.stat().st_mtime_ns
    run(monkeypatch, name, "--quick", "--out", out, *QUICK[name])
    again = capsys.readouterr().out
    assert out.stat().st_mtime_ns == before
    assert again.splitlines()[-1] == first.splitlines()[-1]


@pytest.mark.parametrize("name", QUICK)
def test_recipes_say_what_is_missing(monkeypatch, tmp_path, name):
    with pytest.raises(SystemExit, match="--data is missing: this recipe needs"):
        run(monkeypatch, name)
    with pytest.raises(SystemExit, match="does not exist"):
        run(monkeypatch, name, "--data", tmp_path / "nothing")


def test_results_of_another_call_are_refused(monkeypatch, tmp_path):
    out = tmp_path / "results.json"
    out.write_text(json.dumps({"recipe": "other", "cells": {}}), "utf-8")
    with pytest.raises(SystemExit, match="results of another call"):
        run(monkeypatch, "silhouettes", "--quick", "--out", out)
