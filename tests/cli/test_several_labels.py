"""``train``, ``predict`` and ``evaluate`` on images with several labels."""

import csv

import pytest

from myriad.cli.execution import execute
from myriad.cli.main import app
from tests.cli.calling import SMALL, call_json

VOWELS = "aeiou"
QUICK = ["--objective", "ovr", "--eta", "0.5", "--beta", "4", "--epochs", "4"]


@pytest.fixture(scope="module")
def several(photos, tmp_path_factory):
    """A folder with two manifests of the same images: labels in one cell, and one a line."""
    folder = tmp_path_factory.mktemp("several")
    lines = [["path", "label", "split"]], [["path", "label", "split"]]
    for path in sorted(photos.rglob("*.png")):
        name, split = path.parent.name, "test" if "test" in path.parts else "train"
        if split == "train" and int(path.stem) <= 5:
            split = "val"  # 60 images, enough to calibrate
        labels = [name, "vowel" if name in VOWELS else "consonant"]
        lines[0].append([str(path), " | ".join(labels), split])
        lines[1].extend([str(path), label, split] for label in labels)
    for name, rows in zip(("cell.csv", "line.csv"), lines, strict=True):
        with (folder / name).open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
    words = ["train", folder / "cell.csv", "--label-separator", "|", "--out", folder / "model"]
    words += [*SMALL, *QUICK, "--quiet", "--overwrite"]
    assert execute(app, [str(word) for word in words]) == 0
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
    image = next(iter(sorted(photos.rglob("*.png"))))
    words = ["predict", several / "model", image, "-k", 3, "--csv", tmp_path / "out.csv"]
    (one,) = call_json(capsys, *words)["predictions"]
    assert set(one["assigned"]) <= {entry["label"] for entry in one["labels"]} | {*"abcdefghijkl"}
    with (tmp_path / "out.csv").open() as stream:
        row = next(csv.DictReader(stream))
    assert row["assigned"] == "|".join(one["assigned"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "line.csv", "--out", "x"], "--multi-label"),
        (["train", "cell.csv", "--label-separator", "", "--out", "x"], "--label-separator"),
        (["predict", "model", "line.csv", "--coverage", "0.9"], "one label a row"),
        (["predict", "model", "line.csv", "--assign", "precision=2"], "above 0 and below 1"),
        (["evaluate", "model", "model.store", "--multi-label"], "CSV manifests"),
    ],
)
def test_wrong_calls_are_one_sentence(several, capsys, words, message, monkeypatch):
    monkeypatch.chdir(several)
    assert execute(app, words) == 2
    assert message in capsys.readouterr().err
