"""The cost of automatic settings: the default beside one training with known settings; the dual.

    python benchmarks/automatic.py                     # both parts, about 10 minutes
    python benchmarks/automatic.py --parts dual --shrink 2

- default: `LinearClassifier()`, search included, beside one training with the settings that it has
  found, on N = 40,000 rows, D = 1024, C = 500;
- dual: `DualSVM()` with an automatic lam on N = 3,000 rows, D = 131,072, C = 100. To compare with
  an older version, run the same part with PYTHONPATH set to the sources of its work tree.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import describe_run, write_results

import myriad


def draw_rows(n: int, dim: int, classes: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of overlapping classes, with a mean that is not zero."""
    draws = np.random.default_rng(0)
    y = np.arange(n) % classes
    centres = draws.standard_normal((classes, dim), dtype=np.float32)
    X = spread * draws.standard_normal((n, dim), dtype=np.float32)
    X += centres[y]
    X += 1.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def measure_default(shrink: int, threads: int) -> dict[str, Any]:
    """Return the times of the default and of one training, and their ratio."""
    X, y = draw_rows(40_000 // shrink, 1024, 500 // shrink, 6.0)
    few = slice(0, 2000 // shrink)
    myriad.LinearClassifier(threads=threads).fit(X[few], y[few])  # compiled before it is timed
    model = myriad.LinearClassifier(threads=threads)
    began = time.perf_counter()
    model.fit(X, y)
    whole = time.perf_counter() - began
    found = model.settings_
    began = time.perf_counter()
    if model.objective_ == "dual":
        known: Any = myriad.DualSVM(loss="squared_hinge", lam=found["lam"], threads=threads)
    else:
        known = myriad.LinearSGD(
            objective=model.objective_,
            eta=found["eta"],
            scale=False,
            average=True,
            epochs=model.n_epochs_,
            early_stopping=False,
            threads=threads,
        )
    known.fit(X, y)
    once = time.perf_counter() - began
    return {
        "rows": len(X),
        "objective": model.objective_,
        "epochs": model.n_epochs_,
        "seconds": round(whole, 2),
        "seconds_of_known_settings": round(once, 2),
        "ratio": round(whole / once, 2),
    }


def measure_dual(shrink: int, threads: int) -> dict[str, Any]:
    """Return the time of an automatic lam with many more features than rows."""
    X, y = draw_rows(3000 // shrink, 131_072 // shrink, 100 // shrink, 12.0)
    few = np.arange(min(200, len(X)))
    myriad.DualSVM(threads=threads).fit(X[few, :300], y[few])
    began = time.perf_counter()
    model = myriad.DualSVM(threads=threads).fit(X, y)
    seconds = time.perf_counter() - began
    return {
        "rows": len(X),
        "features": X.shape[1],
        "lam": model.settings_["lam"],
        "seconds": seconds,
    }


PARTS = {"default": measure_default, "dual": measure_dual}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--shrink", type=int, default=1, help="how many times smaller")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    results: dict[str, Any] = describe_run()
    for part in options.parts.split(","):
        results[part] = PARTS[part](options.shrink, options.threads)
        print(part, results[part], flush=True)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
