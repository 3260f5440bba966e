"""A mean-separating start of one-vs-rest in the dual: epochs to a gap, beside a start from zero.

    python benchmarks/mean_start.py
    python benchmarks/mean_start.py --silhouettes FILE.mat --out benchmarks/results/mean_start.json

Schultheis and Babbar (2022) begin every class at a combination of the mean of its rows and the mean
of all others that separates the two. The same in the dual: the variables of the positives of a
class are equal, and so are those of its negatives; the two values are the best ones for the dual.
The constant feature counts as one of the features. One thread. After each
epoch the gap of every class is computed in float64; what counts is the largest.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from epochs import draw_rows
from numpy.typing import NDArray
from record import describe_run, write_results
from scipy.io import loadmat
from sklearn.datasets import load_digits

from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training.dual.one_vs_rest import BinaryAscent
from myriad.training.settings import mean_square

LOSSES = ("hinge", "squared_hinge")
FRACTIONS = (1e-1, 1e-2, 1e-3)
"""Values of lam, as fractions of the mean squared norm of the rows."""
GAPS = (1e-1, 1e-2, 1e-3)
MOST_EPOCHS = 200
ROUNDS = 1000
"""Of the search for the two values of a class."""


def find_start(ascent: BinaryAscent, X: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return the variables of the start, as `restore` takes them."""
    n, n_classes = len(X), ascent.n_classes
    X = np.column_stack([X, np.ones(n)])
    positive = ascent.rows.labels[:, None] == np.arange(n_classes)
    counts = np.stack([positive.sum(axis=0), (~positive).sum(axis=0)])
    sizes = np.maximum(counts, 1)
    upper, ridge = (ascent._sides[name] for name in ("upper", "ridge"))
    # Variables of sum 1 on either side, their sums of rows, and the bounds of their multiples.
    shares = [positive / sizes[0], ~positive / sizes[1]]
    own, others = (share.T @ X for share in shares)
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


def count_epochs(rows: ArrayRows, n_classes: int, loss: str, lam: float, start: str) -> Any:
    """Return the gap of the start, and the epochs to each gap; None where it is not reached."""
    ascent = BinaryAscent(rows, n_classes, loss=loss, lam=lam, bias=1.0, dtype=np.float32)
    with open_threads(1) as pool:
        if start == "means":
            ascent.restore(find_start(ascent, rows.X.astype(np.float64)))
        gaps = [ascent.certify(pool).gap]
        while gaps[-1] > GAPS[-1] and len(gaps) <= MOST_EPOCHS:
            ascent.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
            gaps.append(ascent.certify(pool).gap)
    epochs = [next((e for e, gap in enumerate(gaps) if gap <= tol), None) for tol in GAPS]
    return {"first_gap": round(gaps[0], 4), "epochs": epochs}


def read_problems(silhouettes: Path | None, shrink: int) -> dict[str, ArrayRows]:
    """Return the rows to train on by name."""
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
    return problems


def main() -> None:
    """Measure and print, and write the results if a file is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--silhouettes", type=Path, help="the .mat file of split 1, 28 x 28")
    parser.add_argument("--shrink", type=int, default=1, help="so many times fewer rows")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table = []
    for name, rows in read_problems(options.silhouettes, options.shrink).items():
        n_classes, square = int(rows.labels.max()) + 1, mean_square(rows) + 1.0
        for loss in LOSSES:
            for fraction in FRACTIONS:
                row: dict[str, Any] = {"data": name, "loss": loss, "lam": fraction}
                for start in ("zero", "means"):
                    row[start] = count_epochs(rows, n_classes, loss, fraction * square, start)
                print(row, flush=True)
                table.append(row)
    results = describe_run() | {"gaps": list(GAPS), "most_epochs": MOST_EPOCHS, "table": table}
    write_results(options.out, results)


if __name__ == "__main__":
    main()
