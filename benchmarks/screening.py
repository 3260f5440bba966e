"""The k best of many classes: screened, by all scores, and the bare product, on one thread.

    python benchmarks/screening.py --out benchmarks/results/screening.json
    python benchmarks/screening.py --store network.store     # its rows: others are the classes

Classes are drawn alike in all directions, and with a decaying spectrum. Of a store, some rows are
ranked, and the others are the prototypes of as many classes, the nearest of which is the best. The
three take turns, some rows at a time, so that all see the same noise. Ratios are of processor time:
1 is the bare product of all scores. The weights are rounded once; their time is counted apart, and
as a part of a call with `--job` rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from record import describe_run, write_results

from myriad.models import LinearModel
from myriad.models.model import Model
from myriad.models.screening import rank_screened, round_weights
from myriad.store import Store

K, ROUND = 5, 768


def draw(n: int, n_classes: int, dim: int, *, decay: float) -> tuple[np.ndarray, LinearModel]:
    """Return rows near class means, and the model of these means; a spectrum may decay."""
    rng = np.random.default_rng(0)
    deviations = ((1.0 + np.arange(dim)) ** -decay).astype(np.float32)
    W = rng.standard_normal((n_classes, dim), dtype=np.float32) * deviations
    X = rng.standard_normal((n, dim), dtype=np.float32) * deviations
    X += np.float32(0.3) * W[rng.integers(0, n_classes, n)]
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, LinearModel(W, rng.normal(0, 0.01, n_classes).astype(np.float32))


def take(path: Path, n: int) -> tuple[np.ndarray, LinearModel]:
    """Return rows of a store, and the model of the nearest of its other rows."""
    store = Store.open(path)
    X = np.concatenate([store.read_shard(number) for number in range(store.n_shards)])
    X = X[np.random.default_rng(0).permutation(len(X))].astype(np.float32)
    W = X[n:]
    halves = np.float32(-0.5) * np.einsum("cd,cd->c", W, W)
    return X[:n], LinearModel(np.ascontiguousarray(W), halves)


def time_once(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a run, and what it returns."""
    began = time.process_time()
    found = run()
    return time.process_time() - began, found


def compare(X: np.ndarray, model: LinearModel, job: int) -> dict[str, Any]:
    """Return the ratios of screened and plain ranking to the product, and what agrees."""
    W, biases = model.weights, model.biases
    round_weights(W[:16], biases[:16])  # compiles, or loads
    rounding, rounded = time_once(lambda: round_weights(W, biases))
    labels, best = np.empty((len(X), K), np.int32), np.empty((len(X), K), np.float32)
    seconds: dict[str, list[float]] = {"product": [], "screened": [], "all scores": []}
    same, apart, n_ranked = 0, 0.0, 0
    rank_screened(X[:10], W, biases, rounded, labels[:10], best[:10])  # compiles, or loads
    for start in range(0, len(X), ROUND):
        part = slice(start, min(start + ROUND, len(X)))
        some = X[part]
        product, _ = time_once(
            lambda some=some: [some[i : i + 256] @ W.T for i in range(0, len(some), 256)]
        )
        screened, ranked = time_once(
            lambda some=some, part=part: rank_screened(
                some, W, biases, rounded, labels[part], best[part]
            )
        )
        plain, expected = time_once(lambda some=some: Model.rank(model, some, K))
        for name, taken in (("product", product), ("screened", screened), ("all scores", plain)):
            seconds[name].append(taken)
        n_ranked += ranked
        same += int((labels[part] == expected[0]).all(axis=1).sum())
        apart = max(apart, float(np.abs(best[part] - expected[1]).max()))
    product = float(np.median(seconds["product"]))
    ratios = {name: round(float(np.median(taken)) / product, 3) for name, taken in seconds.items()}
    of_job = rounding / (sum(seconds["product"]) / len(X) * job)
    return {
        "rows": len(X),
        "classes": len(W),
        "features": W.shape[1],
        "ranked by screening": n_ranked,
        "rows with the same labels": same,
        "largest difference of scores": apart,
        "of the product": ratios,
        "rounding of the weights, of the product": round(of_job, 3),
        "screened with rounding, of the product": round(ratios["screened"] + of_job, 3),
    }


def main() -> None:
    """Measure all kinds of rows, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3 * ROUND)
    parser.add_argument("--classes", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--job", type=int, default=10_000, help="rows of the whole call")
    parser.add_argument("--store", type=Path, action="append", default=[], help="of real rows")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    problems: dict[str, Callable[[], tuple[np.ndarray, LinearModel]]] = {
        f"drawn, {kind}": lambda decay=decay: draw(
            options.rows, options.classes, options.features, decay=decay
        )
        for kind, decay in (("alike in all directions", 0.0), ("decaying spectrum", 0.5))
    }
    for path in options.store:
        problems[f"rows of {path.name}"] = lambda path=path: take(path, options.rows)
    found = {}
    for name, problem in problems.items():
        found[name] = compare(*problem(), options.job)
        print(name, found[name], flush=True)
    write_results(options.out, {**describe_run(), "k": K, "job": options.job, "measured": found})


if __name__ == "__main__":
    main()
