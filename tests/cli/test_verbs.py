"""Every verb on a small set of characters: its JSON against its schema, its files, its sameness."""

import csv
import json
import shutil

import jsonschema
import numpy as np
import pytest
from referencing import Registry, Resource

import myriad
from myriad.cli.execution import execute
from myriad.cli.main import VERBS, app
from myriad.cli.objects import load_schema
from myriad.images import choose_glyphs, write_glyphs
from myriad.models import load_model
from myriad.serialisation import flatten
from myriad.store import Store

SMALL = ["--components", "8", "--regions", "1", "--epochs", "10"]


def call(capsys, *words, status=0):
    capsys.readouterr()
    assert execute(app, [str(word) for word in words]) == status
    return capsys.readouterr()


def call_json(capsys, verb, *words, status=0):
    shown = call(capsys, verb, *words, "--json", "--quiet", status=status)
    found = json.loads(shown.out)
    schemas = [(f"urn:myriad:{name}", load_schema(name)) for name in [*VERBS, "error"]]
    registry = Registry().with_resources(
        [(name, Resource.from_contents(schema)) for name, schema in schemas]
    )
    schema = load_schema(verb if status == 0 else "error")
    jsonschema.Draft202012Validator(schema, registry=registry).validate(found)
    return found


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "photos"
    write_glyphs(folder, choose_glyphs(12), images=15, seed=0, splits=(0.8, 0, 0.2))
    return folder


@pytest.fixture(scope="module")
def model(photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "letters"
    assert execute(app, ["train", str(photos), "--out", str(out), *SMALL, "--quiet"]) == 0
    return out


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
        "model.safetensors",
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


def test_evaluate_images_and_stores(photos, model, tmp_path, capsys):
    found = call_json(capsys, "evaluate", model, photos)
    assert (found["n"], found["split"], found["classes"]) == (36, "test", 12)
    assert found["top1"] > 60
    assert found["top5"] >= found["top1"]
    every = call_json(capsys, "evaluate", model, photos, "--split", "all")
    assert every["n"] == 180
    rows = call_json(capsys, "evaluate", model, model.with_name("letters.store"))
    assert (rows["n"], rows["split"]) == (144, "all")
    assert rows["top1"] > 60


def test_evaluate_refuses_rows_of_another_vocabulary(photos, model, tmp_path, capsys):
    options = ["--components", 8, "--regions", 1, "--seed", 1]
    call_json(capsys, "extract", photos, "--out", tmp_path / "rows", *options)
    refused = call_json(capsys, "evaluate", model, tmp_path / "rows", status=2)
    assert "another vocabulary" in refused["error"]


def test_evaluate_counts_unknown_classes_as_wrong(photos, model, tmp_path, capsys):
    known = sorted((photos / "test").iterdir())[0]
    shutil.copytree(known, tmp_path / "data" / known.name)
    shutil.copytree(known, tmp_path / "data" / "no such class")
    found = call_json(capsys, "evaluate", model, tmp_path / "data")
    assert found["unknown"] == 3
    assert found["top1"] <= 50
    assert found["accuracy_at"]["10"] <= 50


def test_predict_ranks_labels(photos, model, tmp_path, capsys):
    one = next(path for path in sorted((photos / "test").rglob("*.png")))
    found = call_json(capsys, "predict", model, one, "-k", 3)
    (prediction,) = found["predictions"]
    assert prediction["path"] == str(one)
    scores = [entry["score"] for entry in prediction["labels"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    folder = call_json(capsys, "predict", model, photos / "test", "--csv", tmp_path / "l.csv")
    assert len(folder["predictions"]) == 36
    with (tmp_path / "l.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 36 * 5
    assert lines[0]["rank"] == "1"
    assert lines[0]["label"] == folder["predictions"][0]["labels"][0]["label"]
    right = [p["labels"][0]["label"] in p["path"] for p in folder["predictions"]]
    assert np.mean(right) > 0.6


def test_predict_lists_bad_images_apart(photos, model, tmp_path, capsys):
    good = next(path for path in sorted((photos / "test").rglob("*.png")))
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    found = call_json(capsys, "predict", model, good, tmp_path / "bad.jpg")
    assert len(found["predictions"]) == 1
    assert found["bad"][0]["path"].endswith("bad.jpg")
    assert found["bad"][0]["reason"]


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


def test_extract_keeps_float_rows_where_asked(photos, tmp_path, capsys):
    out = tmp_path / "rows"
    options = ["--codes", "none", "--components", 8, "--regions", 1]
    found = call_json(capsys, "extract", photos, "--out", out, *options)
    assert found["rows"] == 180
    assert found["bytes_per_row"] == 4 * found["dim"] == 4 * 2 * 8 * 64


def test_report_of_a_store(model, tmp_path, capsys):
    store = model.with_name("letters.store")
    found = call_json(capsys, "report", store, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert found["report"] == str(tmp_path / "r.html")
    for section in ("patches", "components", "gaussians", "values", "correlations"):
        assert f'<section id="{section}">' in page
    beside = call_json(capsys, "report", store)["report"]
    assert beside == f"{store}.html"
    call_json(capsys, "report", store, status=2)
    call_json(capsys, "report", store, "--overwrite")


def test_report_is_made_from_the_model_folder(model, tmp_path, capsys):
    found = call_json(capsys, "report", model, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert found["report"] == str(tmp_path / "r.html")
    assert "validation" in page
    assert len(page) > 10_000


def test_demo_does_the_main_job(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = call_json(capsys, "demo", "--classes", 10, "--images", 10)
    assert found["test"]["n"] == 20
    assert found["ceiling"] == 100
    assert (tmp_path / "myriad-demo" / "report.html").is_file()
    again = call_json(capsys, "demo", "--classes", 10, "--images", 10, "--confusables")
    assert again["test"]["n"] == 20
    (tmp_path / "myriad-demo" / "mine.txt").write_text("keep")
    refused = call_json(capsys, "demo", "--classes", 10, "--images", 10, status=2)
    assert "mine.txt" in refused["error"]


def test_demo_refuses_more_classes_than_the_fonts_hold(tmp_path, capsys):
    refused = call_json(capsys, "demo", "--classes", 5000, "--out", tmp_path / "d", status=2)
    assert "5000" in refused["error"] or "5,000" in refused["error"]
    assert not (tmp_path / "d").exists()


def test_tables_for_people_go_to_stdout_and_progress_to_stderr(photos, model, capsys):
    shown = call(capsys, "evaluate", model, photos)
    assert "mean over classes" in shown.out
    assert "Scoring images" in shown.err
    assert "Scoring" not in shown.out


def test_a_loaded_model_predicts_in_python(photos, model):
    classifier = myriad.load(model)
    paths = sorted((photos / "test").rglob("*.png"))
    labels, scores = classifier.predict_topk(paths, 2)
    assert labels.shape == scores.shape == (36, 2)
    assert classifier.score(paths, [path.parent.name for path in paths]) > 0.6
    np.testing.assert_array_equal(classifier.predict(classifier.transform(paths)), labels[:, 0])
    with pytest.raises(myriad.InputError, match="features"):
        classifier.predict(np.zeros((1, 3)))
    with pytest.raises(myriad.InputError, match="list"):
        classifier.predict(str(paths[0]))


def test_fitting_a_store_in_python(model):
    store = Store.open(model.with_name("letters.store"))
    fitted = myriad.LinearSGD(eta=0.5, beta="all", epochs=5).fit(store)
    val = store.rows("val")
    assert list(fitted.classes_) == store.class_names
    truth = np.array(store.class_names)[val.labels]
    assert (fitted.predict(val.read(np.arange(val.n_rows))) == truth).mean() > 0.5


def test_compress_codes_a_store_that_models_then_understand(photos, tmp_path, capsys):
    plain = tmp_path / "plain"
    options = ["--codes", "none", "--components", 8, "--regions", 1]
    call_json(capsys, "extract", photos, "--out", plain, *options)
    for codes, ratio in (("bits", 64), ("scalar", 4)):
        out, model = tmp_path / codes, tmp_path / f"{codes}.model"
        found = call_json(
            capsys, "compress", plain, "--codes", codes, "--ratio", ratio, "--out", out
        )
        assert found["rows"] == 180
        assert found["ratio"] >= ratio
        assert found["code"]["kind"] == codes
        assert 0 < found["error"] < 1
        call_json(capsys, "train", out, "--out", model, "--epochs", 5)
        by_codes = call_json(capsys, "evaluate", model, out)
        by_images = call_json(capsys, "evaluate", model, photos)
        assert by_codes["top1"] > 30
        assert abs(by_codes["top1"] - by_images["top1"]) < (0.01 if codes == "bits" else 6)
    shown = call(
        capsys,
        "compress",
        tmp_path / "bits",
        "--codes",
        "bits",
        "--keep",
        0.1,
        "--out",
        tmp_path / "cut",
    )
    assert "bits: features" in shown.out
    assert "myriad train" in shown.out


def test_extract_codes_as_it_goes(photos, tmp_path, capsys):
    for codes in ("bits", "turned", "scalar", "bilinear"):
        out = tmp_path / codes
        options = ["--codes", codes, "--components", 8, "--regions", 1]
        found = call_json(capsys, "extract", photos, "--out", out, *options)
        assert found["rows"] == 180
        assert found["bytes_per_row"] == {"scalar": 1024}.get(codes, 128)
        assert Store.open(out).code.kind == codes


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


def test_plan_tells_what_a_job_takes(tmp_path, capsys, monkeypatch):
    from tests.pipelines.test_plan import CORE, measure_speed

    monkeypatch.setattr("myriad.pipelines.plan.know_machine", lambda **rest: CORE)
    monkeypatch.setattr("myriad.pipelines.plan.know_pace", measure_speed)
    found = call_json(capsys, "plan", "--like", "web97k", "--memory", "1GB")
    assert [row["step"] for row in found["rows"]][-1] == "in all"
    assert found["rows"][1]["paper"] == "one month [HM, 8.3]"
    assert found["advice"]
    shown = call(capsys, "plan", "--images", 200, "--classes", 10, "--components", 4)
    assert "learn the codes" in shown.out
    for wrong in (
        ["--like", "mnist"],
        ["--images", 10],
        ["--like", "web97k", "--images", 3],
        ["--images", 9, "--classes", 3, "--memory", "much"],
        ["--images", 9, "--classes", 3, "--objective", "best"],
    ):
        call_json(capsys, "plan", *wrong, status=2)


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
    assert 0 <= measured["class_confusion"] <= 100 - measured["top1"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Classes that lie close together" in page
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
