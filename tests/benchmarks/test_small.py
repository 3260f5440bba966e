"""Benchmarks and recipes at a tiny size: they run, and what they write has its numbers."""

import json

import numpy as np
import pytest

from myriad import DualSVM
from myriad.store import Store
from tests.scripts import ROOT, run_script

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]  # as in a program


@pytest.fixture
def run(monkeypatch):
    def run(script, *options, out):
        monkeypatch.chdir(out.parent)
        run_script(monkeypatch, script, *options, "--out", out)
        return json.loads(out.read_text())

    return run


def test_trace(run, tmp_path):
    size = ["--rows", "300", "--dim", "12", "--classes", "8", "--rank", "2", "--seeds", "1"]
    found = run(
        "benchmarks/trace.py", "--parts", "speed,path,few", *size, out=tmp_path / "trace.json"
    )
    assert {"machine", "commit", "date"} <= set(found)
    assert found["speed"]["bound_part"] <= 0.01
    assert found["path"]["planted_rank"] == 2
    assert 1 <= found["path"]["found_rank"] <= 7
    (row,) = found["few"]
    assert all(0 < row[name] <= 100 for name in ("trace_top1", "l2_top1", "l2_minimum_top1"))


def test_wsabie(run, tmp_path):
    size = ["--rows", "400", "--features", "16", "--classes", "40", "--dim", "8", "--before", "1"]
    state = tmp_path / "state.npz"
    first, again = (
        run("benchmarks/wsabie.py", "epochs", *size, "--state", state, out=tmp_path / "epochs.json")
        for _ in range(2)
    )
    assert first["late"]["same_decisions"]
    assert first["late"]["mean_draws"] == again["late"]["mean_draws"]
    ranked = run(
        "benchmarks/wsabie.py", "ranking", "--features", 16, "--classes", 400, "--dim", 8,
        "--before", 1, "--queries", 50, out=tmp_path / "ranking.json",
    )  # fmt: skip
    assert ranked["recall"] >= 0.9


def draw_characters(path):
    rng = np.random.default_rng(0)
    shapes = rng.random((6, 1, 105, 105)) < 0.5
    drawings = shapes ^ (rng.random((6, 20, 105, 105)) < 0.05)
    X = np.packbits(drawings.reshape(-1, 105, 105), axis=-1)
    np.savez(path, X=X, y=np.repeat(np.arange(6), 20))
    return path


def test_last_violators(run, tmp_path):
    data = draw_characters(tmp_path / "drawn.npz")
    call = ("recipes/last_violators.py", "--data", data, "--classes", 6)
    found = run(*call, "--rows", tmp_path / "rows.npz", out=tmp_path / "found.json")
    assert len(found["cells"]) == 15
    plain = [row for row in found["cells"].values() if row["last_violators"] == "none"]
    assert all(row["starved"] == row["passed"] == 0 < row["test"] for row in plain)
    assert (tmp_path / "rows.npz").exists()


def test_highly_multiclass_goes_on_from_its_file(run, tmp_path):
    data = draw_characters(tmp_path / "drawn.npz")
    call = ("recipes/highly_multiclass.py", "omniglot", "--data", data)
    out = tmp_path / "found.json"
    found = run(*call, "--quick", "--classes", 6, "--seeds", 1, out=out)
    assert found["table8"]["nearest means"]["mean"] > 50
    assert {"Wsabie++", "AUC", "k-NN"} <= set(found["table8"])
    more = run(*call, "--quick", "--classes", 6, "--seeds", 2, out=out)
    assert {name: more["cells"][name] for name in found["cells"]} == found["cells"]
    assert more["table6"]["Wsabie"]["seeds"] == 2


def test_memory(run, tmp_path):
    found = run(
        "benchmarks/memory.py", "--rows", 800, "--work", tmp_path, out=tmp_path / "memory.json"
    )
    assert {"machine", "commit", "date"} <= set(found)
    assert len(found["rows"]) == 3
    assert all(row["kept"] and row["private_mb"] > 0 for row in found["rows"])


def test_peers(run, tmp_path):
    options = ["--quick", "--peer", "sgdclassifier", "--ours", "ovr, beta = 64"]
    found = run("benchmarks/peers.py", *options, out=tmp_path / "peers.json")
    entry = found["sgdclassifier"]
    assert entry["peer"]["epochs"] == 3
    assert entry["ours"]["ovr, beta = 64"]["settings"]["beta"] == 64
    assert entry["times_faster"]["ovr, beta = 64"]["epoch"] > 0


def test_dual(run, tmp_path):
    parts = ("--parts", "memory,certificates,agreement", "--shrink", "60")
    found = run("benchmarks/dual.py", *parts, out=tmp_path / "dual.json")
    assert found["memory"]["bytes"] < found["memory"]["bytes_if_dense_float32"]
    assert found["certificates"][-1]["gap"] <= 1e-6
    assert all(abs(row["relative"]) < 1e-3 for row in found["agreement"])


def test_mean_start(run, tmp_path):
    found = run("benchmarks/mean_start.py", "--shrink", "20", out=tmp_path / "means.json")
    assert {row["data"] for row in found["table"]} == {"digits", "overlapping classes"}
    assert all(row["zero"]["first_gap"] == 1.0 for row in found["table"])
    assert min(row["means"]["first_gap"] for row in found["table"]) < 0.3


def test_automatic(run, tmp_path):
    found = run("benchmarks/automatic.py", "--shrink", "50", out=tmp_path / "automatic.json")
    assert found["default"]["ratio"] > 0
    assert found["dual"]["features"] > found["dual"]["rows"]


def test_tiles(run, tmp_path):
    size = ["--rows", "70", "--dim", "24", "--classes", "50", "--blocks", "32", "--rounds", "1"]
    found = run("benchmarks/tiles.py", *size, out=tmp_path / "tiles.json")
    assert {"machine", "commit", "date"} <= set(found)
    assert len(found["products"]) == 6
    assert all(row["ratio"] > 0 for row in found["products"])


def test_photographs_resume_from_their_file(run, tmp_path):
    call = ("recipes/photographs.py", "--quick", "--components", 2, "--work", tmp_path / "work")
    out = tmp_path / "found.json"
    found = run(*call, "--arms", "fisher", "--splits", 1, out=out)
    more = run(*call, "--arms", "fisher,late-colour", "--splits", 2, out=out)
    cells = more["cells"]["glyphs"]
    assert cells["fisher"]["0"] == found["cells"]["glyphs"]["fisher"]["0"]
    assert all(0 < cells[arm]["1"]["accuracy"] <= 100 for arm in ("fisher", "late-colour"))
    assert {"machine", "commit", "date"} <= set(more)


def test_checking(run, tmp_path):
    size = ("--rows", 500, "--images", 2)
    found = run("benchmarks/checking.py", *size, out=tmp_path / "checking.json")
    assert found["results"]["copies found"] == found["results"]["copies planted"] == 5
    assert found["results"]["other pairs"] == 0


def test_settings_of_fisher_vectors_resume_from_their_file(run, tmp_path):
    call = ("recipes/fisher_settings.py", "--quick", "--work", tmp_path / "work")
    out = tmp_path / "found.json"
    found = run(*call, "--settings", "plain", out=out)
    more = run(*call, "--settings", "plain,colour", out=out)
    cells = more["cells"]["glyphs"]
    assert cells["plain"] == found["cells"]["glyphs"]["plain"]
    assert all(0 <= cell["accuracy"] <= 100 for cell in cells["colour"].values())


def test_the_svm_of_the_recipes_is_the_exact_one(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    from exact_svm import C, ExactSVM

    draws = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = draws.standard_normal((60, 90)).astype(np.float32)
    X[np.arange(60), y] += 1
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    lam = 1 / (C * len(y))
    exact = DualSVM(
        loss="hinge", lam=lam, center=False, tol=1e-4, calibration="none", random_state=0
    ).fit(X, y)
    found = ExactSVM(X, y).decision_function(X)
    np.testing.assert_allclose(found, exact.decision_function(X), atol=0.1)


def test_screening(run, tmp_path):
    size = ["--rows", "40", "--classes", "300", "--features", "40"]
    found = run("benchmarks/screening.py", *size, out=tmp_path / "screening.json")
    for measured in found["measured"].values():
        assert measured["rows with the same labels"] == 40


def test_growth(run, tmp_path):
    size = ["--parts", "classes", "--jobs", "product;ovr, beta = 64", "--repeats", "1"]
    found = run(
        "benchmarks/growth.py", *size, "--doublings", "2", "--rows", "64", out=tmp_path / "g.json"
    )
    assert set(found["classes"]["jobs"]) == {"product", "ovr, beta = 64"}


@pytest.mark.parametrize("job", ["web97k", "imagenet10k"])
def test_papers_scale_continues_where_it_stopped(run, tmp_path, job):
    size = [job, "--rows", 300, "--classes", 30, "--features", 64, "--epochs", 1]
    size += ["--work", tmp_path / "work"]
    out = tmp_path / "scale.json"
    assert not run("benchmarks/papers_scale.py", *size, "--minutes", 0, out=out)["complete"]
    found = run("benchmarks/papers_scale.py", *size, "--minutes", 5, out=out)
    assert found["complete"]
    ranked = found["steps"]["ovr, ranked"]
    assert 0 <= ranked["top1"] <= ranked["top5"] <= 100
    assert job == "imagenet10k" or ranked["top1"] > 0  # 8 bytes of a code tell no class
    again = run("benchmarks/papers_scale.py", *size, "--minutes", 0, out=out)
    assert again["steps"] == found["steps"]
    predicted = found["steps"]["ovr, predicted"]
    assert predicted["model_bytes"] > 4 * 30 * 64
    assert predicted["prediction_ms"] > 0
    assert set(found["steps"]["plan"]["expected"]) == set(found["methods"]) - {"wsabie"}


def test_papers_scale_extrapolates(run, tmp_path):
    files = [tmp_path / f"{rows}.json" for rows in (100, 200, 400)]
    for path, rows in zip(files, (100, 200, 400), strict=True):
        steps = {"ovr, epoch 1": {"processor": 3.0 + 0.5 * rows}}
        path.write_text(json.dumps({"rows": rows, "steps": steps}))
    options = ["imagenet10k", "--fit", *files, "--rows", 7_200_000]
    found = run("benchmarks/papers_scale.py", *options, out=tmp_path / "fit.json")
    assert found["milliseconds_a_row"] == pytest.approx(500)
    assert found["constant_seconds"] == pytest.approx(3)
    assert found["largest_from_smaller_over_measured"] == pytest.approx(1)
    assert found["extrapolated_hours"] == pytest.approx(1000, abs=0.01)
    assert found["planned_hours"] > 0


@pytest.fixture
def store(tmp_path):
    """Rows of 6 classes in three splits."""
    rng = np.random.default_rng(0)
    labels = (np.arange(300) % 6).astype(np.int32)
    X = rng.normal(size=(6, 16))[labels] + 0.5 * rng.normal(size=(300, 16))
    names = list("abcdef")
    writer = Store.create(tmp_path / "rows.store", class_names=names, dim=16, n_shards=1)
    splits = ["train"] * 200 + ["val"] * 40 + ["test"] * 60
    writer.write_shard(0, X.astype(np.float32), labels, [""] * 300, splits=splits)
    writer.finish()
    return tmp_path / "rows.store"


def test_sampled_softmax(run, store, tmp_path):
    found = run("benchmarks/sampled_softmax.py", store, out=tmp_path / "sampled.json")
    assert (found["rows"], found["test"], found["classes"]) == (240, 60, 6)
    assert len(found["methods"]) == 7
    assert all(one["top1"] > 80 and one["seconds"] > 0 for one in found["methods"].values())


def test_rounded_weights(run, store, tmp_path, capsys):
    out = tmp_path / "rounded.json"
    found = run("benchmarks/rounded_weights.py", store, out=out)
    precisions = found["stores"]["rows.store"]["precisions"]
    assert precisions["float32"]["bytes"] > precisions["float16"]["bytes"]
    assert precisions["float16"]["bytes"] > precisions["int8"]["bytes"]
    assert precisions["int8"]["largest_change_of_a_probability"] < 0.1
    assert all(one["top1"] > 80 for one in precisions.values())
    run("benchmarks/rounded_weights.py", "--table", out, out=out)
    assert "| rows.store: 6 x 16 | float32 |" in capsys.readouterr().out


def test_codebooks(run, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(400, 64)).astype("f4"))
    options = ["--books", 2, "--points", 600, tmp_path / "rows.npy:16"]
    found = run("benchmarks/codebooks.py", *options, out=tmp_path / "codebooks.json")
    assert found["books"]["rows"]["points"] == 600
    assert found["books"]["rows"]["5 rounds"]["learned"] < 1.05
