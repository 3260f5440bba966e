"""What probabilities cost: ranking with them beside plain ranking, calibration beside training.

python benchmarks/decisions.py [--parts scoring,training] --out benchmarks/results/decisions.json

Scoring: the five best classes of random rows, by `Model.rank` and by `Decider.decide`, in turns,
one thread. Training: estimators with their defaults on rows drawn around class means; the processor
time of `add_calibration`, novelty included, and of the models of the automatic method that
calibrate the final one (`train_to_calibrate`), as a part of that of ``fit``.
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


def measure_training(method: str, n_classes: int, dim: int, n_rows: int) -> dict[str, Any]:
    """Return the seconds of ``fit`` of an estimator, and those of calibration."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((n_classes, dim), dtype=np.float32)
    y = rng.integers(0, n_classes, n_rows)
    X = means[y] + 4 * rng.standard_normal((n_rows, dim), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    spent = 0.0

    def timed(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal spent
            began = time.process_time()
            found = original(*arguments)
            spent += time.process_time() - began
            return found

        return run

    parts = (rows_classifier, "add_calibration"), (selection, "train_to_calibrate")
    with ExitStack() as stack:
        for module, name in parts:
            stack.enter_context(mock.patch.object(module, name, timed(getattr(module, name))))
        make = {"auto": myriad.LinearClassifier, "ovr": myriad.LinearSGD, "dual": myriad.DualSVM}
        estimator = make[method](threads=1, random_state=0)
        estimator.fit(X[: n_rows // 10], y[: n_rows // 10])  # compiles
        spent = 0.0
        began = time.process_time()
        estimator.fit(X, y)
        seconds = time.process_time() - began
    return {
        "method": method,
        "classes": n_classes,
        "features": dim,
        "rows": n_rows,
        "fit_seconds": round(seconds, 2),
        "calibration_seconds": round(spent, 3),
        "share": round(spent / seconds, 4),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="scoring,training")
    parser.add_argument("--methods", default="ovr,dual,auto", help="of training")
    parser.add_argument("--out", type=Path, help="a JSON file to write; other parts in it are kept")
    options = parser.parse_args()
    kept = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    results = {name: kept.get(name, []) for name in ("scoring", "training")}
    if "scoring" in options.parts:
        results["scoring"] = [measure_scoring(*size) for size in SIZES]
    if "training" in options.parts:
        methods = options.methods.split(",")
        others = [row for row in results["training"] if row["method"] not in methods]
        measured = [measure_training(method, 100, 1280, 5000) for method in methods]
        results["training"] = [*others, *measured]
    for rows in results.values():
        print(*rows, sep="\n")
    write_results(options.out, {**describe_run(), **results})


if __name__ == "__main__":
    main()
