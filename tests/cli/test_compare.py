"""``compare``: objectives or codes, their tables and their files."""

from pathlib import Path

import pytest

from myriad.images import choose_glyphs, write_glyphs
from myriad.store import Store
from myriad.training import METHODS
from tests.cli.calling import call, call_json
from tests.pipelines.studying import make_store


@pytest.fixture
def store(tmp_path):
    make_store(tmp_path / "rows")
    return tmp_path / "rows"


def test_compare_measures_every_code(photos, tmp_path, capsys):
    options = ["--codes", "none", "--components", 4, "--regions", 1]
    call_json(capsys, "extract", photos, "--out", tmp_path / "rows.store", *options)
    words = ["compare", tmp_path / "rows.store", "--codes", "bits,scalar", "--ratios", "4,64"]
    words += ["--out", tmp_path / "rows.compare"]
    found = call_json(capsys, *words)
    lines = [(row["codes"], row["asked"]) for row in found["rows"]]
    assert lines == [("none", 1), ("bits", 4), ("bits", 64), ("scalar", 4)]
    page = (tmp_path / "rows.compare" / "codes.html").read_text(encoding="utf-8")
    assert found["report"] == str(tmp_path / "rows.compare" / "codes.html")
    assert "<svg" in page
    assert "scalar" in page
    refused = call_json(capsys, *words, status=2)
    assert "rows.compare exists" in refused["error"]
    shown = call(capsys, *words, "--resume")
    assert "Accuracy in %" in shown.out
    assert "plain" in shown.out
    words = ["compare", tmp_path / "rows.store", "--codes", "turned", "--ratios", "64"]
    words += ["--objectives", "means", "--out", tmp_path / "one.compare"]
    found = call_json(capsys, *words)
    assert [row["codes"] for row in found["rows"]] == ["none", "turned"]


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
    assert "48 validation rows" in shown
    assert "48 test rows" in shown
    assert f"myriad evaluate {out / found['best']['objective']} DATA" in shown
    assert {"means", "ovr"} <= set(METHODS)


def test_studies_pass_options_of_extraction_on(tmp_path, capsys):
    write_glyphs(tmp_path / "photos", choose_glyphs(10), images=5, seed=0, splits=(0.6, 0.2, 0.2))
    words = ["--signature", "bov", "--components", 8, "--regions", 1, "--map", "chi2", "--soft"]
    words += ["--codes", "none", "--objectives", "means", "--out", tmp_path / "out"]
    found = call_json(capsys, "compare", tmp_path / "photos", *words)
    recipe = Store.open(Path(found["store"])).recipe
    assert recipe.width > 0
    assert recipe.map.kernel == "chi2"
