"""A finished model is replaced only if the user says so, and a broken replacement is completed."""

import json
import math
import shutil
from pathlib import Path

import pytest

from myriad.errors import InputError, WorkError
from myriad.files import dump_json
from myriad.models import load_model, read_source
from myriad.pipelines.run import Run
from myriad.pipelines.training import train as module
from myriad.pipelines.training.compare import compare
from myriad.pipelines.training.replacement import describe_method
from myriad.pipelines.training.train import train
from myriad.training import SGD, Means
from myriad.training.optimiser import Schedule
from tests.pipelines.studying import make_store
from tests.robustness.calling import QUICK, call
from tests.robustness.inputs import snapshot, write_images

METHOD = SGD(beta=1, eta=0.1, epochs=2)
LASTING = ("model.safetensors", "config.json")


def fit(data, out, method=METHOD, memory=None, **options):
    return train(data, out, method=method, memory=memory, run=Run(threads=1, **options))


def read_model(folder):
    return {name: (folder / name).read_bytes() for name in LASTING}


def break_off(monkeypatch, *arguments, error=KeyboardInterrupt, **options):
    """Train until the rows are ready."""

    def fail(*arguments, **options):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(module, "fit_store", fail)
        with pytest.raises(error):
            fit(*arguments, **options)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Return three stores of other rows, and a model of each."""
    folder = tmp_path_factory.mktemp("stores")
    for seed, name in enumerate("abc"):
        make_store(folder / f"{name}.store", seed=seed)
        fit(folder / f"{name}.store", folder / name)
    return folder


@pytest.fixture
def model(stores, tmp_path):
    """Return a model of the first store."""
    return Path(shutil.copytree(stores / "a", tmp_path / "m"))


def test_a_model_of_other_rows_is_kept(stores, model):
    before = snapshot(model.parent)
    for options in ({}, {"memory": 300_000_000}):
        with pytest.raises(InputError, match=r"m holds .* trained on other data\. Use --overwrite"):
            fit(stores / "b.store", model, resume=True, **options)
    assert snapshot(model.parent) == before
    fit(stores / "a.store", model, resume=True)
    assert read_model(model) == read_model(stores / "a")
    fit(stores / "b.store", model, overwrite=True)
    assert read_model(model) == read_model(stores / "b")
    assert [path.name for path in model.parent.iterdir()] == ["m"]


def test_a_model_of_other_settings_is_kept(stores, model):
    before = snapshot(model.parent)
    for method in (SGD(beta=1, eta=0.2, epochs=2), Means(), SGD(beta=1, eta=0.1, epochs=2, seed=3)):
        with pytest.raises(InputError, match=r"m holds .* trained with other settings\. Use"):
            fit(stores / "a.store", model, method, resume=True)
    assert snapshot(model.parent) == before


def test_settings_are_described_as_plain_json_by_what_the_user_stated():
    assert describe_method(SGD()) == {"objective": "ovr"}
    found = describe_method(SGD(beta=math.inf, eta=0.5, schedule=Schedule("decay")))
    stated = {"beta": "Infinity", "eta": 0.5, "schedule": {"name": "decay"}}
    assert found == {"objective": "ovr", **stated}
    assert json.loads(dump_json(found)) == found


def test_a_model_of_an_earlier_version_is_read_and_kept(stores, model):
    config = json.loads((model / "config.json").read_text())
    assert config.pop("trained_from")["method"] == describe_method(METHOD)
    (model / "config.json").write_text(json.dumps(config))
    assert load_model(model).trained_from is None
    assert read_source(model) is None
    with pytest.raises(InputError, match=r"m holds a finished model of an earlier version"):
        fit(stores / "a.store", model, resume=True)
    fit(stores / "a.store", model, overwrite=True)
    assert read_model(model) == read_model(stores / "a")


def test_an_interrupted_replacement_is_completed_and_no_other(stores, model, monkeypatch):
    old = read_model(model)
    break_off(monkeypatch, stores / "b.store", model, overwrite=True)
    assert read_model(model) == old
    with pytest.raises(InputError, match="other data"):
        fit(stores / "c.store", model, resume=True)
    with pytest.raises(InputError, match="other data"):
        fit(stores / "b.store", model, Means(), resume=True)
    break_off(monkeypatch, stores / "b.store", model, resume=True)
    fit(stores / "b.store", model, resume=True)
    assert read_model(model) == read_model(stores / "b")
    assert [path.name for path in model.parent.iterdir()] == ["m"]
    with pytest.raises(InputError, match="other data"):  # the replacement is over
        fit(stores / "a.store", model, resume=True)


def test_a_replacement_that_failed_is_completed_unless_its_input_was_wrong(
    stores, model, monkeypatch
):
    break_off(monkeypatch, stores / "b.store", model, overwrite=True, error=InputError)
    assert [path.name for path in model.parent.iterdir()] == ["m"]
    with pytest.raises(InputError, match="other data"):
        fit(stores / "b.store", model, resume=True)
    break_off(monkeypatch, stores / "b.store", model, overwrite=True, error=WorkError)
    fit(stores / "b.store", model, resume=True)
    assert read_model(model) == read_model(stores / "b")


def test_new_models_are_resumed_as_ever(stores, tmp_path, monkeypatch):
    break_off(monkeypatch, stores / "a.store", tmp_path / "m")
    fit(stores / "a.store", tmp_path / "m", resume=True)
    assert read_model(tmp_path / "m") == read_model(stores / "a")


def test_a_model_of_other_images_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "images")
    write_images(tmp_path / "more", classes=("ant", "bee", "dog"), first=4)
    words = ["--out", "m", *QUICK.split()]
    assert call("train", "images", *words).status == 0
    before = snapshot(tmp_path)
    for more, sentence in (
        ((), "m.store was begun with images"),
        (("--store", "new.store"), "no store new.store, so there is nothing to resume. Use --over"),
    ):
        called = call("train", "more", *words, *more, "--resume")
        assert called.status == 2
        assert sentence in called.err
        assert snapshot(tmp_path) == before
    extracting = QUICK.split(" --epochs")[0].split()
    for name in ("images", "more"):
        called = call("extract", name, "--out", f"{name}.store", *extracting)
        assert called.status == 0, called.err
    before = snapshot(tmp_path)
    called = call("train", "more.store", *words, "--resume")
    assert called.status == 2
    assert "m holds a finished model that was trained on other data. Use --overwrite" in called.err
    assert snapshot(tmp_path) == before


def test_an_interrupted_replacement_of_a_comparison_is_completed(stores, tmp_path, monkeypatch):
    out, options = tmp_path / "out", {"objectives": ["means", "ovr"], "epochs": 2}
    compare(stores / "a.store", out, **options)

    def fail(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "fit_store", fail)
        with pytest.raises(KeyboardInterrupt):
            compare(stores / "b.store", out, run=Run(overwrite=True), **options)
    found = compare(stores / "b.store", out, run=Run(resume=True), **options)
    assert [candidate.error for candidate in found.candidates] == [None, None]
    compare(stores / "b.store", tmp_path / "whole", **options)
    for name in ("means", "ovr"):
        assert read_model(out / name) == read_model(tmp_path / "whole" / name)


def test_a_comparison_reports_the_models_that_it_keeps(stores, tmp_path):
    out, options = tmp_path / "out", {"objectives": ["ovr"]}
    first = compare(stores / "a.store", out, epochs=1, **options)
    model = read_model(out / "ovr")
    compare(stores / "a.store", out, epochs=3, run=Run(resume=True), **options)
    assert read_model(out / "ovr") != model
    again = compare(stores / "a.store", out, epochs=1, run=Run(resume=True), **options)
    assert again.candidates[0].settings == first.candidates[0].settings
    assert read_model(out / "ovr") == model
