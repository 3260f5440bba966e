"""What weights in float16 and int8 lose: accuracy, labels that change, size, time of a prediction.

    python benchmarks/rounded_weights.py STORE [STORE ...] --out FILE
    python benchmarks/rounded_weights.py --table FILE

STORE is one of those that ``recipes/automatic.py`` extracts. A model is trained on all rows that
are not for testing, by softmax with the learning rate that a tenth of them chooses, and its weights
are rounded. On the test rows: accuracy in percent, labels that are not those of float32, the
largest change of a softmax probability, and processor time of ranking 5 classes, all rows together
and one by itself, on one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import describe_run, write_results
from sampled_softmax import read

from myriad import LinearSGD
from myriad.models import Model, round_model
from myriad.serialisation import size_of
from myriad.store import ArrayRows, Store

PRECISIONS = ("float32", "float16", "int8")
ALONE, TIMES = 200, 5


def time_ranking(model: Model, X: np.ndarray) -> dict[str, float]:
    """Return the least processor time of ranking, in microseconds for each row."""
    together, alone = [], []
    for _ in range(TIMES):
        began = time.process_time()
        model.rank(X, 5)
        together.append((time.process_time() - began) / len(X))
        began = time.process_time()
        for x in X[:ALONE]:
            model.rank(x[None], 5)
        alone.append((time.process_time() - began) / len(X[:ALONE]))
    return {"together_us": round(1e6 * min(together), 2), "alone_us": round(1e6 * min(alone), 2)}


def measure(train: ArrayRows, test: ArrayRows) -> dict[str, Any]:
    """Train a model and measure it in each precision."""
    found = LinearSGD(objective="softmax", scale=False, threads=1).fit(train.X, train.labels)
    plain, table = found.model_, {}
    labels = plain.rank(test.X, 1)[0][:, 0]
    probabilities = softmax(plain.scores(test.X))
    for precision in PRECISIONS:
        model = plain if precision == "float32" else round_model(plain, precision)
        guesses = model.rank(test.X, 1)[0][:, 0]
        change = np.abs(softmax(model.scores(test.X)) - probabilities)
        table[precision] = {
            "top1": round(100 * float((guesses == test.labels).mean()), 2),
            "changed_labels": int((guesses != labels).sum()),
            "largest_change_of_a_probability": round(float(change.max()), 5),
            "bytes": size_of(model),
            **time_ranking(model, test.X),
        }
    shape = {"classes": len(train.class_names), "features": train.dim}
    return {**shape, "rows": train.n_rows, "test": test.n_rows, "precisions": table}


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities in float64."""
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def print_table(results: dict[str, Any]) -> None:
    """Print the results as a table of Markdown."""
    print("| rows | weights | size | top-1 | changed labels | a row of many | a row alone |")
    print("|---|---|---|---|---|---|---|")
    for name, found in results["stores"].items():
        shape = f"{name}: {found['classes']:,} x {found['features']:,}"
        for precision, one in found["precisions"].items():
            size = f"{one['bytes'] / 1e6:.2f} MB"
            changed = f"{one['changed_labels']} of {found['test']:,}"
            times = f"{one['together_us']:.1f} µs | {one['alone_us']:.0f} µs"
            print(f"| {shape} | {precision} | {size} | {one['top1']} | {changed} | {times} |")
            shape = ""


def main() -> None:
    """Measure all stores, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    parser.add_argument("--table", type=Path, help="print results as a table")
    options = parser.parse_args()
    if options.table:
        print_table(json.loads(options.table.read_text(encoding="utf-8")))
        return
    found = {}
    for path in options.stores:
        store = Store.open(path, verify=False)
        found[path.name] = measure(read(store, "train", "val"), read(store, "test"))
        print(path.name, found[path.name], flush=True)
    write_results(options.out, {**describe_run(), "stores": found})


if __name__ == "__main__":
    main()
