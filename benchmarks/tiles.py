"""What `myriad.tiles` and `myriad.panels` gain over BLAS, on the shapes of training, one thread.

    python benchmarks/tiles.py                       # about two minutes
    python benchmarks/tiles.py --out benchmarks/results/tiles.json

Training multiplies each block of B rows with all weights, with itself (its Gram matrix), and adds
the rows times coefficients to the weights; weights change from block to block. The same products
are made for all blocks of the rows, on shards of classes as training cuts them, in two ways that
take turns:

- tiles: rows are packed once a block, for the scores and the Gram matrix; half of the Gram matrix
  is computed and mirrored;
- BLAS: `numpy.matmul` for scores and Gram matrix, `products.add_product` (sgemm that adds in
  place) for the update.

Shards: `one_vs_rest` scores 48 classes at a time as (classes, B); `joint` scores 48 classes at a
time as (B, classes); `softmax` scores panels of 48 classes at a time and updates all weights. The
ratio is BLAS seconds over tile seconds, the median over rounds: above 1, tiles are faster.
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

from myriad._jit import jit
from myriad.panels import (
    add_columns,
    add_rows,
    count_panels,
    multiply,
    multiply_blocks,
    multiply_transposed,
    pack_columns,
    pack_in_place,
)
from myriad.parallel import open_threads
from myriad.products import add_product
from myriad.tiles import LANES

SHARD = 48
"""Classes of a shard, as in training: whole tiles."""

Array = NDArray[np.float32]
Run = Callable[[], object]


@jit
def score_by_classes(X, panels, V, S, block, shard):
    """Multiply shards of classes with all blocks, into S (classes, B): one-vs-rest."""
    size = count_panels(block)
    for here in range(0, len(X), block):
        n, first = min(block, len(X) - here), here // block * size
        own = panels[first : first + count_panels(n)]
        for c in range(0, len(V), shard):
            multiply(V[c : c + shard], own, S[c : c + shard, :n], 0)


@jit
def score_by_rows(X, panels, V, S, block, shard):
    """Multiply shards of classes with all blocks, into S (B, classes): pairs of classes."""
    size = count_panels(block)
    for here in range(0, len(X), block):
        n, first = min(block, len(X) - here), here // block * size
        own = panels[first : first + count_panels(n)]
        for c in range(0, len(V), shard):
            multiply_transposed(V[c : c + shard], own, S[:n], c)


@jit
def score_by_panels(X, weights, S, block, shard):
    """Multiply all blocks with shards of packed weights, into S (B, classes): softmax."""
    for here in range(0, len(X), block):
        part = X[here : here + block]
        for p in range(0, len(weights), shard // LANES):
            own = weights[p : p + shard // LANES]
            multiply(part, own, S[: len(part)], p * LANES)


@jit
def update_by_columns(X, A, V, block, shard):
    """Add ``A X`` of all blocks to shards of V; rows are packed for it: one-vs-rest."""
    for here in range(0, len(X), block):
        part = X[here : here + block]
        own = pack_columns(part)
        for c in range(0, len(V), shard):
            add_columns(A[c : c + shard, : len(part)], own, V[c : c + shard])


@jit
def update_panels(X, panels, steps, weights, block, shard):
    """Add ``A^T X`` of all blocks to shards of packed weights: softmax."""
    size = count_panels(block)
    for here in range(0, len(X), block):
        first = here // block * size
        own = panels[first : first + count_panels(min(block, len(X) - here))]
        for p in range(0, len(weights), shard // LANES):
            last = p + shard // LANES
            add_rows(own, steps[p:last], weights[p:last])


def cut(n: int, size: int) -> list[slice]:
    """Return slices of at most `size` of n."""
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def make_parts(X: Array, V: Array, block: int) -> dict[str, tuple[Run, Run]]:
    """Return, for each product of training, the two ways to make it for all blocks."""
    n_classes = len(V)
    blocks, shards = cut(len(X), block), cut(n_classes, SHARD)
    panels, _ = multiply_blocks(X, block)
    by_rows = np.empty((block, n_classes), np.float32)
    by_classes = np.empty((n_classes, block), np.float32)
    gram = np.empty((block, block), np.float32)
    rng = np.random.default_rng(1)
    A = 1e-6 * rng.standard_normal((n_classes, block)).astype(np.float32)
    whole = n_classes // LANES * LANES  # the panel left over is not timed
    weights = pack_in_place(V[:whole].copy()).panels
    steps = np.zeros((whole // LANES, LANES * count_panels(block), LANES), np.float32)
    steps[:, :block] = A[:whole].reshape(-1, LANES, block).transpose(0, 2, 1)
    V, S = V.copy(), np.empty((block, whole), np.float32)

    def blas_grams() -> None:
        for part in blocks:
            n = part.stop - part.start
            np.matmul(X[part], X[part].T, out=gram[:n, :n])

    def blas_by_classes() -> None:
        for part in blocks:
            for c in shards:
                np.matmul(V[c], X[part].T, out=by_classes[c, : part.stop - part.start])

    def blas_by_rows(classes: list[slice], out: Array) -> None:
        for part in blocks:
            for c in classes:
                np.matmul(X[part], V[c].T, out=out[: part.stop - part.start, c])

    def blas_update(classes: list[slice]) -> None:
        for part in blocks:
            for c in classes:
                add_product(A[c, : part.stop - part.start], X[part], V[c])

    own = X, panels, V
    return {
        "packing and Gram matrices": (lambda: multiply_blocks(X, block), blas_grams),
        "scores, one-vs-rest": (
            lambda: score_by_classes(*own, by_classes, block, SHARD),
            blas_by_classes,
        ),
        "scores, pairs of classes": (
            lambda: score_by_rows(*own, by_rows, block, SHARD),
            lambda: blas_by_rows(shards, by_rows),
        ),
        "scores, softmax": (
            lambda: score_by_panels(X, weights, S, block, SHARD),
            lambda: blas_by_rows(cut(whole, SHARD), S),
        ),
        "update, one-vs-rest": (
            lambda: update_by_columns(X, A, V, block, SHARD),
            lambda: blas_update(shards),
        ),
        "update, softmax": (
            lambda: update_panels(X, panels, steps, weights, block, SHARD),
            lambda: blas_update(cut(whole, SHARD)),
        ),
    }


def time_in_turns(tiles: Run, blas: Run, rounds: int) -> dict[str, Any]:
    """Return the median seconds of both ways and of their ratios, measured in turns."""
    seconds: dict[str, list[float]] = {"tiles": [], "blas": []}
    for number in range(rounds + 1):  # the first round compiles and warms up
        for name, run in (("tiles", tiles), ("blas", blas)):
            began = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - began)
    ratios = np.array(seconds["blas"]) / np.array(seconds["tiles"])
    return {
        "seconds_tiles": round(float(np.median(seconds["tiles"])), 4),
        "seconds_blas": round(float(np.median(seconds["blas"])), 4),
        "ratio": round(float(np.median(ratios)), 3),
        "ratio_least": round(float(ratios.min()), 3),
        "ratio_most": round(float(ratios.max()), 3),
    }


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=500)
    parser.add_argument("--blocks", type=int, nargs="+", default=[64, 96])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((options.rows, options.dim), dtype=np.float32)
    V = 0.01 * rng.standard_normal((options.classes, options.dim), dtype=np.float32)
    table: list[dict[str, Any]] = []
    print(f"{'product':<28}{'block':>6}{'tiles s':>10}{'BLAS s':>10}{'ratio':>8}")
    with open_threads(1):  # one thread of BLAS as well
        for block in options.blocks:
            for name, ways in make_parts(X, V, block).items():
                found = time_in_turns(*ways, options.rounds)
                table.append({"product": name, "block": block, **found})
                print(
                    f"{name:<28}{block:>6}{found['seconds_tiles']:>10.3f}"
                    f"{found['seconds_blas']:>10.3f}{found['ratio']:>8.2f}",
                    flush=True,
                )
    shape = {"rows": options.rows, "dim": options.dim, "classes": options.classes, "threads": 1}
    write_results(options.out, {**describe_run(), **shape, "shard": SHARD, "products": table})


if __name__ == "__main__":
    main()
