"""``train``, ``predict``, ``evaluate`` and ``export`` with probabilities, on drawn rows."""

import csv
import json

import numpy as np
import pytest

import myriad
from tests.cli.calling import call_json
from tests.commands import run_command
from tests.models.folders import draw_rows

NAMES = ["ant", "bee", "cat", "dog", "elk"]
QUICK = ["--objective", "softmax", "--eta", "0.1", "--epochs", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with rows, a store of them and models with and without rows kept back."""
    root = tmp_path_factory.mktemp("decisions")
    for name, n_rows, seed in (("train", 900, 1), ("test", 300, 2)):
        X, y = draw_rows(n_rows, 5, 6, seed=seed)
        np.savez(root / f"{name}.npz", X=X, label=np.array(NAMES)[y])
    (root / "kinds.csv").write_text(
        "label,kind\nant,insect\nbee,insect\ncat,mammal\ndog,mammal\nelk,mammal\n"
    )
    (root / "prior.csv").write_text("label,weight\nant,0\nbee,2\n")
    assert run_command(["import", str(root / "train.npz"), "--out", str(root / "store")]) == 0
    for name, kind in (("auto", "auto"), ("split", "split"), ("none", "none")):
        words = ["train", root / "store", "--out", root / name, "--calibration", kind, *QUICK]
        assert run_command([str(word) for word in words]) == 0
    return root


def test_train_says_which_rows_calibrate(folder):
    config = json.loads((folder / "auto" / "config.json").read_text())
    assert config["calibration"]["source"] == "validation"
    config = json.loads((folder / "split" / "config.json").read_text())
    assert config["calibration"]["source"] == "split"
    evidence = json.loads((folder / "auto" / "evidence.json").read_text())
    assert evidence["calibration"]["sets"][0]["wanted"] == 80.0
    page = (folder / "auto" / "report.html").read_text(encoding="utf-8")
    assert 'id="probabilities"' in page
    assert "Reliability" in page
    assert 'id="probabilities"' not in (folder / "none" / "report.html").read_text(encoding="utf-8")


def test_predict_decides(folder, capsys, tmp_path):
    words = ["predict", folder / "auto", folder / "test.npz", "-k", 2, "--csv", tmp_path / "l.csv"]
    options = ["--coverage", 0.9, "--reject", "novelty=0.1", "--hierarchy", folder / "kinds.csv"]
    found = call_json(capsys, *words, *options)["predictions"]
    assert len(found) == 300
    for one in found:
        assert one["labels"][0]["probability"] >= one["labels"][1]["probability"]
        assert one["set"][0] == one["labels"][0]["label"]
        assert one["answer"]["level"] in ("label", "kind", None)
        assert 0 <= one["novelty"] <= 1
    assert 0 < np.mean([one["unknown"] for one in found]) < 0.3
    with (tmp_path / "l.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert lines[0]["set"] == "|".join(found[0]["set"])
    assert float(lines[0]["probability"]) == found[0]["labels"][0]["probability"]


def test_predict_among_fewer_labels(folder, capsys):
    words = ["predict", folder / "auto", folder / "test.npz", "--prior", folder / "prior.csv"]
    for one in call_json(capsys, *words, "--only", "ant,bee,cat")["predictions"]:
        assert {entry["label"] for entry in one["labels"]} == {"bee", "cat"}
        assert abs(sum(entry["probability"] for entry in one["labels"]) - 1) < 1e-5


def test_evaluate_measures_what_is_decided(folder, capsys):
    words = ["evaluate", folder / "split", folder / "test.npz", "--coverage", 0.9]
    options = ["--reject", "precision=0.8", "--hierarchy", folder / "kinds.csv"]
    found = call_json(capsys, *words, *options)
    assert found["calibration"]["ece"] < 0.12
    assert found["sets"]["coverage"] > 85
    assert found["sets"]["mean_size"] >= 1
    assert found["rejection"]["precision"] > found["top1"]
    assert [level["level"] for level in found["levels"]] == ["label", "kind"]
    assert found["levels"][1]["accuracy"] > found["levels"][0]["accuracy"]
    assert found["levels"][0]["accuracy"] == found["top1"]
    plain = call_json(capsys, "evaluate", folder / "none", folder / "test.npz")
    assert plain["calibration"] is None
    assert plain["sets"] is None


def test_evaluate_among_fewer_labels(folder, capsys):
    whole = call_json(capsys, "evaluate", folder / "auto", folder / "test.npz")
    fewer = call_json(
        capsys, "evaluate", folder / "auto", folder / "test.npz", "--only", "ant,bee,cat,dog,elk"
    )
    assert fewer["top1"] == whole["top1"]


def test_a_model_without_probabilities(folder, capsys):
    words = ["predict", folder / "none", folder / "test.npz"]
    assert "probability" not in call_json(capsys, *words)["predictions"][0]["labels"][0]
    assert run_command([str(word) for word in [*words, "--coverage", 0.9]]) == 2
    assert "train it again" in capsys.readouterr().err


def test_a_loaded_model_decides_in_python(folder):
    model = myriad.load(folder / "auto")
    X = np.load(folder / "test.npz")["X"]
    assert model.predict_proba(X).shape == (300, 5)
    assert len(model.predict_set(X, 0.9)) == 300
    found = model.decide(X[:3], 2, only=["bee", "cat"], prior={"bee": 0.5}, reject="rate=0.1")
    assert {entry["label"] for entry in found[0]["labels"]} == {"bee", "cat"}
    kinds = {name: ("small" if name in ("ant", "bee") else "large",) for name in NAMES}
    found = model.decide(X[:3], hierarchy=kinds, levels=["size"])
    assert found[0]["answer"]["level"] in ("label", "size", None)
    with pytest.raises(myriad.InputError, match="Did you mean 'bee'"):
        model.decide(X[:3], only=["be"])
