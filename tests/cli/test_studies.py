"""``tune`` and ``compare``: their JSON against their schemas, their tables, their files."""

import pytest

from myriad.training import OFFERS
from tests.cli.test_verbs import call, call_json
from tests.pipelines.studying import make_store


@pytest.fixture
def store(tmp_path):
    make_store(tmp_path / "rows")
    return tmp_path / "rows"


def test_compare(store, tmp_path, capsys):
    out = tmp_path / "out"
    words = [store, "--out", out, "--objectives", "ovr, means", "--epochs", 2]
    found = call_json(capsys, "compare", *words)
    assert {row["objective"] for row in found["rows"]} == {"ovr", "means"}
    assert found["best"] == found["rows"][0]
    assert found["rows"][0]["validation"]["top1"] >= found["rows"][1]["validation"]["top1"]
    assert sorted(path.name for path in out.iterdir()) == [
        "comparison.html",
        "comparison.json",
        "means",
        "ovr",
    ]
    shown = call(capsys, "compare", *words, "--resume").out
    assert "48 validation images" in shown
    assert "48 test images" in shown
    assert f"myriad evaluate {out / found['best']['objective']} DATA" in shown
    assert {"means", "ovr"} <= set(OFFERS)


def test_tune(store, tmp_path, capsys):
    few = ["--betas", "1,all", "--etas", "0.1", "--lams", "1e-3", "--epochs", 2]
    found = call_json(capsys, "tune", store, "--out", tmp_path / "out", *few)
    assert [row["study"] for row in found["rows"]] == [
        "auto",
        "grid",
        "grid",
        "none",
        "lam",
        "lam, step shrinking",
    ]
    assert found["best"] in found["rows"]
    shown = call(capsys, "tune", store, "--out", tmp_path / "out", *few, "--resume").out
    assert "best" in shown
    assert "  " + " ".join(found["command"]) in shown
    trained = [word if word != "MODEL" else tmp_path / "m" for word in found["command"][1:]]
    call_json(capsys, *trained)
