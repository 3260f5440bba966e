"""What probabilities cost: ranking with them beside plain ranking, calibration beside training.

python benchmarks/decisions.py [--parts scoring,training] [--stores FOLDER ...]
    --out benchmarks/results/decisions.json

Scoring: the five best classes of random rows, by `Model.rank` and by `Decider.decide`, in turns,
one thread. Training: estimators with their defaults on rows drawn around class means, and on the
training rows of stores; the processor time of `add_calibration`, novelty included, and of the
models of the automatic method that calibrate the final one (`score_chosen`), as a part of
that of ``fit``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
from record import describe_run, write_results

import myriad
from myriad.estimators import rows_classifier
from myriad.models import Decider, HeldScores, LinearModel, ModelFolder, calibrate
from myriad.parallel.threads import hold_blas_to_one_thread
from myriad.training.automatic import selection

SIZES = ((100, 1280), (1000, 1280), (10_000, 1024))
"""Classes and features of the models that rank."""
TURNS = 15


def measure_scoring(n_classes: int, dim: int) -> dict[str, Any]:
    """Return the milliseconds of ranking without and with probabilities, medians of turns."""
    rng = np.random.default_rng(0)
    n_rows = 4_000_000 // n_classes
    weights = rng.standard_normal((n_classes, dim), dtype=np.float32)
    model = LinearModel(weights, np.zeros(n_classes, np.float32))
    X = rng.standard_normal((n_rows, dim), dtype=np.float32)
    labels = rng.integers(0, n_classes, n_rows).astype(np.int32)
    calibration = calibrate(HeldScores.of(model.scores(X), labels), "split")
    names = [str(c) for c in range(n_classes)]
    decider = Decider(ModelFolder(model, names, None, {}, None, calibration))
    times: dict[str, list[float]] = {"rank": [], "decide": []}
    with hold_blas_to_one_thread():
        for turn in range(TURNS + 1):
            for name, call in (("rank", model.rank), ("decide", decider.decide)):
                began = time.perf_counter()
                call(X, 5)
                if turn:  # the first one compiles
                    times[name].append(1000 * (time.perf_counter() - began))
    plain, decided = median(times["rank"]), median(times["decide"])
    return {
        "classes": n_classes,
        "features": dim,
        "rows": n_rows,
        "rank_ms": round(plain, 2),
        "decide_ms": round(decided, 2),
        "ratio": round(decided / plain, 3),
    }


def draw_rows(n_classes: int, dim: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows drawn around class means, of norm 1, and their labels."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((n_classes, dim), dtype=np.float32)
    y = rng.integers(0, n_classes, n_rows)
    X = means[y] + 4 * rng.standard_normal((n_rows, dim), dtype=np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def read_rows(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows of a store, and their labels."""
    rows = myriad.Store.open(folder).rows("train")
    return np.concatenate([block.X for block in rows.blocks(256)]), np.asarray(rows.labels)


def measure_training(method: str, name: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the seconds of ``fit`` of an estimator, and those of calibration."""
    spent = 0.0

    def timed(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal spent
            began = time.process_time()
            found = original(*arguments)
            spent += time.process_time() - began
            return found

        return run

    parts = (rows_classifier, "add_calibration"), (selection, "score_chosen")
    with ExitStack() as stack:
        for module, function in parts:
            patched = timed(getattr(module, function))
            stack.enter_context(mock.patch.object(module, function, patched))
        make = {"auto": myriad.LinearClassifier, "ovr": myriad.LinearSGD, "dual": myriad.DualSVM}
        estimator = make[method](threads=1, random_state=0)
        estimator.fit(X[: len(X) // 10], y[: len(X) // 10])  # compiles
        spent = 0.0
        began = time.process_time()
        estimator.fit(X, y)
        seconds = time.process_time() - began
    return {
        "problem": name,
        "method": method,
        "classes": len(np.unique(y)),
        "features": X.shape[1],
        "rows": len(X),
        "fit_seconds": round(seconds, 2),
        "calibration_seconds": round(spent, 3),
        "share": round(spent / seconds, 4),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="scoring,training")
    parser.add_argument("--methods", default="ovr,dual,auto", help="of training")
    parser.add_argument("--stores", type=Path, nargs="*", default=[], help="also train on these")
    parser.add_argument("--out", type=Path, help="a JSON file to write; other parts in it are kept")
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    results = {name: kept.get(name, []) for name in ("scoring", "training")}
    if "scoring" in options.parts:
        results["scoring"] = [measure_scoring(*size) for size in SIZES]
    if "training" in options.parts:
        problems = {"drawn": draw_rows(100, 1280, 5000)}
        problems |= {folder.name: read_rows(folder) for folder in options.stores}
        pairs = [(method, name) for method in options.methods.split(",") for name in problems]
        results["training"] = [
            *(row for row in results["training"] if (row["method"], row["problem"]) not in pairs),
            *(measure_training(method, name, *problems[name]) for method, name in pairs),
        ]
    for rows in results.values():
        print(*rows, sep="\n")
    write_results(options.out, {**describe_run(), **results})


if __name__ == "__main__":
    main()
