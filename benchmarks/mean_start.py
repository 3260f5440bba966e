"""A mean-separating start of one-vs-rest in the dual: epochs to a gap, beside a start from zero.

    python benchmarks/mean_start.py
    python benchmarks/mean_start.py --silhouettes FILE.mat --store ROWS --out \
        benchmarks/results/mean_start.json

Schultheis and Babbar (2022) begin every class at a combination of the mean of its rows and the mean
of all others that separates the two. The same in the dual: the variables of the positives of a
class are equal, and so are those of its negatives; the two values are the best ones for the dual.
The constant feature counts as one of the features. One thread. After each
epoch the gap of every class is computed in float64; what counts is the largest. Seconds are
processor times of the start and of the epochs up to the gap, without the certificates but for the
last one, which every training computes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from epochs import draw_rows
from numpy.typing import NDArray
from record import describe_run, write_results
from scipy.io import loadmat
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from myriad.parallel import open_threads
from myriad.store import ArrayRows, Store
from myriad.training.dual.one_vs_rest import BinaryAscent
from myriad.training.settings import mean_square

LOSSES = ("hinge", "squared_hinge")
FRACTIONS = (1e-1, 1e-2, 1e-3)
"""Values of lam, as fractions of the mean squared norm of the rows."""
GAPS = (1e-1, 1e-2, 1e-3)
MOST_EPOCHS = 200
ROUNDS = 1000
"""Of the search for the two values of a class."""


def find_start(ascent: BinaryAscent, X: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Return the variables of the start, as `restore` takes them."""
    n, n_classes = len(X), ascent.n_classes
    X = np.column_stack([X, np.ones(n, X.dtype)])
    positive = ascent.rows.labels[:, None] == np.arange(n_classes)
    counts = np.stack([positive.sum(axis=0), (~positive).sum(axis=0)])
    sizes = np.maximum(counts, 1)
    upper, ridge = (ascent._sides[name] for name in ("upper", "ridge"))
    # Variables of sum 1 on either side, their sums of rows, and the bounds of their multiples.
    shares = [positive / sizes[0], ~positive / sizes[1]]
    sums = (csr_array(positive.T, dtype=X.dtype) @ X).astype(np.float64)
    own, others = sums / sizes[0][:, None], (sums.sum(axis=0) - sums) / sizes[1][:, None]
    squares = [
        np.where(some > 0, (means**2).sum(axis=1) + ridge[:, side] * (share**2).sum(axis=0), 1.0)
        for means, share, some, side in (
            (own, shares[0], counts[0], 1),
            (others, shares[1], counts[1], 0),
        )
    ]
    product = (own * others).sum(axis=1)
    bounds = [upper[:, 1] * sizes[0], upper[:, 0] * sizes[1]]
    # The dual is lam (a + b - (a^2 squares - 2 a b product + b^2 squares) / 2): climbed in turns.
    a, b = np.zeros((2, n_classes))
    for _ in range(ROUNDS):
        a = np.clip((1.0 + b * product) / squares[0], 0.0, bounds[0]) * (counts[0] > 0)
        b = np.clip((1.0 + a * product) / squares[1], 0.0, bounds[1]) * (counts[1] > 0)
    values = a * shares[0] + b * shares[1]
    return {
        "starts": np.arange(n, dtype=np.int64) * n_classes,
        "counts": np.full(n, n_classes, np.int32),
        "classes": np.tile(np.arange(n_classes, dtype=np.int32), n),
        "values": values.ravel(),
    }


def measure(rows: ArrayRows, n_classes: int, loss: str, lam: float, start: str) -> dict[str, Any]:
    """Return the gap of the start, and epochs and seconds to each gap; None if not reached."""
    ascent = BinaryAscent(rows, n_classes, loss=loss, lam=lam, bias=1.0, dtype=np.float32)
    spent, gaps, seconds = 0.0, [], []

    def time_call(call: Callable[[], Any]) -> float:
        began = time.process_time()
        call()
        return time.process_time() - began

    with open_threads(1) as pool:
        if start == "means":
            spent += time_call(lambda: ascent.restore(find_start(ascent, rows.X)))
        while True:
            certificate = time_call(lambda: gaps.append(ascent.certify(pool).gap))
            seconds.append(round(spent + certificate, 3))
            if gaps[-1] <= GAPS[-1] or len(gaps) > MOST_EPOCHS:
                break
            spent += time_call(
                lambda: ascent.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
            )
    epochs = [next((e for e, gap in enumerate(gaps) if gap <= tol), None) for tol in GAPS]
    return {
        "first_gap": round(gaps[0], 4),
        "epochs": epochs,
        "seconds": [None if e is None else seconds[e] for e in epochs],
    }


def read_problems(options: argparse.Namespace) -> dict[str, ArrayRows]:
    """Return the rows to train on by name."""
    silhouettes, store, shrink = options.silhouettes, options.store, options.shrink
    X, y = load_digits(return_X_y=True)
    problems = {
        "digits": ArrayRows((X[::shrink] / 16).astype(np.float32), y[::shrink].astype(np.int32)),
        "overlapping classes": draw_rows(3000 // shrink, 256, 50),
    }
    if silhouettes is not None:
        contents = loadmat(silhouettes)
        labels = contents["train_labels"].ravel().astype(np.int32) - 1
        data = np.ascontiguousarray(contents["train_data"], np.float32)
        problems["Silhouettes"] = ArrayRows(data, labels)
    if store is not None:
        found = Store.open(store).rows(["train"])
        problems[store.stem] = ArrayRows(found.read(range(found.n_rows)), found.labels)
    return problems


def main() -> None:
    """Measure and print, and write the results if a file is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--silhouettes", type=Path, help="the .mat file of split 1, 28 x 28")
    parser.add_argument("--store", type=Path, help="a store, whose training rows are taken")
    parser.add_argument("--shrink", type=int, default=1, help="so many times fewer rows")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table = []
    for loss in LOSSES:  # loads the kernels
        measure(draw_rows(100, 8, 5), 5, loss, 1.0, "means")
    for name, rows in read_problems(options).items():
        n_classes, square = int(rows.labels.max()) + 1, mean_square(rows) + 1.0
        for loss in LOSSES:
            for fraction in FRACTIONS:
                row: dict[str, Any] = {"data": name, "loss": loss, "lam": fraction}
                for start in ("zero", "means"):
                    row[start] = measure(rows, n_classes, loss, fraction * square, start)
                print(row, flush=True)
                table.append(row)
    results = describe_run() | {"gaps": list(GAPS), "most_epochs": MOST_EPOCHS, "table": table}
    write_results(options.out, results)


if __name__ == "__main__":
    main()
