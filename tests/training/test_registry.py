"""The registry of methods: options that are stated once, and a method from outside the package."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from myriad.cli.execution import execute
from myriad.cli.main import make_app
from myriad.errors import InputError
from myriad.models import LinearModel
from myriad.options import option
from myriad.store import Store
from myriad.training import METHODS, Fitted, Method, make_method
from tests.pipelines.studying import make_store


@dataclass(frozen=True, kw_only=True)
class Shrunken(Method):
    """Class means that are moved towards zero: a method that the package does not know."""

    titles: ClassVar[Mapping[str, str]] = {"shrunken": "means moved to zero"}

    objective: str = "shrunken"
    keep: float = option(0.5, above=0, maximum=1, help="Fraction of a mean to keep.")

    @property
    def is_open(self) -> bool:
        return False

    def fit(self, train, val, *, n_classes, **context):
        X = train.read(np.arange(train.n_rows))
        means = np.array([X[train.labels == c].mean(axis=0) for c in range(n_classes)])
        means = (self.keep * means).astype(np.float32)
        model = LinearModel(means, -0.5 * (means**2).sum(axis=1))
        return Fitted(model, {"keep": self.keep}, 1)

    def settled(self, fitted):
        return replace(self, keep=fitted.settings["keep"])


@pytest.fixture
def shrunken(monkeypatch):
    monkeypatch.setitem(METHODS, "shrunken", Shrunken)


def call(capsys, *words: object) -> Any:
    capsys.readouterr()
    assert execute(make_app(), [*map(str, words), "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_method_from_outside_is_one_line_in_the_registry(shrunken, tmp_path, capsys):
    assert make_method(METHODS, "shrunken", seed=3, keep="0.25") == Shrunken(seed=3, keep=0.25)
    with pytest.raises(InputError, match="--keep must be a number above 0 and at most 1, not 2"):
        make_method(METHODS, "shrunken", keep=2)
    with pytest.raises(InputError, match=r"--eta does not belong .* which takes .*--keep"):
        make_method(METHODS, "shrunken", eta=2)
    with pytest.raises(InputError, match="--keep does not belong to --objective ovr"):
        make_method(METHODS, "ovr", keep=0.5)


def test_the_command_trains_and_uses_a_method_from_outside(shrunken, tmp_path, capsys):
    store, model = tmp_path / "rows", tmp_path / "model"
    make_store(store)
    words = ["--objective", "shrunken", "--keep", 0.75]
    trained = call(capsys, "train", store, "--out", model, *words)
    assert trained["settings"]["objective"] == "shrunken"
    assert trained["settings"]["keep"] == 0.75
    assert (model / "report.html").is_file()
    measured = call(capsys, "evaluate", model, store)
    assert measured["n"] > 0
    assert measured["top1"] > 50
    rows = Store.open(store).rows("test")
    np.save(tmp_path / "rows.npy", rows.read(np.arange(rows.n_rows)))
    ranked = call(capsys, "predict", model, tmp_path / "rows.npy")["predictions"]
    guesses = [entry["labels"][0]["label"] for entry in ranked]
    truths = np.array(Store.open(store).class_names)[rows.labels]
    assert (np.array(guesses) == truths).mean() > 0.5
    report = call(capsys, "report", model, "--out", tmp_path / "again.html")
    assert report["report"] == str(tmp_path / "again.html")
    compared = call(
        capsys, "compare", store, "--out", tmp_path / "c", "--objectives", "shrunken,means"
    )
    assert {row["objective"] for row in compared["rows"]} == {"shrunken", "means"}
    assert execute(make_app(), ["train", "--help"]) == 0
    page = capsys.readouterr().out
    assert "--keep" in page
    assert "moved to zero" in " ".join(page.replace("│", " ").split())


@pytest.mark.parametrize("objective", METHODS)
def test_every_option_of_the_command_is_described_and_has_a_valid_default(objective):
    method = make_method(METHODS, objective)
    for found in METHODS[objective].command_options(objective).values():
        assert found.help.endswith(".")
        assert found.help[0].isupper()
        assert found.parse(found.default) == found.default
    assert method.objective == objective
    assert method.without_early_stopping(3).objective == objective
    assert method.with_memory(1 << 20).objective == objective


def test_abilities_that_a_method_lacks_leave_it_unchanged():
    means, sgd = make_method(METHODS, "means"), make_method(METHODS, "ovr")
    assert means.without_early_stopping(7) is means
    assert means.with_memory(1) is means
    assert sgd.without_early_stopping(7).patience == 7
    assert sgd.with_memory(123).memory == 123
