"""``train``: its JSON, its files, sameness for a seed, and options that reach the training."""

import numpy as np
import pytest

import myriad
from myriad.models import load_held_scores, load_model
from myriad.serialisation import flatten
from myriad.store import Store
from tests.cli.calling import SMALL, call, call_json
from tests.pipelines.studying import make_store


@pytest.fixture
def store(tmp_path):
    make_store(tmp_path / "rows")
    return tmp_path / "rows"


def test_train_writes_a_model_a_store_and_a_report(photos, tmp_path, capsys):
    out = tmp_path / "m"
    found = call_json(capsys, "train", photos, "--out", out, *SMALL)
    assert found["validation"]["classes"] == 12
    assert found["validation"]["n"] == 12
    assert found["settings"]["objective"] == "ovr"
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "config.json",
        "evidence.json",
        "held_scores.safetensors",
        "model.safetensors",
        "pictures.safetensors",
        "report.html",
    ]
    store = Store.open(tmp_path / "m.store")
    assert store.n_rows == 12 * 12  # the test part is not touched
    assert set(store.splits) == {"train", "val"}


def test_train_is_the_same_for_a_seed_on_any_number_of_threads(photos, model, tmp_path, capsys):
    call(capsys, "train", photos, "--out", tmp_path / "m", *SMALL, "--threads", 1)
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "m" / name).read_bytes() == (model / name).read_bytes()


def test_train_from_a_store_equals_train_from_images(photos, model, tmp_path, capsys):
    store = model.with_name("letters.store")
    call(capsys, "train", store, "--out", tmp_path / "m", "--epochs", 10)
    first, second = load_model(model), load_model(tmp_path / "m")
    np.testing.assert_array_equal(first.model.weights, second.model.weights)


@pytest.mark.parametrize(
    ("options", "dim"),
    [
        ("--descriptor sift+colour --weights --whiten", 4 + 2 * 4 * 128),
        ("--signature bov --soft --map chi2 --descriptor colour", 3 * 4),
        ("--signature bov --map intersection-pca", None),
        ("--signature vlad --within", 4 * 64),
    ],
)
def test_options_of_signatures_are_kept_in_the_model(photos, tmp_path, capsys, options, dim):
    words = [*options.split(), "--components", 4, "--regions", 1, "--step", 16]
    call_json(capsys, "train", photos, "--out", tmp_path / "m", *words, "--epochs", 3)
    store, folder = Store.open(tmp_path / "m.store"), load_model(tmp_path / "m")
    assert dim is None or store.dim == dim
    assert flatten(folder.recipe)[0] == flatten(store.recipe)[0]
    first = next(path for path in store.paths if path)
    row = store.rows().read([store.paths.index(first)])
    np.testing.assert_array_equal(myriad.load(tmp_path / "m").transform([first]), row)
    found = call_json(capsys, "predict", tmp_path / "m", first)
    assert len(found["predictions"]) == 1


def test_fitting_a_store_in_python(model):
    store = Store.open(model.with_name("letters.store"))
    fitted = myriad.LinearSGD(eta=0.5, beta="all", epochs=5).fit(store)
    val = store.rows("val")
    assert list(fitted.classes_) == store.class_names
    truth = np.array(store.class_names)[val.labels]
    assert (fitted.predict(val.read(np.arange(val.n_rows))) == truth).mean() > 0.5


def test_a_small_embedding_of_many_classes(photos, model, tmp_path, capsys):
    store, out = model.with_name("letters.store"), tmp_path / "m"
    options = [
        "--objective",
        "wsabie",
        "--dim",
        6,
        "--epochs",
        8,
        "--ensemble",
        2,
        "--index",
        "ivf",
    ]
    found = call_json(capsys, "train", store, "--out", out, *options)
    assert found["settings"]["objective"] == "wsabie"
    assert {"dim", "eta", "margin", "recall"} <= set(found["settings"])
    assert load_model(out).model.prototypes.shape == (12, 12)
    tree = tmp_path / "tree.csv"
    names = load_model(out).class_names
    tree.write_text("class,parent\n" + "".join(f"{name},letter\n" for name in names))
    measured = call_json(capsys, "evaluate", out, photos, "--hierarchy", tree)
    assert measured["sibling_top1"] == 100.0
    assert measured["sibling_at"] == {"1": 100.0, "5": 100.0, "10": 100.0}
    assert 0 <= measured["class_confusion"] <= 100 - measured["top1"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Similar classes" in page
    assert "Map of 12 classes" in page


def test_a_model_of_low_rank(photos, model, tmp_path, capsys):
    store, out = model.with_name("letters.store"), tmp_path / "m"
    found = call_json(capsys, "train", store, "--out", out, "--objective", "trace")
    settings = found["settings"]
    assert {"lam", "gauge", "rank", "bound", "value"} <= set(settings)
    assert 0 < settings["rank"] < 12
    saved = load_model(out).model
    assert saved.n_latents == settings["rank"]
    assert saved.directions.shape == (saved.dim, settings["rank"])
    measured = call_json(capsys, "evaluate", out, photos)
    assert measured["top1"] > 100 / 12
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Map of 12 classes" in page
    assert "Rank against lam" in page


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


def test_auto_is_the_default_and_says_how_sure_it_is(store, tmp_path, capsys):
    found = call_json(capsys, "train", store, "--out", tmp_path / "m")
    settings = found["settings"]
    assert settings["chosen_by"] == "auto"
    assert settings["objective"] in ("softmax", "dual")
    assert settings["cross_validation"]["error"] > 0
    assert (tmp_path / "m" / "held_scores.safetensors").is_file()
    held = load_held_scores(tmp_path / "m", len(Store.open(store).class_names))
    assert len(held.labels) == settings["cross_validation"]["rows"]
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    assert "runner_<wbr>up" in page
    shown = call(capsys, "train", store, "--out", tmp_path / "n", "--search", "quick").out
    assert "Chosen" in shown
    assert "held-out rows" in shown


def test_an_option_of_gradient_descent_without_an_objective_means_ovr(store, tmp_path, capsys):
    found = call_json(capsys, "train", store, "--out", tmp_path / "m", "--eta", 0.1, "--epochs", 2)
    assert found["settings"]["objective"] == "ovr"
    words = ["train", store, "--out", tmp_path / "n", "--variant", "beta"]
    assert "Objectives that have it: topk." in call(capsys, *words, status=2).err


def test_an_option_of_another_objective_is_refused(store, tmp_path, capsys):
    words = ["train", store, "--out", tmp_path / "m", "--objective", "auto", "--eta", 1]
    assert "Objectives that have it: ovr, multiclass" in call(capsys, *words, status=2).err
