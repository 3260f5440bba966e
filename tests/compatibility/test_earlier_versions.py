"""Stores and models that released versions have written: they load, and rank as they did then.

Each folder beside this file is named after a version and holds `rows.npy`, `labels.npy`, stores
and models, all made by that version's command. What that version itself made of them is in
`decoded.npz`, the decoded rows of each store, and in `ranks.json`, the labels and scores that
`predict` gave for each model.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from myriad.images import read_image
from myriad.models import load_model
from myriad.store import Store
from tests.robustness.calling import QUICK, call
from tests.robustness.inputs import picture

VERSIONS = sorted(path.parent for path in Path(__file__).parent.glob("*/rows.npy"))
STORES = [path for version in VERSIONS for path in sorted(version.glob("*.store"))]
MODELS = [path for version in VERSIONS for path in sorted(version.glob("*.model"))]
LABELS = ("ant", "bee", "cow")


def name_of(path):
    return f"{path.parent.name}-{path.name}"


def test_the_first_version_is_kept():
    assert VERSIONS[0].name == "0.1.0"
    assert len(STORES) >= 5
    assert len(MODELS) >= 8


@pytest.mark.parametrize("path", STORES, ids=name_of)
def test_rows_of_a_store(path):
    store = Store.open(path)
    rows, labels = np.load(path.parent / "rows.npy"), np.load(path.parent / "labels.npy")
    order = [int(name.rpartition(":")[2]) for name in store.paths]
    assert sorted(order) == list(range(len(rows)))
    assert [store.class_names[label] for label in store.labels] == labels[order].tolist()
    found = store.rows().read(np.arange(len(rows)))
    assert found.shape == rows.shape
    if store.code is None:
        np.testing.assert_array_equal(found, rows[order])
    with np.load(path.parent / "decoded.npz") as decoded:
        np.testing.assert_allclose(found, decoded[path.stem], rtol=1e-6)


@pytest.mark.parametrize("path", MODELS, ids=name_of)
def test_ranks_of_a_model(path):
    loaded = load_model(path)
    expected = json.loads((path.parent / "ranks.json").read_text())[path.stem]
    if loaded.recipe is None:
        rows = np.load(path.parent / "rows.npy")
    else:
        images = [picture(label, number) for label in range(3) for number in range(6)]
        rows = np.stack([loaded.recipe.describe(read_image(image)) for image in images])
    ranked, scores = loaded.model.rank(rows, 3)
    names = np.array(loaded.class_names)[ranked]
    assert names[:, 0].tolist() == [row["labels"][0] for row in expected]
    np.testing.assert_allclose(scores, [row["scores"] for row in expected], rtol=2e-3, atol=2e-3)


def test_a_store_of_an_earlier_version_is_trained_on(tmp_path):
    options = QUICK.partition("--epochs")[2]
    called = call(
        "train", VERSIONS[0] / "plain.store", "--out", tmp_path / "m", "--epochs", *options.split()
    )
    assert called.status == 0, called.err
    called = call("evaluate", tmp_path / "m", VERSIONS[0] / "plain.store", "--json")
    assert json.loads(called.out)["top1"] > 60
