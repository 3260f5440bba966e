"""Sampled softmax beside softmax and one-vs-rest: accuracy, and time of an epoch.

    python benchmarks/sampled_softmax.py STORE --out benchmarks/results/sampled_softmax.json

STORE is one of network rows, such as that of Tiny-ImageNet that ``recipes/automatic.py`` extracts.
Each method searches its learning rate on a tenth of the rows that are not for testing, which also
stops it early, and is then trained on all of them; its accuracy is that on the test rows. Processor
time, search included, and that of an epoch alone, on one thread, of rows in memory.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import describe_run, write_results

from myriad import LinearSGD
from myriad.parallel import open_threads
from myriad.store import ArrayRows, Store
from myriad.training import SGD
from myriad.training.sgd.fitting import Task

METHODS: dict[str, dict[str, Any]] = {
    "softmax": {"objective": "softmax"},
    "softmax, 64 negatives": {"objective": "softmax", "negatives": 64},
    "softmax, 16 negatives": {"objective": "softmax", "negatives": 16},
    "softmax, 4 negatives": {"objective": "softmax", "negatives": 4},
    "one-vs-rest, beta = all": {"objective": "ovr", "beta": "all"},
    "one-vs-rest, beta = 64": {"objective": "ovr", "beta": 64.0},
    "one-vs-rest, beta = 16": {"objective": "ovr", "beta": 16.0},
}
TIMED = 3


def read(store: Store, *splits: str) -> ArrayRows:
    """Return the rows of some splits, in memory."""
    parts = [store.rows(name) for name in splits]
    X = np.concatenate([rows.read(np.arange(rows.n_rows)) for rows in parts])
    labels = np.concatenate([rows.labels for rows in parts])
    return ArrayRows(X.astype(np.float32), labels, store.class_names)


def time_epoch(rows: ArrayRows, n_classes: int, eta: float, options: dict[str, Any]) -> float:
    """Return the least processor time of an epoch, of several after the first."""
    beta = options.get("beta")
    beta = {"beta": float("inf") if beta == "all" else beta} if beta else {}
    task = Task(SGD(**options | beta, eta=eta, scale=False), rows, None, n_classes)
    trainer = task.make([task.default_setting], rows)
    taken = []
    with open_threads(1) as pool:
        for _ in range(1 + TIMED):
            began = time.process_time()
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
            taken.append(time.process_time() - began)
    return min(taken[1:])


def measure(train: ArrayRows, test: ArrayRows, options: dict[str, Any]) -> dict[str, Any]:
    """Train by one method, search included, and measure it."""
    began = time.process_time()
    found = LinearSGD(**options, scale=False, threads=1).fit(train.X, train.labels)
    seconds = time.process_time() - began
    labels, _ = found.predict_topk(test.X, 5)
    hits = labels == test.labels[:, None]
    return {
        "top1": round(100 * float(hits[:, 0].mean()), 2),
        "top5": round(100 * float(hits.any(axis=1).mean()), 2),
        "epochs": found.n_epochs_,
        "eta": found.settings_["eta"],
        "seconds": round(seconds, 2),
        "epoch_seconds": round(
            time_epoch(train, len(found.classes_), found.settings_["eta"], options), 3
        ),
    }


def main() -> None:
    """Measure all methods, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    store = Store.open(options.store, verify=False)
    train, test = (read(store, *names) for names in (("train", "val"), ("test",)))
    table = {}
    for name, chosen in METHODS.items():
        table[name] = measure(train, test, chosen)
        print(name, table[name], flush=True)
    shape = {"rows": train.n_rows, "test": test.n_rows, "features": train.dim}
    shape["classes"] = len(store.class_names)
    write_results(options.out, {**describe_run(), **shape, "methods": table})


if __name__ == "__main__":
    main()
