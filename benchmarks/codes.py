"""Accuracy of coded rows against their ratio, on random splits of a store [CC, section 4.4].

    myriad extract SCENE15 --codes none --out scene15.store     # once, about 5 min
    python benchmarks/codes.py scene15.store                    # about 25 min
    python benchmarks/codes.py scene15.store --work products --out benchmarks/results/codes.json

Each split draws 100 training rows per class; the rest is the test. Product and bilinear codes need
no labels and are learned once, from the split ``train`` of the store, as the vocabulary was;
features are chosen by mutual information, and rows centred, anew for every split, from its training
rows alone. Models are one-vs-rest machines in the dual, as in [CC], of rows with a mean squared
norm of 1; ``lam`` is so small that all training rows are separated, and smaller ones change little.
Rows are trained on in an orthonormal basis of the training rows: inner products, and so all
decisions, are those of the rows themselves, at a fraction of the time. Accuracy is the mean over
classes of top-1, in percent, on the test rows of the split. With ``--work`` products of rows and
results are kept in a folder, from which an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bit_products import count_agreeing
from numpy.typing import NDArray
from record import describe_run, write_results
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits

from myriad import DualSVM
from myriad.codes import Code, CodeOptions, Source
from myriad.parallel import LearningContext, map_ordered, thread_executor
from myriad.pipelines.describing.code_learning import learn_code, measure_information
from myriad.pipelines.stores.compress import training_rows
from myriad.store import Rows, Store, sample_rows

RATIOS = (32, 64, 128, 256)
CODES = ("float32", "pq", "bits", "turned", "bilinear")
CHOSEN = ("bits", "turned")
BLOCK = 128
LAM = 1e-4


def read_all(
    rows: Rows, width: int, dtype: Any, make: Callable[[NDArray[np.float32]], Any], threads: int
) -> NDArray[Any]:
    """Return what `make` makes of all rows, (n_rows, width)."""
    X = np.empty((rows.n_rows, width), dtype)

    def fill(start: int) -> None:
        part = np.arange(start, min(start + BLOCK, rows.n_rows))
        X[part] = make(rows.read(part))

    with thread_executor(threads) as executor:
        for _ in map_ordered(fill, range(0, rows.n_rows, BLOCK), executor, ahead=4):
            pass
    return X


def multiply_all(rows: Rows, code: Code | None, threads: int) -> NDArray[np.float32]:
    """Return the products of all rows with all, decoded where there is a code."""
    if code is not None and code.kind == "bilinear":
        codes = read_all(rows, code.bytes_per_row, np.uint8, code.encode, threads)
        return multiply_bits(codes, codes, code.decoded_dim, threads)

    def decode(plain: NDArray[np.float32]) -> NDArray[np.float32]:
        return plain if code is None else code.decode(code.encode(plain))

    X = read_all(rows, rows.dim, np.float32, decode, threads)
    with threadpool_limits(threads):
        return X @ X.T


def multiply_bits(
    codes: NDArray[np.uint8], others: NDArray[np.uint8], n_bits: int, threads: int
) -> NDArray[np.float32]:
    """Return the products of rows of +1 and -1, whole bytes of them, from their bits."""
    agreeing = np.empty((len(codes), len(others)), np.float32)

    def fill(start: int) -> None:
        part = slice(start, start + 16)
        count_agreeing(codes[part], others, agreeing[part])

    with thread_executor(threads) as executor:
        for _ in map_ordered(fill, range(0, len(codes), 16), executor, ahead=4):
            pass
    return 2 * agreeing - np.float32(n_bits)


def draw_split(labels: NDArray[np.int32], per_class: int, seed: int) -> NDArray[np.int64]:
    """Return all rows, `per_class` of each class for training first."""
    random = np.random.default_rng(seed)
    train = np.zeros(len(labels), np.bool_)
    for c in np.unique(labels):
        train[random.permutation(np.flatnonzero(labels == c))[:per_class]] = True
    return np.concatenate([np.flatnonzero(train), np.flatnonzero(~train)])


def to_basis(products: NDArray[np.float32], n_train: int) -> NDArray[np.float32]:
    """Return rows in a basis of the training rows, from products (n_rows, n_train) with them.

    Training rows have a mean squared length of 1, so that ``lam`` means the same for all codes.
    """
    gram = products.astype(np.float64) / np.diag(products[:n_train]).mean()
    gram[np.arange(n_train), np.arange(n_train)] += 1e-7  # rows may come twice
    triangle = np.linalg.cholesky(gram[:n_train])
    return solve_triangular(triangle, gram.T, lower=True).T.astype(np.float32)


def measure_split(
    products: NDArray[np.float32], y: NDArray[np.int32], n_train: int, threads: int
) -> dict[str, float]:
    """Train on the first rows and return the accuracies of the others, in percent."""
    with threadpool_limits(threads):
        X = to_basis(products, n_train)
    began = time.perf_counter()
    model = DualSVM(lam=LAM, threads=threads, random_state=0).fit(X[:n_train], y[:n_train])
    seconds = time.perf_counter() - began
    right = model.predict(X[n_train:]) == y[n_train:]
    classes = [right[y[n_train:] == c].mean() for c in np.unique(y)]
    return {
        "class_top1": 100 * float(np.mean(classes)),
        "top1": 100 * float(right.mean()),
        "seconds_training": round(seconds, 3),
    }


class Experiment:
    """All codes on all splits; products of rows are made once."""

    def __init__(self, store: Store, options: argparse.Namespace) -> None:
        self.rows, self.options, self.store = store.rows(), options, store
        self.splits = [
            draw_split(store.labels, options.per_class, seed) for seed in range(options.splits)
        ]
        self.n_train = options.per_class * len(store.class_names)
        self.found: dict[tuple[str, int], list[dict[str, float]]] = {}

    def cache(self, name: str, make: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return an array from the folder of products, made where it is not there."""
        if self.options.work is None:
            return make()
        path = self.options.work / f"{name}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_suffix(".part.npy")
            np.save(beside, make())
            beside.rename(path)
        return np.load(path)

    def add(self, name: str, ratio: int, split: int, products: NDArray[np.float32]) -> None:
        """Train on one split of coded rows and take down the result."""
        y = self.store.labels[self.splits[split]]
        kept = self.options.work and self.options.work / f"{name}-{ratio}-{split}.json"
        if kept and kept.exists():
            result = json.loads(kept.read_text())
        else:
            result = measure_split(products, y, self.n_train, self.options.threads)
            if kept:
                kept.write_text(json.dumps(result))
        self.found.setdefault((name, ratio), []).append(result)
        print(f"{name:<9} ratio {ratio:<4} split {split}: {result['class_top1']:.2f}", flush=True)

    def learn(self, rows: Rows, options: CodeOptions) -> Code:
        """Learn a code from training rows."""
        recipe, context = self.store.recipe, LearningContext(threads=self.options.threads)
        source = Source(sample_rows(rows, seed=0), None, None if recipe is None else recipe.period)
        information = measure_information(rows, source, options, context)
        return learn_code(replace(source, information=information), options, context)

    def run_shared(self, name: str, ratio: int) -> None:
        """Measure a code that is learned once, without labels; ``float32`` is none at all."""

        def make() -> NDArray[np.float32]:
            code = None
            if name != "float32":
                code = self.learn(training_rows(self.store), CodeOptions(name, ratio))
            return multiply_all(self.rows, code, self.options.threads)

        gram = self.cache(f"{name}-{ratio}", make)
        for split, order in enumerate(self.splits):
            self.add(name, ratio, split, gram[np.ix_(order, order[: self.n_train])])

    def run_chosen(self, name: str, ratios: list[int]) -> None:
        """Measure bits of the most informative features, whose first ones are the higher ratios."""
        threads = self.options.threads
        for split, order in enumerate(self.splits):
            training = self.rows.select(order[: self.n_train])

            def make(training: Rows = training, order: Any = order) -> NDArray[np.float32]:
                code = self.learn(training, CodeOptions(name, min(ratios)))
                codes = read_all(self.rows, code.bytes_per_row, np.uint8, code.encode, threads)
                made, done = [], 0
                for ratio in sorted(ratios, reverse=True):  # more bits add to the products
                    size = min(4 * self.rows.dim // ratio, code.bytes_per_row)
                    part = np.ascontiguousarray(codes[order, done:size])
                    more = multiply_bits(part, part[: self.n_train], 8 * (size - done), threads)
                    made.append(more + made[-1] if made else more)
                    done = size
                return np.stack(made)

            products = self.cache(f"{name}-{split}", make)
            for number, ratio in enumerate(sorted(ratios, reverse=True)):
                self.add(name, ratio, split, products[number])


def tabulate(found: dict[tuple[str, int], list[dict[str, float]]]) -> list[dict[str, Any]]:
    """Print and return a line for each code and ratio: mean and deviation over the splits."""
    table: list[dict[str, Any]] = []
    for (name, ratio), results in sorted(found.items()):
        values = [result["class_top1"] for result in results]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        mean = statistics.mean(values)
        print(f"{name:<9} ratio {ratio:<4} {mean:.2f} +- {spread:.2f} % top-1, mean over classes")
        table.append(
            {"codes": name, "ratio": ratio, "class_top1": mean, "spread": spread, "splits": results}
        )
    return table


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, help="a store of plain rows")
    parser.add_argument("--codes", default=",".join(CODES))
    parser.add_argument("--ratios", default=",".join(map(str, RATIOS)))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--per-class", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="a folder that keeps products and results")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    experiment = Experiment(Store.open(options.store), options)
    ratios = [int(ratio) for ratio in options.ratios.split(",")]
    for name in options.codes.split(","):
        if name in CHOSEN:
            experiment.run_chosen(name, ratios)
        else:
            for ratio in [1] if name == "float32" else ratios:
                experiment.run_shared(name, ratio)
    table = tabulate(experiment.found)
    write_results(
        options.out, {**describe_run(), "store": options.store.name, "lam": LAM, "rows": table}
    )


if __name__ == "__main__":
    main()
