"""Recall@k in mini-batches beside that of all rows: objective, accuracy, time and memory.

    python benchmarks/recall_batches.py --data FILE.mat
    python benchmarks/recall_batches.py --data STORE --decades -6,-5,-4 \\
        --out benchmarks/results/recall_batches-NAME.json

The data are the Caltech 101 Silhouettes of `recipes/silhouettes.py`, or a store with train, val and
test rows. Each training is a process of its
own, from zero, on one thread, to a gap of 0.001 or for `--epochs`. ``lam = 25 / (n^2 C)`` as for
SVMperf, C in decades. What stands in the table is the C with the best validation accuracy.

`value` is the objective that is trained on and `all rows` that of all rows at the same weights: the
first is at most the second. Seconds are processor times of the whole training. Memory is private
memory above that before the training; of a store the rows are not in it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from memory import Watch
from record import describe_run, write_results

from myriad.parallel import open_threads
from myriad.store import Rows, Store
from myriad.training import Context, Recall
from myriad.training.pairs.recall import RecallPlanes

sys.path.insert(0, str(Path(__file__).parents[1] / "recipes"))
from silhouettes import read_silhouettes

DEPTHS = (1, 5, 10)


def read_splits(path: Path) -> dict[str, Rows]:
    """Return the rows to train on, to validate on and to test on."""
    if path.suffix == ".mat":
        return dict(read_silhouettes(path))
    return {name: Store.open(path).rows([name]) for name in ("train", "val", "test")}


def train(path: Path, k: int, batch: int | None, decade: int, epochs: int) -> dict[str, Any]:
    """Train once, in this process; return what the table needs."""
    splits = read_splits(path)
    rows, names = splits["train"], splits["train"].class_names
    lam = 25 / (rows.n_rows**2 * 10.0**decade)
    method = Recall(k=k, batch=batch, lam=lam, center=False, epochs=epochs)
    warm = rows.select(np.arange(200))
    method.fit(warm, None, n_classes=len(names), context=Context(threads=1))  # loads the kernels
    with Watch() as watch:
        began = time.process_time()
        fitted = method.fit(rows, None, n_classes=len(names), context=Context(threads=1))
        seconds = time.process_time() - began
    row = {"batch": batch or "all", "C": decade, "epochs": fitted.epochs}
    row |= {"gap": fitted.settings["gap"], "value": round(fitted.settings["primal"], 5)}
    with open_threads(1) as pool:
        whole = RecallPlanes(rows, len(names), k=k, lam=lam, bias=0.0)
        whole._best[:, :-1] = fitted.model.weights
        row["all rows"] = round(float(whole.certify(pool).primals[0]), 5)
    row |= {"seconds": round(seconds, 1), "MB": round((watch.most - watch.before) / 1e6, 1)}
    for split in ("val", "test"):
        some = splits[split]
        ranks, _ = fitted.model.rank_true_labels(some.read(np.arange(some.n_rows)), some.labels)
        row[split] = [round(100 * float((ranks <= depth).mean()), 2) for depth in DEPTHS]
    return row


def main() -> None:
    """Train with each batch and C, print, and write the results if a file is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the .mat file, or a store")
    parser.add_argument("--k", type=int, default=1)
    parser.add_argument("--batches", default="all,4096,1024,256", help="all, or numbers of rows")
    parser.add_argument("--decades", default="-6,-5,-4,-3", help="logarithms of C")
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table = []
    for word in options.batches.split(","):
        batch = None if word == "all" else int(word)
        for decade in map(int, options.decades.split(",")):
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=spawn) as process:
                call = process.submit(train, options.data, options.k, batch, decade, options.epochs)
                table.append(call.result())
            print(table[-1], flush=True)
    chosen = {}
    for row in table:
        if row["val"][0] > chosen.get(row["batch"], {"val": [-1.0]})["val"][0]:
            chosen[row["batch"]] = row
    for row in chosen.values():
        print("chosen", row)
    results = {"data": options.data.stem, "k": options.k, "depths": DEPTHS, "table": table}
    write_results(options.out, describe_run() | results)


if __name__ == "__main__":
    main()
