"""Exact top-k of many classes by fewer multiply-adds than the product: a prototype, measured.

    python benchmarks/screening.py --out benchmarks/results/screening.json

A cheap product gives each score within a proven bound; the k best lower bounds exclude most
classes, and the scores of the others are computed exactly. Two cheap products are tried:

- int8: rows and weights rounded to 8 and 7 bits, multiplied by ONNX Runtime (`MatMulInteger`). The
  bound is ``|x| |w - w'| + |x - x'| |w'|``.
- leading: the first quarter of the principal directions of the weights, in float32. The bound is
  the product of the norms that remain.

Rows of two kinds: classes drawn alike in all directions, and with a decaying spectrum. Times are of
the process, one thread; a ratio of 1 is the bare product of all scores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from record import describe_run, write_results

from myriad._jit import jit, jit_reassociated
from myriad.models import LinearModel

K, ROUND, TILE = 5, 256, 4096
BITS_X, BITS_W = 127, 63
"""Largest rounded numbers: without VNNI, two products of 8 and 7 bits just fit into 16."""


@jit
def screen(cheap, scale, factors, biases, x, norms, first, lower, found, uppers, counts):
    """Keep the classes of a tile whose upper bound reaches the k-th best lower bound so far.

    The score of row i and class c is within ``x[i, 0] norms[c, 0] + x[i, 1] norms[c, 1]`` of
    ``scale[i] factors[c] cheap[i, c] + biases[c]``.
    """
    k = lower.shape[1]
    for i in range(len(cheap)):
        last, n = lower[i, k - 1], counts[i]
        for c in range(cheap.shape[1]):
            middle = scale[i] * factors[c] * cheap[i, c] + biases[c]
            bound = x[i, 0] * norms[c, 0] + x[i, 1] * norms[c, 1]
            if middle + bound < last:
                continue
            found[i, n], uppers[i, n] = first + c, middle + bound
            n += 1
            position = k - 1
            if middle - bound > last:
                while position > 0 and middle - bound > lower[i, position - 1]:
                    lower[i, position] = lower[i, position - 1]
                    position -= 1
                lower[i, position] = middle - bound
                last = lower[i, k - 1]
        counts[i] = n


@jit_reassociated
def score(X, W, biases, lower, found, uppers, counts, labels):
    """Write the k best of the classes found, by their exact scores; return how many these are."""
    k, n_scores = labels.shape[1], 0
    best = np.empty(k, np.float32)
    for i in range(len(X)):
        best[:] = -np.inf
        for j in range(counts[i]):
            c = found[i, j]
            if uppers[i, j] < lower[i, k - 1]:
                continue
            n_scores += 1
            total = np.float32(0.0)
            for d in range(X.shape[1]):
                total += X[i, d] * W[c, d]
            total += biases[c]
            position = k
            while position > 0 and total > best[position - 1]:
                position -= 1
            for later in range(k - 1, position, -1):
                best[later], labels[i, later] = best[later - 1], labels[i, later - 1]
            if position < k:
                best[position], labels[i, position] = total, c
    return n_scores


class Int8:
    """Weights rounded to 7 bits, a session of ONNX Runtime for each tile of classes."""

    def __init__(self, W: np.ndarray) -> None:
        self.factors = np.abs(W).max(axis=1) / np.float32(BITS_W)
        rounded = np.rint(W / self.factors[:, None]).astype(np.int8)
        kept = rounded * self.factors[:, None]
        self.norms = np.stack(
            [np.linalg.norm(W - kept, axis=1), np.linalg.norm(kept, axis=1)], axis=1
        ).astype(np.float32)
        self.tiles = [open_product(rounded[i : i + TILE].T) for i in range(0, len(W), TILE)]

    def prepare(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rounded rows, their scales and the factors of the bound."""
        scale = np.abs(X).max(axis=1) / np.float32(BITS_X)
        rounded = np.rint(X / scale[:, None])
        lost = np.linalg.norm(X - rounded * scale[:, None], axis=1)
        parts = np.stack([np.linalg.norm(X, axis=1), lost], axis=1).astype(np.float32)
        return (rounded + 128).astype(np.uint8), scale, parts

    def multiply(self, rows: np.ndarray, tile: int) -> np.ndarray:
        """Return the products of rounded rows with the classes of a tile, int32."""
        return self.tiles[tile].run(None, {"rows": rows})[0]


def open_product(weights: np.ndarray) -> Any:
    """Return a session that multiplies uint8 rows, of zero point 128, with int8 weights."""
    rows = helper.make_tensor_value_info("rows", TensorProto.UINT8, [None, weights.shape[0]])
    out = helper.make_tensor_value_info("out", TensorProto.INT32, [None, weights.shape[1]])
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(weights), "weights"),
        numpy_helper.from_array(np.array(128, np.uint8), "zero"),
    ]
    node = helper.make_node("MatMulInteger", ["rows", "weights", "zero"], ["out"])
    graph = helper.make_graph([node], "product", [rows], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class Leading:
    """Weights in the first principal directions, a quarter of all."""

    def __init__(self, W: np.ndarray) -> None:
        n = W.shape[1] // 4
        _, directions = np.linalg.eigh(W.T @ W)
        self.directions = np.ascontiguousarray(directions[:, ::-1][:, :n])
        self.W = W @ self.directions
        self.factors = np.ones(len(W), np.float32)
        rest = np.sqrt(np.maximum(0, (W**2).sum(axis=1) - (self.W**2).sum(axis=1)))
        self.norms = np.stack([rest, np.zeros_like(rest)], axis=1)

    def prepare(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rotated rows, scales of 1 and the norms that remain."""
        rows = X @ self.directions
        rest = np.sqrt(np.maximum(0, (X**2).sum(axis=1) - (rows**2).sum(axis=1)))
        parts = np.stack([rest, np.zeros_like(rest)], axis=1)
        return rows, np.ones(len(X), np.float32), parts

    def multiply(self, rows: np.ndarray, tile: int) -> np.ndarray:
        """Return the products with the classes of a tile."""
        product: np.ndarray = rows @ self.W[tile * TILE : (tile + 1) * TILE].T
        return product


def rank(cheap: Int8 | Leading, X: np.ndarray, model: LinearModel) -> tuple[np.ndarray, float]:
    """Return the k best labels of each row, and the share of the scores that survive."""
    labels, survived = np.full((len(X), K), -1, np.int32), 0
    for start in range(0, len(X), ROUND):
        part = np.ascontiguousarray(X[start : start + ROUND])
        rows, scale, parts = cheap.prepare(part)
        lower = np.full((len(part), K), -np.inf, np.float32)
        found = np.empty((len(part), model.n_classes), np.int32)
        uppers, counts = np.empty(found.shape, np.float32), np.zeros(len(part), np.int64)
        for tile, first in enumerate(range(0, model.n_classes, TILE)):
            those = slice(first, first + TILE)
            screen(
                cheap.multiply(rows, tile), scale, cheap.factors[those], model.biases[those],
                parts, cheap.norms[those], first, lower, found, uppers, counts,
            )  # fmt: skip
        survived += score(
            part, model.weights, model.biases, lower, found, uppers, counts,
            labels[start : start + ROUND],
        )  # fmt: skip
    return labels, survived / (len(X) * model.n_classes)


def draw(n: int, n_classes: int, dim: int, *, decay: float) -> tuple[np.ndarray, LinearModel]:
    """Return rows near class means, and the model of these means; a spectrum may decay."""
    rng = np.random.default_rng(0)
    deviations = ((1.0 + np.arange(dim)) ** -decay).astype(np.float32)
    W = rng.standard_normal((n_classes, dim), dtype=np.float32) * deviations
    X = rng.standard_normal((n, dim), dtype=np.float32) * deviations
    X += np.float32(0.3) * W[rng.integers(0, n_classes, n)]
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, LinearModel(W, rng.normal(0, 0.01, n_classes).astype(np.float32))


def best_of(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the least processor time of some runs, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    """Measure both cheap products on both kinds of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--classes", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    found = []
    for kind, decay in (("alike in all directions", 0.0), ("decaying spectrum", 0.5)):
        X, model = draw(options.rows, options.classes, options.features, decay=decay)
        blocks = [X[i : i + ROUND] for i in range(0, len(X), ROUND)]
        product = best_of(lambda blocks=blocks, W=model.weights: [part @ W.T for part in blocks])
        expected, _ = model.rank(X, K)
        today = best_of(lambda X=X, model=model: model.rank(X, K), 1)
        for cheap in (Int8(model.weights), Leading(model.weights)):
            labels, share = rank(cheap, X, model)
            seconds = best_of(lambda cheap=cheap, X=X, model=model: rank(cheap, X, model), 1)
            found.append(
                {
                    "rows": kind,
                    "by": type(cheap).__name__.lower(),
                    "survive": round(share, 5),
                    "rows with the same labels": float((labels == expected).all(axis=1).mean()),
                    "of the product": round(seconds / product, 3),
                    "predict_topk of the product": round(today / product, 3),
                }
            )
            print(found[-1], flush=True)
    shape = {name: getattr(options, name) for name in ("rows", "classes", "features")}
    write_results(options.out, {**describe_run(), **shape, "measured": found})


if __name__ == "__main__":
    main()
