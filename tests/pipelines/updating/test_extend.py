"""Extended models: old weights stay, new classes are recognised, bad input is refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models import MergedModel, calibrate_labels, load_model, save_model
from myriad.pipelines.predicting.evaluate import evaluate
from myriad.pipelines.run import Run
from myriad.pipelines.training.train import read_evidence, train
from myriad.pipelines.updating.extend import extend
from myriad.pipelines.updating.relabelling import merge
from myriad.progress import Progress
from myriad.store import ArrayRows, Store
from myriad.training import METHODS, Context, make_method
from myriad.training.discriminant.gaussian import find_space


class Notes(Progress):
    """Keeps the notes of a job."""

    def __init__(self, notes):
        self.note = notes.append


DIM, N_OLD, N_ALL = 12, 8, 11


def write_store(path, classes, n=24, seed=0, split="train", noise=0.8, dim=DIM):
    """Write rows around the means of some classes, which are called by letters."""
    means = np.random.default_rng(5).normal(size=(26, dim))
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(classes)), n)).astype(np.int32)
    X = means[[ord(classes[c]) - ord("a") for c in labels]]
    X = (X + noise * rng.normal(size=X.shape)).astype(np.float32)
    writer = Store.create(path, class_names=list(classes), dim=dim, n_shards=1)
    paths = [f"{path.name}/{i}" for i in range(len(X))]
    writer.write_shard(0, X, labels, paths, [split] * len(X))
    writer.finish()
    return path


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("growing")
    write_store(folder / "old", "abcdefgh")
    write_store(folder / "new", "ijk", seed=1)
    write_store(folder / "mixed", "abi", seed=2)
    write_store(folder / "test", "abcdefghijk", seed=3, split="test")
    train(folder / "old", folder / "model")
    return folder


def accuracy(here, model):
    return evaluate(model, here / "test", split="test").measures.at(1)


@pytest.fixture(scope="module")
def scratch(here):
    """Return the accuracy of a model that was trained on all rows."""
    parts = [Store.open(here / name) for name in ("old", "new")]
    names = list("abcdefghijk")
    writer = Store.create(here / "all", class_names=names, dim=DIM, n_shards=1)
    X = np.concatenate([part.rows().read(np.arange(part.n_rows)) for part in parts])
    labels = np.concatenate([parts[0].labels, parts[1].labels + N_OLD])
    writer.write_shard(0, X, labels, [""] * len(X), ["train"] * len(X))
    writer.finish()
    train(here / "all", here / "scratch")
    return accuracy(here, here / "scratch")


def test_with_the_store_old_weights_stay_and_accuracy_is_near_that_from_scratch(here, scratch):
    found = extend(here / "model", here / "new", here / "grown", old=[here / "old"])
    before, after = load_model(here / "model"), load_model(here / "grown")
    assert np.array_equal(after.model.weights[:N_OLD], before.model.weights)
    assert np.array_equal(after.model.biases[:N_OLD], before.model.biases)
    assert after.class_names == list("abcdefghijk")
    assert accuracy(here, here / "grown") > scratch - 4.0
    assert found.calibration.source == "extended"
    assert after.calibration.novelty.points.shape[0] == N_ALL
    assert after.trained_from["extended_from"] == before.trained_from
    assert after.settings["extended_from"] == "model"
    assert after.settings["extension_factor"] != 1.0
    assert "extended" in (here / "grown" / "README.md").read_text()
    assert read_evidence(here / "grown")["measures"]["n"] == found.held_out.n
    assert abs(found.held_out.at(1) - accuracy(here, here / "grown")) < 8.0


def test_the_model_is_the_same_on_any_number_of_threads(here):
    for threads in (1, 2):
        extend(
            here / "model",
            here / "new",
            here / f"t{threads}",
            old=[here / "old"],
            run=Run(threads=threads),
        )
    arrays = [(here / name / "model.safetensors").read_bytes() for name in ("t1", "t2")]
    assert arrays[0] == arrays[1]


@pytest.mark.parametrize("objective", ["plda", "softmax"])
def test_new_classes_are_trained_in_the_space_of_discriminant_analysis(objective, tmp_path):
    options = {"lam": 0.1} if objective == "plda" else {"plda": 0.1, "epochs": 4}
    stores = [
        write_store(tmp_path / "old", "abcdefghi", dim=40),
        write_store(tmp_path / "new", "jkl", seed=1, dim=40),
    ]
    method = make_method(METHODS, objective, seed=0, **options)
    train(stores[0], tmp_path / "model", method=method)
    extend(tmp_path / "model", stores[1], tmp_path / "grown", old=[stores[0]])
    parts = [Store.open(path) for path in stores]
    X = np.concatenate([part.rows().read(np.arange(part.n_rows)) for part in parts])
    labels = np.concatenate([parts[0].labels, parts[1].labels + 9])
    with Context().open() as running:
        space = find_space(ArrayRows(X, labels, list("abcdefghijkl")), 12, 0.1, running)
    added = load_model(tmp_path / "grown").model.weights[9:].T
    inside = space.projection @ np.linalg.lstsq(space.projection, added)[0]
    assert space.projection.shape[1] < 12
    np.testing.assert_allclose(inside, added, atol=1e-3 * np.abs(added).max())


@pytest.mark.parametrize("update", [False, True])
def test_a_space_of_more_features_than_covariances_can_have(tmp_path, update):
    stores = [
        write_store(tmp_path / "old", "abcdef", n=6, dim=17_000),
        write_store(tmp_path / "new", "gh", n=6, seed=1, dim=17_000),
    ]
    method = make_method(METHODS, "softmax", seed=0, plda=0.1, epochs=4)
    train(stores[0], tmp_path / "model", method=method)
    extend(tmp_path / "model", stores[1], tmp_path / "grown", old=stores[:1], update=update)
    write_store(tmp_path / "test", "abcdefgh", n=6, seed=3, split="test", dim=17_000)
    assert evaluate(tmp_path / "grown", tmp_path / "test", split="test").measures.at(1) > 90


def test_without_the_store_class_means_stand_for_old_rows(here, scratch):
    notes = []
    found = extend(here / "model", here / "new", here / "alone", run=Run(progress=Notes(notes)))
    assert accuracy(here, here / "alone") > scratch - 8.0
    assert found.to_json()["old_rows"] == "model"
    assert any("--store" in note for note in notes)
    # How new scores compare with old ones is only known from real rows.
    settings = load_model(here / "alone").settings
    assert (settings["extension_factor"], settings["extension_offset"]) == (1.0, 0.0)


def test_all_classes_are_updated_with_the_store(here, scratch):
    options = {"old": [here / "old"], "update": True}
    found = extend(here / "model", here / "new", here / "updated", **options)
    assert accuracy(here, here / "updated") > scratch - 3.0
    assert len(found.to_json()["updated"]) == N_OLD
    assert found.calibration.source == "cross-fitted"


def test_new_images_of_old_classes_change_these_alone(here):
    notes = []
    extend(
        here / "model",
        here / "mixed",
        here / "one",
        old=[here / "old"],
        run=Run(progress=Notes(notes)),
    )
    assert any("48 of the 72 rows are of classes that the model has" in note for note in notes)
    found = extend(here / "model", here / "mixed", here / "two", update=True)
    before, after = load_model(here / "model").model, load_model(here / "two").model
    assert np.array_equal(after.weights[2:N_OLD], before.weights[2:])
    assert not np.array_equal(after.weights[:2], before.weights[:2])
    assert found.to_json()["updated"] == ["a", "b"]
    before, after = (read_evidence(here / name)["classes"] for name in ("model", "two"))
    counts = [record["train"] + 24 * (record["name"] in "ab") for record in before]
    assert [record["train"] for record in after] == [*counts, 24]
    assert after[2]["sample"] == before[2]["sample"]
    assert found.calibration is None
    assert load_model(here / "two").calibration is None


def test_class_means_stand_for_classes_that_the_store_lacks(here, tmp_path):
    some, notes = write_store(tmp_path / "some", "abcd"), []
    extend(here / "model", here / "new", tmp_path / "m", old=[some], run=Run(progress=Notes(notes)))
    assert any("4 old classes have no rows in --store" in note for note in notes)
    assert accuracy(here, tmp_path / "m") > 60.0


def test_the_store_beside_the_model_is_recommended(here, tmp_path):
    notes = []
    shutil.copytree(here / "model", tmp_path / "model")
    extend(tmp_path / "model", here / "new", tmp_path / "one", run=Run(progress=Notes(notes)))
    assert notes[-1] == (
        "8 old classes have no rows: class means are used instead, with some loss of accuracy. "
        "Give them by --store if you have them."
    )
    shutil.copytree(here / "old", tmp_path / "model.store")
    extend(tmp_path / "model", here / "new", tmp_path / "two", run=Run(progress=Notes(notes)))
    assert notes[-1].endswith(f", add --store {tmp_path / 'model.store'}.")


def test_a_merged_model_can_grow(here):
    merge(here / "model", ["a", "b"], "ab", here / "merged")
    extend(here / "merged", here / "new", here / "merged-grown")
    grown = load_model(here / "merged-grown")
    assert isinstance(grown.model, MergedModel)
    assert grown.class_names == ["ab", *"cdefghijk"]


@pytest.mark.parametrize("objective", ["dual", "ovr"])
def test_settings_of_other_objectives_are_used_again(here, objective, tmp_path):
    train(here / "old", tmp_path / "model", method=make_method(METHODS, objective))
    options = {"old": [here / "old"], "update": True}
    extend(tmp_path / "model", here / "new", tmp_path / "grown", **options)
    assert accuracy(here, tmp_path / "grown") > 60.0


class TestBadInput:
    def refused(self, *paths, match, **options):
        with pytest.raises(InputError, match=match):
            extend(*paths, **options)
        assert not paths[2].exists() or paths[2] == paths[0]

    def test_nothing_new(self, here, tmp_path):
        out = tmp_path / "m"
        self.refused(here / "model", here / "old", out, match="no class that .* lacks.*--update")

    def test_all_classes_anew_without_the_store(self, here, tmp_path):
        options = {"update": True, "match": "nothing of it would remain"}
        self.refused(here / "model", here / "old", tmp_path / "m", **options)

    def test_other_features(self, here, tmp_path):
        other = write_store(tmp_path / "other", "xyz", dim=7)
        self.refused(here / "model", other, tmp_path / "m", match="have 7 features, the model")

    def test_other_features_of_the_old_rows(self, here, tmp_path):
        other = write_store(tmp_path / "other", "abc", dim=7)
        options = {"old": [other], "match": "have 7 features, the model"}
        self.refused(here / "model", here / "new", tmp_path / "m", **options)

    def test_a_store_of_other_classes(self, here, tmp_path):
        other = write_store(tmp_path / "other", "xyz")
        options = {"old": [other], "match": "no labelled rows of the requested classes"}
        self.refused(here / "model", here / "new", tmp_path / "m", **options)

    def test_an_update_without_all_rows(self, here, tmp_path):
        some = write_store(tmp_path / "some", "abc")
        options = {"old": [some], "update": True, "match": "lack classes of .*: 5, 'd' first"}
        self.refused(here / "model", here / "new", tmp_path / "m", **options)

    def test_images_for_a_model_of_rows(self, here, tmp_path):
        (tmp_path / "images").mkdir()
        self.refused(here / "model", tmp_path / "images", tmp_path / "m", match="myriad import")

    def test_the_same_folder(self, here):
        self.refused(here / "model", here / "new", here / "model", match="is an input")

    def test_another_kind_of_model(self, here, tmp_path):
        train(here / "old", tmp_path / "near", method=make_method(METHODS, "knn"))
        out = tmp_path / "m"
        self.refused(tmp_path / "near", here / "new", out, match="cannot be added, removed")

    def test_a_multi_label_model(self, here, tmp_path):
        folder = load_model(here / "model")
        sets = LabelSets.from_matrix(np.eye(N_OLD, dtype=bool)[np.arange(80) % N_OLD])
        scores = sets.to_matrix(N_OLD).astype(np.float32)
        found = calibrate_labels(scores, sets, "validation")
        several = replace(folder, calibration=None, label_calibration=found)
        save_model(tmp_path / "model", several, card="")
        self.refused(tmp_path / "model", here / "new", tmp_path / "m", match="a multi-label model")

    def test_a_model_that_keeps_nothing_of_its_rows(self, here, tmp_path):
        shutil.copytree(here / "model", tmp_path / "model")
        config = json.loads((tmp_path / "model" / "config.json").read_text())
        del config["calibration"]
        (tmp_path / "model" / "config.json").write_text(json.dumps(config))
        self.refused(tmp_path / "model", here / "new", tmp_path / "m", match="with --store")
        extend(tmp_path / "model", here / "new", tmp_path / "m", old=[here / "old"])
        assert accuracy(here, tmp_path / "m") > 60.0
