"""``tune``: its trials, its table and the command it suggests."""

import inspect

import pytest
from typer.main import get_command

from myriad.cli.main import app
from myriad.cli.shared_options import read_extraction
from tests.cli.calling import call, call_json
from tests.pipelines.studying import make_store


@pytest.fixture
def store(tmp_path):
    make_store(tmp_path / "rows")
    return tmp_path / "rows"


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


@pytest.mark.parametrize("verb", ["tune", "compare"])
def test_studies_take_all_options_of_extraction(verb):
    options = {parameter.name for parameter in get_command(app).commands[verb].params}
    assert set(inspect.signature(read_extraction).parameters) <= options
