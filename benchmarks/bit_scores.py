"""Scores of few classes on bits: by tables of bytes [CC, section 3.4], or decoded and multiplied.

    python benchmarks/bit_scores.py                             # about 1 min
    python benchmarks/bit_scores.py --out benchmarks/results/bit_scores.json

A score is ``w . x`` with x of +1 and -1. Three ways for a block of rows: as in the paper, each byte
looks its eight values up while the product is summed; with a table of 256 partial sums for each
byte and class, which is made once for the block, so that a byte of a row costs one addition; or
rows are decoded to float32 and multiplied by BLAS, which is what training does.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results
from threadpoolctl import threadpool_limits
from timing import best_of

from myriad.codes import learn_bits

fast = numba.njit(nogil=True, fastmath=True)
VALUES = np.where(np.arange(256)[:, None] >> np.arange(8) & 1, 1, -1).astype(np.float32)


@fast
def look_up_values(codes: Any, W: Any, values: Any, scores: Any) -> None:
    """Sum products with the eight values of each byte, a row and a class at a time."""
    for i in range(codes.shape[0]):
        for c in range(W.shape[0]):
            w, total = W[c], np.float32(0)
            for m in range(codes.shape[1]):
                x = values[codes[i, m]]
                for k in range(8):
                    total += w[8 * m + k] * x[k]
            scores[i, c] = total


@fast
def tabulate_bytes(W: Any, tables: Any) -> None:
    """Fill `tables` (n_bytes, 256, n_classes) with the sums of every byte, one addition each."""
    for m in range(tables.shape[0]):
        for c in range(W.shape[0]):
            total = np.float32(0)
            for k in range(8):
                total -= W[c, 8 * m + k]
            tables[m, 0, c] = total
        for k in range(8):
            for byte in range(1 << k):
                for c in range(W.shape[0]):
                    tables[m, byte + (1 << k), c] = tables[m, byte, c] + 2 * W[c, 8 * m + k]


@fast
def look_up_sums(codes: Any, tables: Any, scores: Any) -> None:
    """Add the sums of each byte; a table serves all rows before the next is fetched."""
    for m in range(tables.shape[0]):
        for i in range(codes.shape[0]):
            sums = tables[m, codes[i, m]]
            for c in range(sums.shape[0]):
                scores[i, c] += sums[c]


def time_scores(n: int, dim: int, n_classes: int, repeats: int) -> dict[str, Any]:
    """Return microseconds per row of each way, for a block of `n` rows, on one thread."""
    random = np.random.default_rng(0)
    code = learn_bits(random.standard_normal((2, dim)))
    codes = random.integers(0, 256, (n, dim // 8), dtype=np.uint8)
    W = random.standard_normal((n_classes, dim), dtype=np.float32)

    def by_values() -> NDArray[np.float32]:
        scores = np.empty((n, n_classes), np.float32)
        look_up_values(codes, W, VALUES, scores)
        return scores

    def by_sums() -> NDArray[np.float32]:
        tables = np.empty((dim // 8, 256, n_classes), np.float32)
        scores = np.zeros((n, n_classes), np.float32)
        tabulate_bytes(W, tables)
        look_up_sums(codes, tables, scores)
        return scores

    X = np.empty((n, dim), np.float32)

    def by_decoding() -> NDArray[np.float32]:
        return code.decode(codes, X) @ W.T

    ways = {"values": by_values, "sums": by_sums, "decoded": by_decoding}
    with threadpool_limits(1):
        expected = by_decoding()
        for way in ways.values():
            np.testing.assert_allclose(way(), expected, atol=0.02 * math.sqrt(dim))
        found = {name: 1e6 / n * best_of(way, repeats) for name, way in ways.items()}
    row = {name: round(us, 1) for name, us in found.items()}
    return {"block": n, "dim": dim, "classes": n_classes, "microseconds_a_row": row}


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", default="8192,131072")
    parser.add_argument("--classes", default="1,2,5,10,20")
    parser.add_argument("--block", type=int, default=128, help="rows that share their tables")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    table = []
    for dim in map(int, options.dims.split(",")):
        for n_classes in map(int, options.classes.split(",")):
            row = time_scores(options.block, dim, n_classes, options.repeats)
            print(row, flush=True)
            table.append(row)
    write_results(options.out, {**describe_run(), "scores": table})


if __name__ == "__main__":
    main()
