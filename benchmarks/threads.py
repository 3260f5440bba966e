"""What two threads gain, against what the bare product gains from the same two, in one run.

    python benchmarks/threads.py                          # shapes (a) and (b), about 7 min
    python benchmarks/threads.py --load 2 --shapes a      # beside 2 processes that never rest
    python benchmarks/threads.py --out benchmarks/results/threads.json

Shapes and objectives are those of `epochs.py`. One thread and two take turns, and the best third
epoch of each counts, or the best mean of the third and so many more as last as long as a product.
"Share" is the gain of an epoch over that of the product: 1 means that the objective uses the second
thread as well as a product does. "Reading" looks once at every number of the rows, in the order of
an epoch, and does nothing else: an objective that makes two products per row can hardly gain more.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from epochs import (
    EPOCHS,
    OBJECTIVES,
    SHAPES,
    count_products,
    draw_rows,
    time_objective,
    time_product,
)
from record import describe_run, write_results

from myriad._jit import jit_reassociated
from myriad.parallel import ThreadPool, open_threads
from myriad.store import ArrayRows

THREADS = (1, 2)
READING, READ_ROWS = "reading", 512


@contextmanager
def load(n_processes: int) -> Iterator[None]:
    """Keep `n_processes` other processes busy during the context."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_processes)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@jit_reassociated
def sum_squares(X, index):
    """Return the sum of the squares of some rows."""
    total = X.dtype.type(0.0)
    for i in index:
        row = X[i]
        for j in range(len(row)):
            total += row[j] * row[j]
    return total


def time_reading(rows: ArrayRows, pool: ThreadPool, times: int) -> list[float]:
    """Return the seconds of reading all rows, so many times."""
    order, seconds = rows.order(seed=0, epoch=0), []
    for _ in range(times):
        began = time.perf_counter()
        pool.share(
            lambda start: sum_squares(rows.X, order[start : start + READ_ROWS]),
            range(0, rows.n_rows, READ_ROWS),
        )
        seconds.append(time.perf_counter() - began)
    return seconds


def time_passes(
    rows: ArrayRows, name: str, n_classes: int, pool: ThreadPool, times: int
) -> list[float]:
    """Return the seconds of each epoch."""
    if name == READING:
        return time_reading(rows, pool, times)
    return time_objective(rows, *OBJECTIVES[name], n_classes, pool, times)


def measure(rows: ArrayRows, name: str, n_classes: int, repeats: int) -> dict[str, float]:
    """Return the best seconds of a product and of a third epoch, by one thread and by two."""
    best = {f"{what}_{n}": math.inf for what in ("product", "epoch") for n in THREADS}
    with ExitStack() as stack:
        crews = {n: stack.enter_context(open_threads(n)) for n in THREADS}
        time_passes(rows.select(np.arange(256)), name, n_classes, crews[2], EPOCHS)
        once = time_product(rows, n_classes, crews[1])
        short = time_passes(rows, name, n_classes, crews[1], EPOCHS)[-1]
        n_epochs = EPOCHS - 1 + max(1, round(once / short))
        for _ in range(repeats):
            for n, pool in crews.items():
                timed = time_passes(rows, name, n_classes, pool, n_epochs)
                epoch = statistics.mean(timed[EPOCHS - 1 :])
                times = count_products(epoch, once / n)
                product = time_product(rows, n_classes, pool, times)
                best[f"product_{n}"] = min(best[f"product_{n}"], product)
                best[f"epoch_{n}"] = min(best[f"epoch_{n}"], epoch)
    return best


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="ab", help="which of a and b")
    parser.add_argument("--only", default="", help="objectives whose names begin so")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    table = []
    for shape in options.shapes:
        n, dim, n_classes = SHAPES[shape]
        rows = draw_rows(n, dim, n_classes)
        for name in (*OBJECTIVES, READING):
            if not name.startswith(options.only):
                continue
            with load(options.load):
                best = measure(rows, name, n_classes, options.repeats)
            gains = {what: best[f"{what}_1"] / best[f"{what}_2"] for what in ("product", "epoch")}
            share = gains["epoch"] / gains["product"]
            print(
                f"({shape}) {name:<18} product x {gains['product']:.2f}, "
                f"epoch x {gains['epoch']:.2f}, share {share:.2f}",
                flush=True,
            )
            seconds = {f"{key}_threads_seconds": round(value, 4) for key, value in best.items()}
            rounded = {f"{what}_gain": round(gain, 2) for what, gain in gains.items()}
            table.append(
                {"shape": shape, "objective": name, **seconds, **rounded, "share": round(share, 2)}
            )
    write_results(options.out, {**describe_run(), "load": options.load, "rows": table})


if __name__ == "__main__":
    main()
