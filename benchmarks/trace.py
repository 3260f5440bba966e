"""Trace norm by stochastic atom descent on a planted low rank: time, rank, memory, few examples.

    python benchmarks/trace.py                       # all parts, about 15 min
    python benchmarks/trace.py --parts speed --out benchmarks/results/trace.json

Rows are Gaussian of norm about 1, D = 1024; scores are ``3 X A B^T`` with Gaussian A and B of rank
20 for C = 500 classes, and the label is the best class after standard Gumbel noise: a multinomial
logistic truth. A smaller --scale than 3 is more noise. Parts:

- speed: seconds until the bound on suboptimality is 1 % of the objective, one thread, beside
  the seconds of 30 full gradients in the same run; private memory above what the data takes;
- path: rank and accuracy at the `lam` chosen on 5,000 validation rows;
- few: 10 rows per class on average, top-1 on 5,000 test rows beside L2 softmax, for several seeds:
  L2 by SGD as `LinearSGD` chooses it, and the minimum of ``lam/2 |W|^2 + mean loss`` for a wide
  range of `lam` by L-BFGS, both chosen on 5,000 validation rows;
- predict: factored scores against those of the weights multiplied out;
- store: accuracy and rank on the rows of a store (--store) beside L2 softmax, as they are.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results
from scipy.optimize import minimize

from myriad.models import FactoredModel, LinearModel, Model
from myriad.parallel import open_threads
from myriad.store import ArrayRows, Rows, Store
from myriad.training import SGD, AtomDescent, Context
from myriad.training.trace.latents import SelectedFeatures
from myriad.training.trace.method import prior_biases
from myriad.training.trace.multinomial import Risk

BLOCK = 512
HELD = 5000
L2_LAMS = [10 ** (-half / 2) for half in range(5, 13)]
L2_STEPS = 50


def draw_planted(
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
    """Return the private memory of this process in bytes."""
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
    with open_threads(1):
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
    X, y = draw_planted(**size, seed=0)
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
            ArrayRows(mapped, y), None, n_classes=n_classes, context=Context(threads=1)
        )
        seconds = time.perf_counter() - began
        gradients = 30 * (gradients + time_gradients(mapped, y, n_classes, 3)) / 6
    return {
        **{name: value for name, value in size.items() if name != "rank"},
        "planted_rank": size["rank"],
        "lam": fitted.settings["lam"],
        "found_rank": fitted.settings["rank"],
        "bound_part": fitted.settings["bound"] / fitted.settings["value"],
        "seconds": round(seconds, 2),
        "seconds_of_30_gradients": round(gradients, 2),
        "ratio": round(seconds / gradients, 2),
        "private_megabytes": round((most - before) / 2**20, 1),
        "history": fitted.history,
    }


def show(row: dict[str, Any]) -> None:
    """Print a round."""
    print(
        f"  {row['seconds']:.0f} s, lam {row['lam']:.3g}, rank {row['rank']}, "
        f"bound {row['bound'] / row['objective']:.4f}, top1 {row['top1']:.2f}",
        flush=True,
    )


def measure_path(size: dict[str, Any]) -> dict[str, Any]:
    """Train along the path; return the results at the `lam` chosen."""
    n = size["n"]
    X, y = draw_planted(**(size | {"n": n + 2 * HELD}), seed=0)
    train, val, test = (
        ArrayRows(X[part], y[part])
        for part in (slice(n), slice(n, n + HELD), slice(n + HELD, n + 2 * HELD))
    )
    began = time.perf_counter()
    fitted = AtomDescent(callback=show).fit(
        train, val, n_classes=size["n_classes"], context=Context(threads=1)
    )
    return {
        **{name: value for name, value in size.items() if name != "rank"},
        "planted_rank": size["rank"],
        "seconds": round(time.perf_counter() - began, 1),
        "lam": fitted.settings["lam"],
        "relax": fitted.settings["relax"],
        "found_rank": fitted.settings["rank"],
        "test_top1": find_top1(fitted.model, test),
        "path": fitted.table,
    }


def measure_few(size: dict[str, Any], seeds: int) -> list[dict[str, Any]]:
    """Train on 10 rows per class by the trace norm and by L2, for several truths."""
    n_classes, table = size["n_classes"], []
    n = 10 * n_classes
    for seed in range(seeds):
        X, y = draw_planted(**(size | {"n": n + 2 * HELD}), seed=seed)
        train, val, test = (
            ArrayRows(X[part], y[part])
            for part in (slice(n), slice(n, n + HELD), slice(n + HELD, n + 2 * HELD))
        )
        row = {"seed": seed, "rows": n, **compare_penalties(train, val, test, n_classes, seed)}
        print(f"  {row}", flush=True)
        table.append(row)
    return table


def compare_penalties(
    train: ArrayRows, val: ArrayRows, test: ArrayRows, n_classes: int, seed: int
) -> dict[str, Any]:
    """Train by the trace norm, by L2 and SGD, and to the minimum under L2; return what is found."""
    trace = AtomDescent(seed=seed).fit(train, val, n_classes=n_classes, context=Context(threads=1))
    plain = SGD(objective="softmax", lam=None, seed=seed).fit(
        train, val, n_classes=n_classes, context=Context(threads=1)
    )
    exact, lam = minimise_l2(train, val, n_classes)
    return {
        "rank": trace.settings["rank"],
        "relax": trace.settings["relax"],
        "trace_top1": find_top1(trace.model, test),
        "l2_top1": find_top1(plain.model, test),
        "l2_lam": plain.settings["lam"],
        "l2_minimum_top1": find_top1(exact, test),
        "l2_minimum_lam": lam,
    }


def minimise_l2(train: ArrayRows, val: ArrayRows, n_classes: int) -> tuple[LinearModel, float]:
    """Return the minimum under L2 and its `lam`, the best on validation rows of `L2_LAMS`.

    L-BFGS continues from the minimum of one `lam` to the next smaller; each class has a bias, the
    logarithm of its part of the rows, as the trace norm has.
    """
    biases = prior_biases(train, n_classes)
    shape = train.dim, n_classes
    found = np.zeros(shape)
    tried: list[tuple[float, LinearModel, float]] = []
    with open_threads(1) as pool:
        risk = Risk(train, biases, pool)
        latents = risk.project(SelectedFeatures(np.arange(train.dim)))
        for lam in L2_LAMS:

            def value(x: NDArray[Any], lam: float = lam) -> tuple[float, NDArray[Any]]:
                loss, G = risk.evaluate(latents, x.reshape(shape))
                return loss + lam / 2 * float(x @ x), G.ravel() + lam * x

            answer = minimize(
                value, found.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": L2_STEPS}
            )
            found = answer.x.reshape(shape)
            model = LinearModel(np.ascontiguousarray(found.T, np.float32), biases)
            tried.append((find_top1(model, val), model, lam))
    return max(tried, key=lambda one: one[0])[1:]


def measure_store(path: Path, seed: int = 0) -> dict[str, Any]:
    """Compare the penalties on the rows of a store, its test rows held out."""
    store = Store.open(path)
    train, val, test = (store.rows(split) for split in ("train", "val", "test"))
    projected = project_to_span([train, val, test])
    sizes = {
        "rows": [part.n_rows for part in projected],
        "dim": store.dim,
        "span": projected[0].dim,
    }
    return sizes | compare_penalties(*projected, len(store.class_names), seed)


def project_to_span(parts: Sequence[Rows]) -> list[ArrayRows]:
    """Return parts in coordinates of the span of the first, where that has fewer dimensions.

    Weights outside the span only add to either penalty, so that the minima are the same.
    """
    train = parts[0]
    if train.dim <= train.n_rows:
        read = (part.read(np.arange(part.n_rows)) for part in parts)
        return [ArrayRows(X, part.labels) for X, part in zip(read, parts, strict=True)]
    X = train.read(np.arange(train.n_rows)).astype(np.float32, copy=False)
    values, vectors = np.linalg.eigh((X @ X.T).astype(np.float64))
    some = values > 1e-6 * values[-1]
    turn = (vectors[:, some] / np.sqrt(values[some])).astype(np.float32)
    found = []
    for part in parts:
        products = [
            part.read(np.arange(start, min(start + BLOCK, part.n_rows))) @ X.T
            for start in range(0, part.n_rows, BLOCK)
        ]
        found.append(ArrayRows(np.concatenate(products) @ turn, part.labels))
    return found


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
    with open_threads(1):
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
    parser.add_argument("--store", type=Path, help="a store to compare on: the part store")
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
        "store": lambda: measure_store(options.store),
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
