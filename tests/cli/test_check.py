"""``check``: counts, findings, exit status, and what it writes."""

import pytest

from myriad.images import find_images
from tests.checks.scenes import CoarseSignature, copy_of, photograph
from tests.cli.calling import call, call_json
from tests.pipelines.checking.test_check import write


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder of images, one of which is both in train and in test."""
    monkeypatch.setattr(
        "myriad.pipelines.checking.check.open_network", lambda word: CoarseSignature()
    )
    monkeypatch.chdir(tmp_path)
    for seed in range(12):
        split = "test" if seed >= 10 else "train"
        write(tmp_path / "data" / split / "ab"[seed % 2] / f"{seed}.png", photograph(seed))
    write(tmp_path / "data" / "test" / "a" / "leak.jpg", copy_of("resized", 2))
    return tmp_path / "data"


def test_what_is_found_is_said_in_lines_of_80_columns(data, tmp_path, capsys):
    shown = call(capsys, "check", "data", "--quiet").out
    assert "! 1 picture is in more than one split: 1 of 3 test images are also in train." in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    page = (tmp_path / "data.check" / "report.html").read_text(encoding="utf-8")
    assert "in test and train" in page
    assert page.count("data:image/jpeg;base64,") >= 2


def test_json(data, capsys):
    found = call_json(capsys, "check", "data", "--fix", "fixed.csv")
    assert found["serious"]
    assert found["splits"] == {"train": 10, "test": 3}
    assert [len(group["images"]) for group in found["duplicates"]] == [2]
    assert found["fixed"] == "fixed.csv"
    assert len(find_images(data.parent / "fixed.csv")) == 12


def test_strict_fails_on_serious_findings_only(data, capsys):
    call(capsys, "check", "data", "--quiet", status=0)
    call(capsys, "check", "data", "--quiet", "--strict", "--overwrite", status=1)
    (data / "test" / "a" / "leak.jpg").unlink()
    call(capsys, "check", "data", "--quiet", "--strict", "--overwrite", status=0)


def test_results_are_not_replaced_by_mistake(data, capsys):
    call(capsys, "check", "data", "--quiet")
    assert "--overwrite" in call(capsys, "check", "data", "--quiet", status=2).err


def test_a_model_is_trained_with_corrections(photos, tmp_path, capsys):
    """Corrections name an image that the model is then trained on with another label."""
    images = find_images(photos)
    at = images.splits.tolist().index("train")
    given = images.class_names[images.labels[at]]
    other = next(name for name in images.class_names if name != given)
    file = tmp_path / "corrections.csv"
    file.write_text(f"path,label,given\n{images.paths[at]},{other},{given}\n", encoding="utf-8")
    from myriad.store import Store
    from tests.cli.calling import SMALL

    out = tmp_path / "model"
    call(capsys, "train", photos, "--out", out, "--corrections", file, *SMALL, "--quiet")
    store = Store.open(tmp_path / "model.store")
    row = store.paths.index(images.locate(at))
    assert store.class_names[store.labels[row]] == other
    file.write_text(f"path,label\n{images.locate(at)},{given}\n", encoding="utf-8")
    again = tmp_path / "again"
    rows = tmp_path / "model.store"
    call(capsys, "train", rows, "--out", again, "--corrections", file, "--quiet")
    file.write_text("path,label\nnothing.jpg,a\n", encoding="utf-8")
    shown = call(
        capsys, "train", rows, "--out", tmp_path / "x", "--corrections", file, "-q", status=2
    )
    assert "no image 'nothing.jpg'" in shown.err
