"""Whole jobs on a cluster: the same bytes as on one machine, also when a worker is killed."""

from pathlib import Path

import fsspec
import numpy as np
import pytest

from myriad.codes import CodeOptions
from myriad.errors import InputError
from myriad.models import load_model
from myriad.parallel import open_cluster
from myriad.pipelines.predicting.evaluate import evaluate
from myriad.pipelines.run import Run
from myriad.pipelines.stores.compress import compress
from myriad.pipelines.training.compare_codes import compare_codes
from myriad.pipelines.training.train import train
from myriad.store import Store
from myriad.training import SGD, BinaryDual, WsabieMethod
from myriad.urls import as_path
from tests.pipelines.spreading import DeadlyMapper, make_wide_store

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

OVR = SGD(eta=0.1, beta=16.0, scale=False, epochs=3)


@pytest.fixture(scope="module")
def executor():
    with open_cluster("local:2") as executor:
        yield DeadlyMapper(executor)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_wide_store(tmp_path_factory.mktemp("spreading") / "store").path


@pytest.fixture(scope="module")
def model(store):
    return train(store, store.parent / "model", method=OVR, run=Run(threads=1))


@pytest.fixture
def mark(tmp_path_factory):
    """Return the folder that a worker makes before it dies."""
    return tmp_path_factory.mktemp("marks") / "killed"


def arrays_of(folder):
    return (Path(folder) / "model.safetensors").read_bytes()


def test_training_by_shards_of_classes(executor, mark, store, model, tmp_path):
    executor.arm(mark)
    trained = train(store, tmp_path / "model", method=OVR, run=Run(cluster=executor))
    assert mark.exists()
    assert arrays_of(tmp_path / "model") == arrays_of(model.model)
    assert [row["top1"] for row in trained.fitted.history] == [
        row["top1"] for row in model.fitted.history
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize("lam", [None, 0.01])
def test_the_dual_by_shards_of_classes(executor, mark, store, tmp_path, lam):
    method = BinaryDual(lam=lam, tol=0.05, beta=8.0, epochs=5)
    executor.arm(mark)
    there = train(store, tmp_path / "there", method=method, run=Run(cluster=executor))
    assert mark.exists()
    here = train(store, tmp_path / "here", method=method, run=Run(threads=1))
    assert arrays_of(tmp_path / "here") == arrays_of(tmp_path / "there")
    assert here.settings == there.settings


def test_a_search_on_a_cluster_finds_the_same(executor, store, tmp_path):
    found = [
        train(store, tmp_path / name, method=SGD(epochs=4), run=Run(threads=1, cluster=cluster))
        for name, cluster in (("here", None), ("there", executor))
    ]
    assert found[0].settings == found[1].settings
    assert arrays_of(tmp_path / "here") == arrays_of(tmp_path / "there")


@pytest.mark.parametrize(
    "method",
    [
        SGD(objective="multiclass", eta=0.1, lam=1e-4, scale=False, epochs=4, rounds=3),
        SGD(objective="softmax", eta=0.5, scale=True, epochs=4, rounds=2),
        WsabieMethod(dim=16, eta=0.1, margin=0.03, epochs=4, rounds=2),
    ],
    ids=lambda method: method.objective,
)
def test_rounds_are_the_same_whoever_dies(executor, mark, store, tmp_path, method):
    found = []
    for deadly in (False, True):
        if deadly:
            executor.arm(mark)
        found.append(train(store, tmp_path / str(deadly), method=method, run=Run(cluster=executor)))
        assert mark.exists() == deadly
    assert arrays_of(tmp_path / "False") == arrays_of(tmp_path / "True")
    single = train(store, tmp_path / "single", method=method, run=Run(threads=1))
    assert found[0].validation.at(5) > single.validation.at(5) - 10
    assert found[0].validation.at(5) > 30


def test_weights_larger_than_the_memory(store, model, tmp_path, monkeypatch):
    monkeypatch.setattr("myriad.pipelines.workers.LEAST", 1)
    monkeypatch.setattr("myriad.pipelines.workers.APART", 0)
    train(store, tmp_path / "model", method=OVR, run=Run(threads=1), memory=20_000)
    assert arrays_of(tmp_path / "model") == arrays_of(model.model)


@pytest.mark.parametrize(
    "options",
    [
        CodeOptions("scalar"),
        CodeOptions("bits", keep=0.5),
        CodeOptions("turned", keep=0.5),
        CodeOptions("none", keep=0.5, bins=4),
        CodeOptions("pq", 16, rotation="random"),
        CodeOptions("bilinear"),
    ],
    ids=lambda options: options.codes,
)
def test_coding(executor, mark, store, tmp_path, options, monkeypatch):
    compress(store, tmp_path / "here", options=options, run=Run(threads=1))
    monkeypatch.setattr("myriad.store.counting.READ_BYTES", 4 * 24 * 100)  # several pieces
    executor.arm(mark)
    compress(store, tmp_path / "there", options=options, run=Run(cluster=executor))
    assert mark.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "there").iterdir())
    assert any(name.endswith(".safetensors") for name in names)
    for name in names:
        if name.endswith((".arrow", ".safetensors")):
            contents = [(tmp_path / place / name).read_bytes() for place in ("here", "there")]
            assert contents[0] == contents[1]


def test_evaluating(executor, mark, store, model):
    here = evaluate(model.model, store, run=Run(threads=1))
    executor.arm(mark)
    there = evaluate(model.model, store, run=Run(cluster=executor))
    assert mark.exists()
    np.testing.assert_array_equal(here.scored.ranks, there.scored.ranks)
    np.testing.assert_array_equal(here.scored.guesses, there.scored.guesses)
    assert here.scored.paths == there.scored.paths


def test_comparing_codes(executor, store, tmp_path):
    asked = {"codes": ("bits",), "ratios": (32.0,), "method": OVR}
    here, there = (
        compare_codes(store, tmp_path / name, run=Run(threads=1, cluster=cluster), **asked).rows
        for name, cluster in (("here", None), ("there", executor))
    )
    assert len(here) == 2
    for mine, theirs in zip(here, there, strict=True):
        assert (mine.top1, mine.top5, mine.error) == (theirs.top1, theirs.top5, theirs.error)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["codes.json"]


def test_a_store_at_a_url(executor, store, model, tmp_path):
    url = as_path(f"file://{store}")
    trained = train(url, tmp_path / "model", method=OVR, run=Run(cluster=executor))
    assert arrays_of(tmp_path / "model") == arrays_of(model.model)
    assert trained.to_json()["store"] == f"file://{store}"
    there = evaluate(model.model, url, run=Run(cluster=executor))
    np.testing.assert_array_equal(evaluate(model.model, store).scored.ranks, there.scored.ranks)
    compress(
        url, tmp_path / "coded", options=CodeOptions("bits", keep=0.5), run=Run(cluster=executor)
    )
    assert Store.open(tmp_path / "coded").n_rows == 1500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coded", "model"]


def test_a_url_that_workers_do_not_see(executor, store, tmp_path):
    system = fsspec.filesystem("memory")  # of this process alone
    for file in store.iterdir():
        system.pipe_file(f"/spread/{file.name}", file.read_bytes())
    url = as_path("memory://spread")
    with pytest.raises(
        InputError, match=r"memory://spread/store.json does not exist on the worker"
    ):
        train(url, tmp_path / "model", method=OVR, run=Run(cluster=executor))
    assert train(url, tmp_path / "here", method=OVR, run=Run(threads=1)).fitted.epochs == 3
    system.rm("/spread", recursive=True)


def test_loading_gives_what_was_trained(model):
    np.testing.assert_array_equal(load_model(model.model).model.weights, model.fitted.model.weights)
