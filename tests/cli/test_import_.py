"""The verbs on ready-made rows and on networks, with their JSON against their schemas."""

import numpy as np
import pytest

from myriad.images import choose_glyphs, write_glyphs
from myriad.models import load_model
from myriad.store import Store
from tests.cli.calling import call, call_json

QUICK = ["--epochs", 5, "--eta", 0.1, "--beta", "all"]


@pytest.fixture
def rows(tmp_path):
    random = np.random.default_rng(0)
    labels = np.arange(300) % 6
    X = random.normal(size=(6, 8))[labels] + random.normal(scale=0.3, size=(300, 8))
    np.save(tmp_path / "X.npy", X.astype(np.float16))
    np.save(tmp_path / "y.npy", labels)
    return tmp_path / "X.npy", tmp_path / "y.npy"


def test_import_train_predict_evaluate_export(rows, tmp_path, capsys):
    X, y = rows
    store, model = tmp_path / "s", tmp_path / "m"
    found = call_json(capsys, "import", X, "--labels", y, "--out", store)
    assert (found["rows"], found["bad"], found["dim"], found["bytes_per_row"]) == (300, 0, 8, 16)
    call_json(capsys, "train", store, "--out", model, *QUICK)
    ranked = call_json(capsys, "predict", model, X, "-k", 2)["predictions"]
    assert ranked[7]["path"] == f"{X}:7"
    right = [entry["labels"][0]["label"] == str(i % 6) for i, entry in enumerate(ranked)]
    measured = call_json(capsys, "evaluate", model, X, "--labels", y)
    assert measured["n"] == 300
    assert measured["top1"] == pytest.approx(100 * np.mean(right))
    assert measured["top1"] > 90
    for precision, within in (("float16", 0.5), ("int8", 2.0)):
        small = tmp_path / precision
        found = call_json(capsys, "export", model, "--out", small, "--weights", precision)
        assert found["bytes"] < found["bytes_before"]
        again = call_json(capsys, "evaluate", small, X, "--labels", y)
        assert again["top1"] == pytest.approx(measured["top1"], abs=within)
    exported = call_json(capsys, "export", store, "--out", tmp_path / "o")
    assert exported["rows"] == 300
    again = [tmp_path / "o" / "rows.npy", "--labels", tmp_path / "o" / "rows.parquet"]
    assert call_json(capsys, "evaluate", model, *again, "--split", "val")["n"] == 30


def test_a_model_in_place_equals_one_of_the_same_rows_in_python(rows, tmp_path, capsys):
    X, y = rows
    call(capsys, "import", X, "--labels", y, "--out", tmp_path / "s", "--in-place")
    shown = call(capsys, "evaluate", train(capsys, tmp_path), tmp_path / "s", "--split", "val")
    assert "30 validation" in shown.out


def train(capsys, folder):
    call(capsys, "train", folder / "s", "--out", folder / "m", *QUICK)
    return folder / "m"


def test_a_network_of_the_users_own(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from myriad.signatures.networks.sessions import start_session
    from tests.signatures.onnx_files import write_network

    write_glyphs(tmp_path / "images", choose_glyphs(10), images=4, seed=0, splits=(0.75, 0, 0.25))
    kernel = np.random.default_rng(0).normal(size=(3, 5))
    write_network(tmp_path / "net.onnx", kernel=kernel)
    options = ["--signature", f"onnx:{tmp_path / 'net.onnx'}", "--codes", "none"]
    out = tmp_path / "m"
    call_json(capsys, "train", tmp_path / "images", "--out", out, *options, *QUICK)
    (tmp_path / "net.onnx").unlink()
    store = Store.open(tmp_path / "m.store")
    assert (store.dim, store.recipe.kind) == (5, "backbone")
    measured = call_json(capsys, "evaluate", out, tmp_path / "images")
    assert measured["n"] == 10
    found = call_json(capsys, "export", out, "--out", tmp_path / "all.onnx")
    assert found["classes"] == 10
    folder = load_model(out)
    image = np.full((20, 20, 3), 77, np.uint8)
    session = start_session((tmp_path / "all.onnx").read_bytes())
    (scores,) = session.run(None, {"image": folder.recipe.fit(folder.recipe.cut(image))})
    expected = folder.model.scores(folder.recipe.describe(image)[None])
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_resuming_with_another_network_is_refused(tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from tests.signatures.onnx_files import write_network

    write_glyphs(tmp_path / "images", choose_glyphs(10), images=2, seed=0, splits=(1, 0, 0))
    options = ["--signature", f"onnx:{tmp_path / 'net.onnx'}", "--codes", "none"]
    write_network(tmp_path / "net.onnx")
    call(capsys, "extract", tmp_path / "images", "--out", tmp_path / "s", *options)
    (tmp_path / "s" / "store.json").unlink()
    write_network(tmp_path / "net.onnx", kernel=2 * np.eye(3))
    words = ["extract", tmp_path / "images", "--out", tmp_path / "s", *options, "--resume"]
    refused = call_json(capsys, *words, status=2)
    assert "network" in refused["error"]
