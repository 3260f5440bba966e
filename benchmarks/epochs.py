"""An epoch of every objective against the bare product ``X @ W.T`` of the same shape, in one run.

    python benchmarks/epochs.py                      # shapes (a) and (b), one thread, about 5 min
    python benchmarks/epochs.py --threads 2
    python benchmarks/epochs.py --out benchmarks/results/epochs.json

Shapes: (a) N = 40,000, D = 1024, C = 500; (b) N = 8,192, D = 4096, C = 1000; (c) N = 20,000,
D = 1024, C = 10,000, where one-vs-rest multiplies only the rows it draws. Classes overlap; the
third epoch counts. A ratio of 1 means the speed of the bare product. Epochs and products take
turns, as many products in a row as last about as long as an epoch: so both see the same noise.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from record import describe_run, write_results

from myriad.parallel import ThreadPool, open_threads
from myriad.store import ArrayRows
from myriad.training import SGD
from myriad.training.settings import mean_square
from myriad.training.sgd.fitting import Task

SHAPES = {"a": (40_000, 1024, 500), "b": (8_192, 4096, 1000), "c": (20_000, 1024, 10_000)}
OBJECTIVES = {
    "multiclass": ("multiclass", None),
    "warp": ("warp", None),
    "ranking": ("ranking", None),
    "softmax": ("softmax", None),
    "ovr, beta = 64": ("ovr", 64.0),
    "ovr, beta = all": ("ovr", math.inf),
}
EPOCHS = 3
REPEATS = 5
"""Times that each is measured, product and training: the best counts, for both alike."""
PRODUCT_ROWS = 1024


def draw_rows(n: int, dim: int, n_classes: int) -> ArrayRows:
    """Return rows of overlapping classes, of norm about 1."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    means = rng.standard_normal((n_classes, dim), dtype=np.float32)
    X = rng.standard_normal((n, dim), dtype=np.float32)
    for start in range(0, n, PRODUCT_ROWS):
        part = slice(start, start + PRODUCT_ROWS)
        X[part] += np.float32(0.15) * means[labels[part]]
    X /= np.float32(math.sqrt(dim))
    return ArrayRows(X, labels)


def time_product(rows: ArrayRows, n_classes: int, pool: ThreadPool, times: int = 1) -> float:
    """Return the mean seconds of the bare product, shared out over rows, made so many times."""
    W = np.random.default_rng(1).standard_normal((n_classes, rows.dim), dtype=np.float32)

    def multiply(start: int) -> None:
        _ = rows.X[start : start + PRODUCT_ROWS] @ W.T

    began = time.perf_counter()
    for _ in range(times):
        pool.share(multiply, range(0, rows.n_rows, PRODUCT_ROWS))
    return (time.perf_counter() - began) / times


def count_products(seconds: float, product: float) -> int:
    """Return how many products last about as long as an epoch, so that both see equal noise."""
    return max(1, round(seconds / product))


def time_objective(
    rows: ArrayRows,
    objective: str,
    beta: float | None,
    n_classes: int,
    pool: ThreadPool,
    epochs: int = EPOCHS,
) -> list[float]:
    """Return the seconds of each epoch of an objective, with a usual step."""
    method = SGD(objective=objective, eta=0.3 / mean_square(rows), beta=beta, scale=False)
    return time_epochs(rows, method, n_classes, pool, epochs)


def time_epochs(
    rows: ArrayRows, method: SGD, n_classes: int, pool: ThreadPool, epochs: int = EPOCHS
) -> list[float]:
    """Return the seconds of each epoch of a method with nothing left to search."""
    task = Task(method, rows, None, n_classes)
    setting = task.default_setting
    trainer, rows = task.make([setting], rows), task.rows_for(rows, setting)
    seconds = []
    for _ in range(epochs):
        began = time.perf_counter()
        trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
        seconds.append(time.perf_counter() - began)
    return seconds


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="ab", help="which of a, b and c")
    parser.add_argument("--only", default="", help="objectives whose names begin so")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    table = []
    for shape in options.shapes:
        n, dim, n_classes = SHAPES[shape]
        rows = draw_rows(n, dim, n_classes)
        with open_threads(options.threads) as pool:
            for name, (objective, beta) in OBJECTIVES.items():
                if not name.startswith(options.only):
                    continue
                if shape == "c" and (objective != "ovr" or beta == math.inf):
                    continue
                time_objective(rows.select(np.arange(256)), objective, beta, n_classes, pool)
                once = time_product(rows, n_classes, pool)
                product, seconds = math.inf, [math.inf] * EPOCHS
                for _ in range(REPEATS):
                    timed = time_objective(rows, objective, beta, n_classes, pool)
                    seconds = [min(pair) for pair in zip(seconds, timed, strict=True)]
                    times = count_products(seconds[-1], once)
                    product = min(product, time_product(rows, n_classes, pool, times))
                ratios = [round(s / product, 2) for s in seconds]
                print(
                    f"({shape}) {name:<18} product {product:.3f} s, epochs x {ratios}", flush=True
                )
                table.append(
                    {
                        "shape": shape,
                        "objective": name,
                        "product_seconds": round(product, 4),
                        "epoch_seconds": [round(s, 4) for s in seconds],
                        "ratios": ratios,
                    }
                )
    write_results(options.out, {**describe_run(), "threads": options.threads, "rows": table})


if __name__ == "__main__":
    main()
