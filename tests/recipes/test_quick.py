"""Recipes run on built-in data, resume, and say what is missing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.scripts import ROOT, run_script

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
    with pytest.raises(SystemExit, match="this recipe needs 3"):
        run(monkeypatch, "choose_or_compress", "--data", tmp_path / "few")


@pytest.mark.parametrize("name", IMAGES)
def test_folders_without_enough_images_are_refused(monkeypatch, tmp_path, photographs, name):
    monkeypatch.chdir(tmp_path)
    for path in [p for p in (photographs / "train").iterdir() if any(p.iterdir())][:4]:
        for split in ("train", "test"):
            folder = tmp_path / "few" / split / path.name
            folder.mkdir(parents=True)
            image = next(iter(path.iterdir()))
            (folder / image.name).write_bytes(image.read_bytes())
    with pytest.raises(SystemExit, match=r"this recipe needs 3|fewer than three classes"):
        run(monkeypatch, name, "--data", tmp_path / "few", *IMAGES[name])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="holds no images"):
        run(monkeypatch, name, "--data", tmp_path / "empty", *IMAGES[name])


@pytest.mark.parametrize("name", ["silhouettes", "good_practice", "highly_multiclass"])
def test_images_that_cannot_be_read_are_left_out(monkeypatch, tmp_path, photographs, capsys, name):
    shutil.copytree(photographs, tmp_path / "birds")
    images = sorted((tmp_path / "birds" / "train").rglob("*.png"))
    images[0].write_bytes(b"")
    images[1].write_bytes(images[1].read_bytes()[:60])
    run(monkeypatch, name, "--data", tmp_path / "birds", *IMAGES[name])
    said = capsys.readouterr().out
    assert "Left out: 2 of " in said
    assert f"such as {images[0]} (empty file)" in said


def test_files_of_rows_that_cannot_be_used_are_refused(monkeypatch, tmp_path):
    from scipy.io import savemat

    (tmp_path / "text.npz").write_text("no arrays", "utf-8")
    np.savez(tmp_path / "other.npz", Z=np.zeros(3))
    np.savez(tmp_path / "short.npz", X=np.zeros((3, 2)), y=np.zeros(2, int))
    for name in ("text", "other", "short"):
        with pytest.raises(SystemExit, match="cannot be used"):
            run(monkeypatch, "highly_multiclass", "--data", tmp_path / f"{name}.npz")
    (tmp_path / "text.mat").write_text("no arrays", "utf-8")
    savemat(tmp_path / "other.mat", {"Z": np.zeros(3)})
    for name, message in (("text", "cannot be read"), ("other", "has no train_data")):
        with pytest.raises(SystemExit, match=message):
            run(monkeypatch, "silhouettes", "--data", tmp_path / f"{name}.mat")


def test_results_that_cannot_be_written_are_refused_before_any_work(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    (tmp_path / "broken.json").write_text("{", "utf-8")
    for out, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "file" / "results.json", "cannot be made"),
        (Path("/proc/results.json"), "cannot be written"),
        (tmp_path / "broken.json", "not a file of results"),
    ):
        with pytest.raises(SystemExit, match=message):
            run(monkeypatch, "last_violators", "--quick", "--out", out)


def test_interrupted_recipes_say_how_to_continue(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    from results import run_recipe

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        run_recipe(stop)
    assert ended.value.code == 130
    assert "the same command continues" in capsys.readouterr().err


def test_a_best_lam_at_an_end_extends_the_grid(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    from good_practice import MOST_EXTENSIONS, follow, list_strategies
    from good_practice_rows import Rows

    draws = np.random.default_rng(0)
    means, y = draws.standard_normal((4, 6)), np.repeat(np.arange(4), 20).astype(np.int32)
    X = (means[y] + draws.standard_normal((80, 6))).astype(np.float32)
    rows = Rows(X, y, X, y, 6, list("abcd"))
    for line, strategy in list_strategies((1e-3, 1e-2)).items():
        cell = follow(strategy, 4, rows, 0, None)
        tried = [float(lam) for lam in cell["tried"]]
        chosen = cell["settings"]["lam"]
        if line == "(iii) early stopping":
            assert tried == [0.0]
        else:
            inside = min(tried) < chosen < max(tried)
            assert inside or len(tried) == 2 + MOST_EXTENSIONS
        again = follow(strategy, 4, rows, 1, cell)
        assert again["settings"]["lam"] == chosen
        assert len(again["tried"]) == 1


def test_parts_that_others_need_are_named(monkeypatch, tmp_path):
    out = tmp_path / "results.json"
    with pytest.raises(SystemExit, match="add dims to --parts"):
        run(monkeypatch, "highly_multiclass", "--quick", "--parts", "orders", "--out", out)


def test_images_without_a_folder_for_their_rows_are_refused(monkeypatch, tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(SystemExit, match="--work is missing"):
        run(monkeypatch, "topk_networks", "--data", tmp_path / "images")


def test_a_store_without_test_rows_is_split(monkeypatch, tmp_path, capsys):
    from tests.cli.calling import call

    out = tmp_path / "results.json"
    for n_classes in (2, 4):
        rows, store = tmp_path / f"{n_classes}.npz", tmp_path / f"{n_classes}.store"
        np.savez(rows, X=np.eye(40, dtype=np.float32), y=np.arange(40) % n_classes)
        call(capsys, "import", rows, "--labels", "y", "--out", store)
        if n_classes == 2:
            with pytest.raises(SystemExit, match="this recipe needs 3"):
                run(monkeypatch, "topk_networks", "--data", store)
        else:
            run(monkeypatch, "topk_networks", "--data", store, "--out", out)
    found = json.loads(out.read_text("utf-8"))["cells"]
    assert {(cell["rows"], cell["tested"]) for cell in found.values()} == {(32, 8)}


def test_results_of_another_call_are_refused(monkeypatch, tmp_path):
    out = tmp_path / "results.json"
    for other in ({"recipe": "other"}, {"recipe": "silhouettes", "data": "birds"}):
        out.write_text(json.dumps(other | {"cells": {}}), "utf-8")
        with pytest.raises(SystemExit, match="results of another call"):
            run(monkeypatch, "silhouettes", "--quick", "--out", out)
