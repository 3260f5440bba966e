"""Seconds of each projection beside that onto the simplex, for 10 to 100,000 entries.

    python benchmarks/projections.py                 # about a minute
    python benchmarks/projections.py --out benchmarks/results/projections.json

Entries are standard Gaussian, float32; the sum may be up to 1, the price of the sum is 1 where a
set has one, and k is 5 (or half the entries, if these are fewer). The median over vectors counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results

from myriad.projections import (
    project_knapsack,
    project_simplex,
    project_topk_beta,
    project_topk_cone,
    project_topk_simplex,
)

SIZES = (10, 100, 1000, 10_000, 100_000)
K, RHO, RADIUS = 5, 1.0, 1.0
Vector = NDArray[np.float32]
PROJECTIONS: dict[str, Callable[[Vector, Vector, int], None]] = {
    "simplex": lambda b, x, k: project_simplex(b, x, RADIUS, False),
    "knapsack, at most": lambda b, x, k: project_knapsack(b, x, RADIUS / k, RADIUS, False),
    "knapsack, equal": lambda b, x, k: project_knapsack(b, x, RADIUS / k, RADIUS, True),
    "top-k cone": lambda b, x, k: project_topk_cone(b, x, k, RHO),
    "top-k simplex, alpha": lambda b, x, k: project_topk_simplex(b, x, k, RHO, RADIUS),
    "top-k simplex, beta": lambda b, x, k: project_topk_beta(b, x, k, RHO, RADIUS),
}


def time_projection(name: str, vectors: Vector, k: int) -> float:
    """Return the median microseconds of a call."""
    project, x = PROJECTIONS[name], np.empty(vectors.shape[1], np.float32)
    repeats = max(1, 2000 // vectors.shape[1])  # a call of a few entries is too short to time
    seconds = []
    for b in vectors:
        began = time.perf_counter()
        for _ in range(repeats):
            project(b, x, k)
        seconds.append((time.perf_counter() - began) / repeats)
    return 1e6 * float(np.median(seconds))


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=int, default=101)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    table: list[dict[str, Any]] = []
    print(f"{'microseconds':<22}" + "".join(f"{size:>10}" for size in SIZES))
    drawn = {n: rng.standard_normal((options.vectors, n), dtype=np.float32) for n in SIZES}
    for name in PROJECTIONS:
        times = {}
        for size, vectors in drawn.items():
            k = min(K, size // 2)
            time_projection(name, vectors[:2], k)
            times[size] = round(time_projection(name, vectors, k), 3)
        print(f"{name:<22}" + "".join(f"{t:>10.2f}" for t in times.values()), flush=True)
        ratios = {
            n: round(t / (table[0]["microseconds"][n] if table else t), 2) for n, t in times.items()
        }
        table.append({"projection": name, "microseconds": times, "times_the_simplex": ratios})
    write_results(options.out, {**describe_run(), "k": K, "rho": RHO, "r": RADIUS, "rows": table})


if __name__ == "__main__":
    main()
