"""Trace norm by stochastic atom descent on a planted low rank: time, rank, memory, few examples.

    python benchmarks/trace.py                       # all parts, about 15 min
    python benchmarks/trace.py --parts speed --out benchmarks/results/trace.json

Rows are Gaussian of norm about 1, D = 1024; scores are ``3 X A B^T`` with Gaussian A and B of rank
20 for C = 500 classes, and the label is the best class after standard Gumbel noise: a multinomial
logistic truth. A smaller --scale than 3 is more noise. Parts:

- speed: seconds until the bound on suboptimality is 1 % of the objective, one thread, beside
  the seconds of 30 full gradients in the same run; private memory above what the data takes;
- path: rank and accuracy at the `lam` chosen on 5,000 validation rows;
- few: 10 rows a class, top-1 on 5,000 test rows beside L2 softmax, for several seeds;
- predict: factored scores against those of the weights multiplied out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results

from myriad.models import FactoredModel, Model
from myriad.parallel import team
from myriad.store import ArrayRows
from myriad.training import SGD, AtomDescent

BLOCK = 512
HELD = 5000


def plant(
    n: int, dim: int, n_classes: int, rank: int, scale: float, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return rows and labels; the truth depends on the seed, more rows on nothing else."""
    truth = np.random.default_rng(seed)
    A = truth.standard_normal((dim, rank), dtype=np.float32)
    B = truth.standard_normal((n_classes, rank), dtype=np.float32)
    draw = np.random.default_rng(seed + 1000)
    X = np.empty((n, dim), np.float32)
    y = np.empty(n, np.int32)
    for start in range(0, n, BLOCK):
        some = draw.standard_normal((min(BLOCK, n - start), dim), dtype=np.float32)
        X[start : start + BLOCK] = some / np.float32(np.sqrt(dim))
        scores = scale * (X[start : start + BLOCK] @ A) @ B.T + draw.gumbel(
            size=(len(some), n_classes)
        )
        y[start : start + BLOCK] = scores.argmax(axis=1)
    return X, y


def private_bytes() -> int:
    """Return the memory that is this process's own."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    return 0


def time_gradients(
    X: NDArray[np.float32], y: NDArray[np.int32], n_classes: int, count: int
) -> float:
    """Return the seconds of so many full gradients of the dense weights."""
    W = np.zeros((X.shape[1], n_classes), np.float32)
    began = time.perf_counter()
    with team(1):
        for _ in range(count):
            G = np.zeros_like(W)
            for start in range(0, len(X), BLOCK):
                some = np.ascontiguousarray(X[start : start + BLOCK])
                P = some @ W
                P -= P.max(axis=1, keepdims=True)
                np.exp(P, out=P)
                P /= P.sum(axis=1, keepdims=True)
                P[np.arange(len(some)), y[start : start + BLOCK]] -= 1
                G += some.T @ P
    return time.perf_counter() - began


def measure_speed(size: dict[str, Any]) -> dict[str, Any]:
    """Time the way to a bound of 1 % at the `lam` that is a tenth of the largest."""
    X, y = plant(**size, seed=0)
    n_classes = size["n_classes"]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        mapped = np.load(Path(folder) / "X.npy", mmap_mode="r")
        del X
        gradients = time_gradients(mapped, y, n_classes, 3)
        before, most = private_bytes(), 0

        def watch(row: dict[str, Any]) -> None:
            nonlocal most
            most = max(most, private_bytes())
            print(
                f"  {row['seconds']:.1f} s, bound {row['bound'] / row['objective']:.4f}", flush=True
            )

        began = time.perf_counter()
        fitted = AtomDescent(callback=watch).fit(
            ArrayRows(mapped, y), None, n_classes=n_classes, threads=1
        )
        seconds = time.perf_counter() - began
        gradients = 30 * (gradients + time_gradients(mapped, y, n_classes, 3)) / 6
    return {
        **size,
        "planted_rank": size["rank"],
        "lam": fitted.settings["lam"],
        "rank": fitted.settings["rank"],
        "bound_part": fitted.settings["bound"] / fitted.settings["value"],
        "seconds": round(seconds, 2),
        "seconds_of_30_gradients": round(gradients, 2),
        "ratio": round(seconds / gradients, 2),
        "private_megabytes": round((most - before) / 2**20, 1),
        "history": fitted.history,
    }


def measure_path(size: dict[str, Any]) -> dict[str, Any]:
    """Follow the path, and tell of the `lam` chosen."""
    n = size["n"]
    X, y = plant(**(size | {"n": n + 2 * HELD}), seed=0)
    train, val, test = (
        ArrayRows(X[part], y[part])
        for part in (slice(n), slice(n, n + HELD), slice(n + HELD, n + 2 * HELD))
    )
    began = time.perf_counter()
    fitted = AtomDescent().fit(train, val, n_classes=size["n_classes"], threads=1)
    return {
        **size,
        "planted_rank": size["rank"],
        "seconds": round(time.perf_counter() - began, 1),
        "lam": fitted.settings["lam"],
        "rank": fitted.settings["rank"],
        "test_top1": find_top1(fitted.model, test),
        "path": fitted.table,
    }


def measure_few(size: dict[str, Any], seeds: int) -> list[dict[str, Any]]:
    """Train on 10 rows a class by the trace norm and by L2, for several truths."""
    n_classes, table = size["n_classes"], []
    n = 10 * n_classes
    for seed in range(seeds):
        X, y = plant(**(size | {"n": n + 2 * HELD}), seed=seed)
        train, val, test = (
            ArrayRows(X[part], y[part])
            for part in (slice(n), slice(n, n + HELD), slice(n + HELD, n + 2 * HELD))
        )
        trace = AtomDescent(seed=seed).fit(train, val, n_classes=n_classes, threads=1)
        plain = SGD(objective="softmax", lam=None, seed=seed).fit(
            train, val, n_classes=n_classes, threads=1
        )
        row = {
            "seed": seed,
            "rows": n,
            "rank": trace.settings["rank"],
            "trace_top1": find_top1(trace.model, test),
            "l2_top1": find_top1(plain.model, test),
            "l2_lam": plain.settings["lam"],
        }
        print(f"  {row}", flush=True)
        table.append(row)
    return table


def find_top1(model: Model, rows: ArrayRows) -> float:
    """Return the percentage of rows whose best class is theirs."""
    return 100.0 * float((model.rank(rows.X, 1)[0][:, 0] == rows.labels).mean())


def measure_prediction(dim: int, n_classes: int, rank: int) -> dict[str, Any]:
    """Time the scores of 2,048 rows in factors and multiplied out."""
    draw = np.random.default_rng(0)
    shapes = ((n_classes, rank), (n_classes,), (dim, rank), (rank,))
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    factored = FactoredModel(*arrays)
    linear, X = factored.to_linear(), draw.standard_normal((2048, dim)).astype(np.float32)
    seconds = []
    with team(1):
        for model in (factored, linear):
            model.scores(X)
            times = []
            for _ in range(5):
                began = time.perf_counter()
                model.scores(X)
                times.append(time.perf_counter() - began)
            seconds.append(min(times))
    return {
        "dim": dim,
        "n_classes": n_classes,
        "rank": rank,
        "factored_seconds": round(seconds[0], 5),
        "dense_seconds": round(seconds[1], 5),
        "speed_up": round(seconds[1] / seconds[0], 1),
    }


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="speed,path,few,predict")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=500)
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--scale", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    size = {
        "n": options.rows, "dim": options.dim, "n_classes": options.classes, "rank": options.rank,
        "scale": options.scale,
    }  # fmt: skip
    results: dict[str, Any] = describe_run()
    measures = {
        "speed": lambda: measure_speed(size),
        "path": lambda: measure_path(size),
        "few": lambda: measure_few(size, options.seeds),
        "predict": lambda: [
            measure_prediction(options.dim, n_classes, options.rank)
            for n_classes in (options.classes, 20 * options.classes)
        ],
    }
    for part in options.parts.split(","):
        results[part] = measures[part]()
        print(f"{part}: {results[part]}", flush=True)
        write_results(options.out, results)


if __name__ == "__main__":
    main()
