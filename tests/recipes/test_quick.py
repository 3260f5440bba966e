"""Recipes run on built-in data, resume, and say what is missing."""

import json

import numpy as np
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


IMAGES = {
    "silhouettes": ["--methods", "OVA"],
    "good_practice": ["--short", "--epochs", "2", "--features", "fv-2"],
    "choose_or_compress": ["--gaussians", "2"],
    "highly_multiclass": ["--parts", "means,dims", "--dims", "8", "--seeds", "1"],
    "last_violators": [],
    "confusable_classes": ["--parts", "stages", "--seeds", "1"],
    "large_scale_learning": ["--parts", "codes"],
    "topk_networks": ["--work", "work"],
}
"""Recipes of the papers that take any images, and what keeps a run of them short."""


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """A folder with train/CLASS and test/CLASS; the last class has no test images."""
    from myriad.images import choose_glyphs, write_glyphs

    folder = tmp_path_factory.mktemp("data") / "birds"
    write_glyphs(folder, choose_glyphs(10), images=15, seed=0, splits=(0.8, 0, 0.2))
    for path in sorted((folder / "test").iterdir())[-1].iterdir():
        path.unlink()
    return folder


@pytest.mark.parametrize("name", IMAGES)
def test_recipes_of_the_papers_run_on_any_images(monkeypatch, tmp_path, photographs, name):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "results.json"
    run(monkeypatch, name, "--data", photographs, "--out", out, *IMAGES[name])
    found = json.loads(out.read_text("utf-8"))
    assert found["cells"]
    assert "NaN" not in out.read_text("utf-8")


def test_images_without_splits_are_split(monkeypatch, photographs):
    from tests.scripts import ROOT

    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    from image_folders import find_splits

    images = find_splits(photographs)
    assert len(images.class_names) == 9
    assert set(images.splits) == {"train", "test"}
    plain = find_splits(photographs / "train")
    counts = [
        ((plain.labels == c) & (plain.splits == "test")).sum()
        for c in range(len(plain.class_names))
    ]
    assert counts == [2] * 10


def test_too_few_classes_are_refused(monkeypatch, tmp_path, photographs):
    for path in sorted((photographs / "train").iterdir())[:2]:
        (tmp_path / "few" / path.name).mkdir(parents=True)
        for image in path.iterdir():
            (tmp_path / "few" / path.name / image.name).write_bytes(image.read_bytes())
    with pytest.raises(SystemExit, match="needs 3 classes"):
        run(monkeypatch, "choose_or_compress", "--data", tmp_path / "few")


def test_images_without_a_folder_for_their_rows_are_refused(monkeypatch, tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(SystemExit, match="--work is missing"):
        run(monkeypatch, "topk_networks", "--data", tmp_path / "images")


def test_a_store_without_test_rows_is_refused(monkeypatch, tmp_path, capsys):
    from tests.cli.calling import call

    np.savez(tmp_path / "rows.npz", X=np.eye(8, dtype=np.float32), y=np.arange(8) % 2)
    call(capsys, "import", tmp_path / "rows.npz", "--labels", "y", "--out", tmp_path / "rows.store")
    with pytest.raises(SystemExit, match="no rows to test on"):
        run(monkeypatch, "topk_networks", "--data", tmp_path / "rows.store")


def test_results_of_another_call_are_refused(monkeypatch, tmp_path):
    out = tmp_path / "results.json"
    for other in ({"recipe": "other"}, {"recipe": "silhouettes", "data": "birds"}):
        out.write_text(json.dumps(other | {"cells": {}}), "utf-8")
        with pytest.raises(SystemExit, match="results of another call"):
            run(monkeypatch, "silhouettes", "--quick", "--out", out)
