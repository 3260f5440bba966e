"""Cases of the command line, run in this process, and of classifiers trained on stores."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import myriad
from tests.fingerprints.codes import has_network
from tests.fingerprints.data import draw_rows, write_images, write_rows
from tests.fingerprints.estimators import FIXED, SGD, STEPS, describe
from tests.fingerprints.recording import Case, read_bytes, read_model, read_store, stable

PROJECT = Path(__file__).resolve().parent.parent.parent / "pyproject.toml"
IMPORTS: dict[str, list[str]] = {
    "npy": ["rows.npy", "--labels", "y.npy"],
    "float16": ["half.npy", "--labels", "y.npy"],
    "in place": ["rows.npy", "--labels", "y.npy", "--in-place"],
    "npz": ["rows.npz", "--rows", "rows", "--labels", "label"],
    "parquet": ["rows.parquet", "--rows", "rows", "--labels", "label"],
    "svmlight": ["rows.svm"],
    "clip-retrieval": ["clip", "--labels", "label"],
    "several labels": ["rows.npy", "--labels", "several.txt"],
    "wide": ["wide.npy", "--labels", "wide_y.npy"],
}
CODES: dict[str, list[str]] = {
    "pq": ["--codes", "pq", "--ratio", "8"],
    "pq random": ["--codes", "pq", "--ratio", "8", "--rotation", "random"],
    "pq opq": ["--codes", "pq", "--ratio", "8", "--rotation", "opq"],
    "bits": ["--codes", "bits", "--ratio", "32"],
    "bits chosen": ["--codes", "bits", "--keep", "0.5", "--bins", "4"],
    "turned": ["--codes", "turned", "--ratio", "32"],
    "turned chosen": ["--codes", "turned", "--keep", "0.5"],
    "bilinear": ["--codes", "bilinear"],
    "bilinear random": ["--codes", "bilinear", "--random"],
    "scalar": ["--codes", "scalar"],
    "features": ["--codes", "none", "--keep", "0.5"],
}
SIGNATURES: dict[str, list[str]] = {
    "fisher": ["--signature", "fisher", "--components", "4"],
    "fisher weights": ["--components", "4", "--weights", "--descriptor", "sift+colour"],
    "bov": ["--signature", "bov", "--components", "8"],
    "bov soft": ["--signature", "bov", "--components", "8", "--soft", "--map", "chi2"],
    "vlad": ["--signature", "vlad", "--components", "4", "--descriptor", "colour"],
    "vlad within": ["--signature", "vlad", "--components", "4", "--within", "--regions", "1"],
}
EPOCHS = ["--epochs", "3"]
OBJECTIVES: dict[str, list[str]] = {
    name: ["--eta", "0.1", "--scale", "no", *EPOCHS]
    for name in ("ovr", "multiclass", "ranking", "warp", "auc", "softmax")
}
OBJECTIVES |= {
    "wsabie": ["--eta", "0.1", "--margin", "0.1", "--dim", "8", *EPOCHS],
    "topk": ["--k", "2", "--lam", "0.01", "--epochs", "20"],
    "dual": ["--lam", "0.01", "--epochs", "20"],
    "means": [],
    "knn": [],
    "trace": ["--lam", "0.01"],
}
FITTED: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd ovr": ("LinearSGD", FIXED | SGD["ovr hinge"]),
    "sgd ovr drawn": ("LinearSGD", FIXED | SGD["ovr drawn"]),
    "sgd multiclass": ("LinearSGD", FIXED | SGD["multiclass"] | {"lam": 1e-3}),
    "sgd warp": ("LinearSGD", FIXED | SGD["warp"]),
    "sgd softmax": ("LinearSGD", FIXED | SGD["softmax"] | {"scale": True}),
    "topk": ("TopKSVM", {"k": 2, "lam": 0.01, "max_epochs": 20}),
    "dual": ("DualSVM", {"lam": 0.01, "max_epochs": 20}),
    "wsabie": ("Wsabie", STEPS),
    "trace": ("TraceNormClassifier", {"lam": 0.01, "max_rounds": 10}),
    "means": ("NearestMeans", {}),
}
STORES = ("npy", "float16", "in place", "pq", "pq opq", "bits", "turned", "bilinear", "scalar")


def list_cases() -> Iterator[Case]:
    """Return the cases."""
    for name, given in IMPORTS.items():
        yield _store_case(f"import {name}", "import", given)
    for name, options in CODES.items():
        yield _store_case(f"compress {name}", "compress", ["npy.store", *options])
    signatures = SIGNATURES | ({"network": _network()} if has_network() else {})
    for name, options in signatures.items():
        for codes in ("none", "scalar"):
            given = ["images", *options, "--codes", codes]
            yield _store_case(f"extract {name} {codes}", "extract", given)
    for store in STORES:
        for name, (kind, options) in FITTED.items():
            yield Case(f"fit {name} on {store} store", _fit(store, kind, options))
    for name, options in OBJECTIVES.items():
        for store in ("npy", "pq"):
            yield _train_case(f"train {name} on {store}", store, ["--objective", name, *options])
    for name in ("ovr", "ranking", "wsabie"):
        given = ["--objective", name, *OBJECTIVES[name]]
        yield _train_case(f"train {name} on several labels", "several labels", given)
    for name in ("ovr", "multiclass", "softmax", "topk", "dual", "wsabie"):
        given = ["--objective", name, "--epochs", "4"]
        yield _train_case(f"train {name} auto", "npy", given)
    for name in ("ovr", "dual"):
        given = ["--objective", name, "--memory", "256MB", "--epochs", "1"]
        given += ["--eta", "0.1", "--beta", "all"] if name == "ovr" else ["--lam", "0.01"]
        yield _train_case(f"train {name} by class shards", "wide", given)
    yield Case("train on images", _train_images)
    yield Case("tune", _tune)
    yield Case("compare objectives", _compare(["--objectives", "ovr,means,topk:2", *EPOCHS]))
    yield Case("compare codes", _compare(["--codes", "pq,bits", "--ratios", "8,32"]))
    yield Case("export", _export)
    yield Case("demo", _demo)


def call(*arguments: Any, threads: int) -> dict[str, Any]:
    """Run the command as its console script would, and return the JSON that it prints."""
    given = ["myriad", *map(str, arguments), "--threads", str(threads), "--json", "--quiet"]
    before, out, status = sys.argv, io.StringIO(), 0
    try:
        sys.argv = given
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            _console_script()()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.argv = before
    found = json.loads(out.getvalue())
    if status == 2:
        raise myriad.InputError(found["error"])
    if status:
        raise myriad.WorkError(found["error"])
    return dict(found)


def _console_script() -> Any:
    """Return the function that the console script calls, wherever the sources have it now."""
    scripts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["scripts"]
    module, function = scripts["myriad"].split(":")
    return getattr(importlib.import_module(module), function)


@cache
def inputs(folder: Path) -> Path:
    """Write rows and images once; return their folder."""
    write_images(folder / "inputs" / "images")
    return write_rows(folder / "inputs")


@cache
def store_of(folder: Path, name: str) -> Path:
    """Return the store of some import or compression, written once."""
    path = inputs(folder) / f"{name}.store"
    if name in IMPORTS:
        call("import", *_placed(IMPORTS[name], folder), "--out", path, threads=1)
    else:
        call("compress", store_of(folder, "npy"), *CODES[name], "--out", path, threads=1)
    return path


def _placed(given: list[str], folder: Path) -> list[str]:
    """Return arguments with the names of inputs replaced by their paths."""
    if "npy.store" in given:
        store_of(folder, "npy")
    place = inputs(folder)
    return [str(place / word) if (place / word).exists() else word for word in given]


def _store_case(name: str, verb: str, given: list[str]) -> Case:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        out = folder / str(threads) / f"{name}.store"
        told = call(verb, *_placed(given, folder), "--out", out, threads=threads)
        told.pop("store", None)
        return {"json": stable(told, folder)} | read_store(out, folder)

    return Case(name, run)


def _fit(store: str, kind: str, options: dict[str, Any]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        rows = myriad.Store.open(store_of(folder, store))
        fitted = getattr(myriad, kind)(**options, threads=threads).fit(rows)
        return describe(fitted, draw_rows(seed=1)[0][:60, : fitted.n_features_in_])

    return run


def _train_case(name: str, store: str, options: list[str]) -> Case:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        data, out = store_of(folder, store), folder / str(threads) / f"{name}.model"
        told = call("train", data, "--out", out, *options, threads=threads)
        found = _model_results(told, out, folder)
        if store != "wide":
            return found | _use(out, inputs(folder) / "rows.npy", data, threads, folder)
        return found

    return Case(name, run)


def _model_results(told: dict[str, Any], model: Path, folder: Path) -> dict[str, Any]:
    for name in ("model", "store"):
        told.pop(name, None)
    return {"json": stable(told, folder)} | read_model(model, folder)


def _use(model: Path, rows: Path, data: Path, threads: int, folder: Path) -> dict[str, Any]:
    """Return the rankings and the accuracies of a model."""
    ranked = call("predict", model, rows, "-k", 3, threads=threads)
    judged = call("evaluate", model, data, threads=threads)
    judged.pop("model", None)
    return {"ranking": stable(ranked, folder), "evaluate": stable(judged, folder)}


def _train_images(threads: int, folder: Path) -> dict[str, Any]:
    images, out = inputs(folder) / "images", folder / str(threads) / "images.model"
    given = ["--components", "4", "--codes", "pq", "--ratio", "8", "--lam", "0.001", *EPOCHS]
    told = call("train", images, "--out", out, *given, threads=threads)
    return _model_results(told, out, folder) | _use(out, images, images, threads, folder)


def _tune(threads: int, folder: Path) -> dict[str, Any]:
    given = ["--betas", "2,all", "--etas", "0.1,1", "--lams", "0,0.001", "--epochs", "2"]
    out = folder / str(threads) / "tune"
    told = call("tune", store_of(folder, "npy"), "--out", out, *given, threads=threads)
    return {"json": stable(told, folder)}


def _compare(options: list[str]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        out = folder / str(threads) / options[0]
        told = call("compare", store_of(folder, "npy"), "--out", out, *options, threads=threads)
        return {"json": stable(told, folder)}

    return run


def _export(threads: int, folder: Path) -> dict[str, Any]:
    out, data = folder / str(threads), store_of(folder, "npy")
    call("export", data, "--out", out / "rows", threads=threads)
    model = out / "exported.model"
    given = ["--objective", "softmax", *OBJECTIVES["softmax"]]
    call("train", data, "--out", model, *given, threads=threads)
    call("export", model, "--out", out / "model.onnx", threads=threads)
    call("export", model, "--out", out / "top.onnx", "-k", 3, threads=threads)
    table = pq.read_table(out / "rows" / "rows.parquet").to_pydict()
    files = [out / "rows" / "rows.npy", out / "model.onnx", out / "top.onnx"]
    return {"rows.parquet": stable(table, folder)} | {
        file.name: read_bytes(file, folder) for file in files
    }


def _demo(threads: int, folder: Path) -> dict[str, Any]:
    out = folder / str(threads) / "demo"
    told = call("demo", "--classes", 10, "--images", 5, "--out", out, threads=threads)
    return {"json": stable(told, folder)} | read_model(out / "model", folder)


def _network() -> list[str]:
    return ["--signature", "efficientnet-lite0"]
