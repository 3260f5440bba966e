"""Accuracy of coded rows against their ratio, on random splits of a store [CC, section 4.4].

    myriad extract SCENE15 --codes none --out scene15.store     # once, about 5 min
    python benchmarks/codes.py scene15.store                    # about 20 min
    python benchmarks/codes.py scene15.store --out benchmarks/results/codes.json

Each split draws 100 training rows a class; the rest is the test. Product and bilinear codes need no
labels and are learned once, from the part ``train`` of the store, as the vocabulary was; features
are chosen by mutual information anew for every split, from its training rows alone. Models are
`LinearSGD` with automatic settings. Rows are trained on in an orthonormal basis of the training
rows: scalar products, and so all decisions, are those of the rows themselves, at a fraction of the
time. Accuracy is the mean over classes of top-1, in percent, on the test rows of the split.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results
from threadpoolctl import threadpool_limits

from myriad import LinearSGD
from myriad.codes import Code, learn_bits
from myriad.parallel import map_ordered, pool
from myriad.pipelines.coding import CodeOptions, Source, learn_code
from myriad.pipelines.compress import training_rows
from myriad.store import Rows, Store, inform_rows, sample_rows

RATIOS = (32, 64, 128, 256)
BLOCK = 128


def decode_all(rows: Rows, code: Code | None, threads: int) -> NDArray[np.float32]:
    """Return all rows as a learner sees them, float32 (n_rows, decoded_dim)."""
    width = rows.dim if code is None else code.decoded_dim
    X = np.empty((rows.n_rows, width), np.float32)

    def fill(start: int) -> None:
        part = np.arange(start, min(start + BLOCK, rows.n_rows))
        plain = rows.read(part)
        X[part] = plain if code is None else code.decode(code.encode(plain))

    with pool(threads) as executor:
        for _ in map_ordered(fill, range(0, rows.n_rows, BLOCK), executor, ahead=4):
            pass
    return X


def multiply(X: NDArray[np.float32], Z: NDArray[np.float32], threads: int) -> NDArray[np.float32]:
    """Return ``X Z^T``."""
    with threadpool_limits(threads):
        return X @ Z.T


def draw_split(labels: NDArray[np.int32], per_class: int, seed: int) -> NDArray[np.bool_]:
    """Return which rows are for training: `per_class` of each class."""
    random = np.random.default_rng(seed)
    train = np.zeros(len(labels), np.bool_)
    for c in np.unique(labels):
        train[random.permutation(np.flatnonzero(labels == c))[:per_class]] = True
    return train


def lay_out(gram: NDArray[np.float32], n_train: int) -> NDArray[np.float32]:
    """Return rows in a basis of the training rows, from products (n_rows, n_train) with them."""
    values, vectors = np.linalg.eigh(gram[:n_train].astype(np.float64))
    kept = values > 1e-9 * values[-1]
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return (gram.astype(np.float64) @ basis).astype(np.float32)


def measure_split(
    gram: NDArray[np.float32], labels: NDArray[np.int32], train: NDArray[np.bool_], threads: int
) -> dict[str, float]:
    """Train on one split and return the accuracies of its test rows, in percent."""
    order = np.concatenate([np.flatnonzero(train), np.flatnonzero(~train)])
    n_train = int(train.sum())
    X, y = lay_out(gram, n_train), labels[order]
    began = time.perf_counter()
    model = LinearSGD(threads=threads, random_state=0).fit(X[:n_train], y[:n_train])
    seconds = time.perf_counter() - began
    right = model.predict(X[n_train:]) == y[n_train:]
    classes = [right[y[n_train:] == c].mean() for c in np.unique(y)]
    return {
        "class_top1": 100 * float(np.mean(classes)),
        "top1": 100 * float(right.mean()),
        "seconds_training": seconds,
    }


class Experiment:
    """The products of coded rows, made once where the code does not depend on the split."""

    def __init__(self, store: Store, options: argparse.Namespace) -> None:
        self.rows, self.options, self.store = store.rows(), options, store
        self.splits = [
            draw_split(store.labels, options.per_class, seed) for seed in range(options.splits)
        ]
        self.found: dict[tuple[str, int], list[dict[str, float]]] = {}

    def add(self, name: str, ratio: int, split: int, gram: NDArray[np.float32]) -> None:
        """Train on one split of coded rows and take down the result."""
        train, threads = self.splits[split], self.options.threads
        result = measure_split(gram, self.store.labels, train, threads)
        self.found.setdefault((name, ratio), []).append(result)
        print(f"{name:<9} ratio {ratio:<4} split {split}: {result['class_top1']:.2f}", flush=True)

    def run_shared(self, name: str, ratio: int) -> None:
        """Measure a code that is learned once, without labels; ``float32`` is none at all."""
        threads, code = self.options.threads, None
        if name != "float32":
            sample = sample_rows(training_rows(self.store), seed=0)
            period = None if self.store.recipe is None else self.store.recipe.period
            code = learn_code(
                Source(sample, None, period), CodeOptions(name, ratio), threads=threads
            )
        X = decode_all(self.rows, code, threads)
        gram = multiply(X, X, threads)
        for split, train in enumerate(self.splits):
            order = np.concatenate([np.flatnonzero(train), np.flatnonzero(~train)])
            self.add(name, ratio, split, gram[np.ix_(order, order[: train.sum()])])

    def run_bits(self, ratios: list[int]) -> None:
        """Measure sign bits of the most informative features; one pass a split ranks them."""
        threads = self.options.threads
        every = learn_bits(self.rows.read(np.arange(2)))
        signs = decode_all(self.rows, every, threads)
        for split, train in enumerate(self.splits):
            order = np.concatenate([np.flatnonzero(train), np.flatnonzero(~train)])
            training = self.rows.select(np.flatnonzero(train))
            ranking = np.argsort(-inform_rows(training, threads=threads), kind="stable")
            gram = np.zeros((len(order), int(train.sum())), np.float32)
            done = 0
            for ratio in sorted(ratios, reverse=True):  # more features add to the products
                wanted = min(32 * self.rows.dim // ratio, self.rows.dim)
                X = np.take(signs, np.sort(ranking[done:wanted]), axis=1)
                gram += multiply(X[order], X[order[: train.sum()]], threads)
                done = wanted
                self.add("bits", ratio, split, gram)


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, help="a store of plain rows")
    parser.add_argument("--codes", default="float32,pq,bits,bilinear")
    parser.add_argument("--ratios", default=",".join(map(str, RATIOS)))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--per-class", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    experiment = Experiment(Store.open(options.store), options)
    ratios = [int(ratio) for ratio in options.ratios.split(",")]
    for name in options.codes.split(","):
        if name == "bits":
            experiment.run_bits(ratios)
        else:
            for ratio in [1] if name == "float32" else ratios:
                experiment.run_shared(name, ratio)
    table: list[dict[str, Any]] = []
    for (name, ratio), results in sorted(experiment.found.items()):
        values = [result["class_top1"] for result in results]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        mean = statistics.mean(values)
        print(f"{name:<9} ratio {ratio:<4} {mean:.2f} +- {spread:.2f} % top-1, mean over classes")
        table.append(
            {"codes": name, "ratio": ratio, "class_top1": mean, "spread": spread, "splits": results}
        )
    write_results(options.out, {**describe_run(), "store": options.store.name, "rows": table})


if __name__ == "__main__":
    main()
