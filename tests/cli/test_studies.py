"""``tune`` and ``compare``: their JSON against their schemas, their tables, their files."""

import inspect
from pathlib import Path

import pytest
from typer.main import get_command

from myriad.cli.extraction import read_extraction
from myriad.cli.main import app
from myriad.images import choose_glyphs, write_glyphs
from myriad.store import Store
from myriad.training import METHODS
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
    assert {"means", "ovr"} <= set(METHODS)


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


WARP = {"replacement": False, "exact_rank": True, "constant_weight": True, "max_draws": 3}


def test_the_options_of_warp_reach_the_training(store, tmp_path, capsys):
    words = ["--no-replacement", "--exact-rank", "--constant-weight", "--max-draws", 3]
    words += ["--objective", "warp", "--eta", 0.1, "--scale", "no", "--epochs", 1]
    found = call_json(capsys, "train", store, "--out", tmp_path / "warp", *words)
    assert {name: found["settings"].get(name) for name in WARP} == WARP
    plain = call_json(capsys, "train", store, "--out", tmp_path / "plain", *words[5:])
    assert not WARP.keys() & plain["settings"].keys()


def test_schedule_and_threshold_reach_the_training(store, tmp_path, capsys):
    words = ["--eta", 0.1, "--beta", 4, "--scale", "no", "--schedule", "decay", "--t0", 50]
    found = call_json(capsys, "train", store, "--out", tmp_path / "m", *words, "--theta", 100)
    assert found["settings"]["t0"] == 50
    assert found["epochs"] <= 9  # the first, and as many as are waited for a rise of 100 points


@pytest.mark.parametrize("verb", ["tune", "compare"])
def test_studies_take_all_options_of_extraction(verb):
    options = {parameter.name for parameter in get_command(app).commands[verb].params}
    assert set(inspect.signature(read_extraction).parameters) <= options


def test_studies_pass_options_of_extraction_on(tmp_path, capsys):
    write_glyphs(tmp_path / "photos", choose_glyphs(10), images=5, seed=0, splits=(0.6, 0.2, 0.2))
    words = ["--signature", "bov", "--components", 8, "--regions", 1, "--map", "chi2", "--soft"]
    words += ["--codes", "none", "--objectives", "means", "--out", tmp_path / "out"]
    found = call_json(capsys, "compare", tmp_path / "photos", *words)
    recipe = Store.open(Path(found["store"])).recipe
    assert recipe.width > 0
    assert recipe.map.kernel == "chi2"
