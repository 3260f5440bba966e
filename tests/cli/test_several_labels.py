"""``train``, ``predict`` and ``evaluate`` on images with several labels."""

import csv
import json

import pytest

from myriad.pipelines.predicting import label_precision
from tests.cli.calling import SMALL, call_json
from tests.commands import run_command

QUICK = ["--objective", "ovr", "--eta", "0.5", "--beta", "4", "--epochs", "4"]


@pytest.fixture(scope="module")
def several(photos, tmp_path_factory):
    """A folder with two manifests of the same images: labels in one cell, and one per line."""
    folder = tmp_path_factory.mktemp("several")
    lines = [["path", "label", "split"]], [["path", "label", "split"]]
    names = sorted({path.parent.name for path in photos.rglob("*.png")})
    for path in sorted(photos.rglob("*.png")):
        name, split = path.parent.name, "test" if "test" in path.parts else "train"
        if split == "train" and int(path.stem) <= 5:
            split = "val"  # 60 images, enough to calibrate
        labels = [name, "first half" if names.index(name) < 6 else "second half"]
        lines[0].append([str(path), " | ".join(labels), split])
        lines[1].extend([str(path), label, split] for label in labels)
    for name, rows in zip(("cell.csv", "line.csv"), lines, strict=True):
        with (folder / name).open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
    words = ["train", folder / "cell.csv", "--label-separator", "|", "--out", folder / "model"]
    words += [*SMALL, *QUICK, "--quiet", "--overwrite"]
    assert run_command([str(word) for word in words]) == 0
    return folder


def test_labels_are_given_and_measured(several, photos, capsys, tmp_path):
    found = call_json(
        capsys,
        "evaluate",
        several / "model",
        several / "line.csv",
        "--multi-label",
    )
    labels = found["labels"]
    assert labels["present"] == 2.0
    assert labels["macro"]["recall"] > 0
    assert 0 < labels["micro"]["f1"] <= 100
    assert labels["expected"] == pytest.approx(2.0, abs=0.8)
    same = call_json(
        capsys, "evaluate", several / "model", several / "cell.csv", "--label-separator", "|"
    )
    assert same["labels"]["micro"] == labels["micro"]
    assert same["map"] == found["map"]
    image = next(iter(sorted(photos.rglob("*.png"))))
    words = ["predict", several / "model", image, "-k", 3, "--csv", tmp_path / "out.csv"]
    (one,) = call_json(capsys, *words)["predictions"]
    names = {one["label"] for one in labels["each"]}
    assert set(one["assigned"]) <= names
    with (tmp_path / "out.csv").open() as stream:
        row = next(csv.DictReader(stream))
    assert row["assigned"] == "|".join(one["assigned"])


@pytest.mark.parametrize("kept", [label_precision.PRECISION_BYTES, 0])
def test_average_precisions_of_images_are_those_of_their_rows(several, capsys, monkeypatch, kept):
    """Images are scored while they are described, with the scores in a file if they are many."""
    monkeypatch.setattr(label_precision, "PRECISION_BYTES", kept)
    words = ["--split", "val"]
    images = call_json(
        capsys, "evaluate", several / "model", several / "line.csv", "--multi-label", *words
    )
    rows = call_json(capsys, "evaluate", several / "model", several / "model.store", *words)
    assert images["map"] == pytest.approx(rows["map"])
    assert images["map11"] == pytest.approx(rows["map11"])
    each = {one["label"]: one for one in images["labels"]["each"]}
    assert each["first half"]["present"] + each["second half"]["present"] == images["n"]
    known = [one["average_precision"] for one in each.values() if one["present"]]
    assert images["map"] == pytest.approx(sum(known) / len(known))
    f1 = [one["f1"] for one in each.values() if one["present"]]
    assert images["labels"]["macro"]["f1"] == pytest.approx(sum(f1) / len(f1))


def test_images_of_one_label_each(several, photos, capsys):
    """A model of several labels is measured on them too."""
    found = call_json(capsys, "evaluate", several / "model", photos, "--split", "test")
    assert found["map"] is None
    assert found["labels"]["present"] == 1.0
    assert all(one["average_precision"] is None for one in found["labels"]["each"])


def test_the_report_of_several_labels(several):
    evidence = json.loads((several / "model" / "evidence.json").read_text())
    classes = {record["name"]: record for record in evidence["classes"]}
    halves = [classes["first half"], classes["second half"]]
    letters = [record for record in classes.values() if record not in halves]
    counts = [[sum(one[key] for one in of) for key in ("n", "train")] for of in (letters, halves)]
    assert counts[0] == counts[1]
    assert counts[0][0] == evidence["measures"]["n"]
    precisions = [record["average_precision"] for record in classes.values()]
    assert evidence["measures"]["map"] == pytest.approx(sum(precisions) / len(precisions))
    assert evidence["labels"]["macro"]["f1"] == pytest.approx(
        sum(record["f1"] for record in classes.values()) / len(classes)
    )
    page = (several / "model" / "report.html").read_text()
    assert "mean average precision" in page
    assert 'data-key="recall"' in page
    assert "mean average precision" in (several / "model" / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "line.csv", "--out", "x"], "--multi-label"),
        (["train", "cell.csv", "--label-separator", "", "--out", "x"], "--label-separator"),
        (["predict", "model", "line.csv", "--coverage", "0.9"], "single-label models"),
        (["predict", "model", "line.csv", "--assign", "precision=2"], "above 0 and below 1"),
        (["evaluate", "model", "model.store", "--multi-label"], "CSV manifests"),
    ],
)
def test_wrong_calls_are_one_sentence(several, capsys, words, message, monkeypatch):
    monkeypatch.chdir(several)
    assert run_command(words) == 2
    assert message in capsys.readouterr().err
