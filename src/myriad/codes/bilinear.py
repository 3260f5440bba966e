"""Bilinear codes: the signs of a row, as a matrix, projected from both sides [CC, section 2].

A row is reshaped to a matrix X of d1 x d2 values, padded with zeros if necessary; its bits are the
signs of ``R1^T X R2``, where R1 (d1 x c1) and R2 (d2 x c2) have orthonormal columns. These are
drawn at random, or learned by alternation: the signs B for given R1 and R2, then the R1 and the R2
whose projections are nearest to B, each by a singular value decomposition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float, as_rows
from myriad.codes.bits import decode_bits
from myriad.codes.code import Code
from myriad.codes.onnx_nodes import PREFIX, Graph, add_products, add_signs
from myriad.codes.packing import pack_signs, packed_bytes
from myriad.errors import InputError
from myriad.parallel import (
    DEFAULT_LEARNING,
    Executor,
    LearningContext,
    SharedArray,
    share_array,
)
from myriad.progress import Advance
from myriad.randomness import generator
from myriad.serialisation import (
    check_array,
    check_count,
    check_orthonormal,
    is_number,
    later_field,
)

_BATCH = 32  # rows projected at a time
_TASK = 128  # rows of the sample whose products are summed by one task
_SAMPLE_VALUES = 1 << 26  # values of the sample that is learned from, at most


@dataclass(frozen=True, eq=False)
class BilinearCode(Code, kind="bilinear"):
    """The signs of bilinear projections, decoded to +1 and -1.

    Parameters
    ----------
    left, right : float32 (d1, c1) and (d2, c2) with orthonormal columns.
    magnitude : the mean magnitude of a projected value, for `project` and `expand`.
    dim : number of features of a row, at most d1 d2.
    centre : float32 (dim,), subtracted from rows before they are projected; None for nothing.
    """

    left: Float
    right: Float
    magnitude: float
    dim: int
    centre: Float | None = later_field(None)

    def __post_init__(self) -> None:
        check_count(self.dim, "The number of features of a bilinear code")
        for side in (self.left, self.right):
            check_array(side, "A side of a bilinear code", (None, None))
            check_orthonormal(side, "A side of a bilinear code")
        if (
            not self.dim
            <= len(self.left) * len(self.right)
            < self.dim + len(self.right) + len(self.left)
        ):
            raise InputError(f"The sides of a bilinear code do not fit {self.dim} features.")
        if not is_number(self.magnitude) or self.magnitude < 0:
            raise InputError(f"A bilinear code cannot have the magnitude {self.magnitude!r}.")
        if self.centre is not None:
            check_array(self.centre, "The centre of a bilinear code", (self.dim,))

    @property
    def decoded_dim(self) -> int:
        """Number of bits of a row."""
        return self.left.shape[1] * self.right.shape[1]

    @property
    def restores(self) -> bool:
        """Decoded rows hold the signs of mixtures of the features."""
        return False

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return packed_bytes(self.decoded_dim, 1)

    def describe(self) -> dict[str, Any]:
        """Return the number of bits and the shapes of both sides."""
        matrix = [list(self.left.shape), list(self.right.shape)]
        return {"kind": self.kind, "features": self.decoded_dim, "matrix": matrix}

    def project(self, rows: Float) -> Float:
        """Return the projected values over their mean magnitude: near +1 and -1, not rounded."""
        return self._multiply(rows) / np.float32(self.magnitude or 1.0)

    def expand(self, decoded: Float) -> Float:
        """Return the plain rows whose projections are the signs times their mean magnitude."""
        bits = decoded.reshape(len(decoded), self.left.shape[1], self.right.shape[1])
        rows = np.matmul(np.matmul(self.left, bits * np.float32(self.magnitude)), self.right.T)
        rows = np.ascontiguousarray(rows.reshape(len(decoded), -1)[:, : self.dim])
        return rows if self.centre is None else rows + self.centre

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Add the signs of the products of a row's matrix with both sides."""
        d1, d2 = len(self.left), len(self.right)
        if self.centre is not None:
            rows = graph.add(
                "Sub", [rows, graph.add_constant(self.centre, "mean")], f"{PREFIX}centred"
            )
        if d1 * d2 > self.dim:
            ends = graph.add_constant(np.array([0, 0, 0, d1 * d2 - self.dim], np.int64), "ends")
            rows = graph.add("Pad", [rows, ends], f"{PREFIX}padded")
        products = add_products(graph, rows, self.left.T, self.right, "bilinear")
        flat = graph.add_constant(np.array([-1, self.decoded_dim], np.int64), "flat_shape")
        return add_signs(graph, graph.add("Reshape", [products, flat], f"{PREFIX}projected"))

    def _multiply(self, rows: Float) -> Float:
        """Return ``R1^T X R2`` of each row, float32 (n_samples, decoded_dim)."""
        projected = np.empty((len(rows), self.decoded_dim), np.float32)
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            if self.centre is not None:
                batch = batch - self.centre
            X = as_matrices(batch, len(self.left), len(self.right))
            # A product for each row, so that a row's bits do not depend on its neighbours.
            bits = np.matmul(self.left.T, np.matmul(X, self.right))
            projected[start : start + _BATCH] = bits.reshape(len(X), -1)
        return projected

    def _encode(self, rows: Float, codes: Bytes) -> None:
        for start in range(0, len(rows), _BATCH):
            batch = slice(start, start + _BATCH)
            pack_signs(self._multiply(rows[batch]), codes[batch])

    def _decode(self, codes: Bytes, out: Float) -> None:
        decode_bits(codes, out)


def learn_bilinear(
    sample: Float,
    *,
    n_bits: int | None = None,
    learned: bool = True,
    shape: tuple[int, int] | None = None,
    centred: bool = False,
    rounds: int = 10,
    context: LearningContext = DEFAULT_LEARNING,
) -> BilinearCode:
    """Learn a bilinear code from a sample of rows.

    Parameters
    ----------
    sample : float32 (n_samples, dim)
    n_bits : bits of a row, at most; the largest product c1 c2 that fits. None: one per feature.
    learned : whether the sides are learned, or stay the random ones that learning starts from.
    shape : of a row as a matrix; None for one near a square. [CC] has 128 rows, one per feature of
        a Gaussian.
    centred : whether the mean of the sample is subtracted before rows are projected.
    rounds : iterations of learning, at most; it ends early where both sides stay the same.
    context : its threads or workers multiply the rows.

    The code is the same for a seed on any number of threads and workers.
    """
    rows = as_rows(sample, name="The sample for a bilinear code")
    if rows.size == 0:
        raise InputError("A bilinear code needs a sample of at least one row and one feature.")
    dim = rows.shape[1]
    d1, d2 = shape_matrix(dim) if shape is None else shape
    if d1 * d2 != dim and shape is not None:
        raise InputError(f"A row of {dim} features cannot be reshaped to {d1}x{d2}.")
    centre = rows.mean(axis=0, dtype=np.float64).astype(np.float32) if centred else None
    c1, c2 = shape_bits(d1, d2, dim if n_bits is None else n_bits)
    random = generator(context.seed, "bilinear code")
    left, right = _draw_side(random, d1, c1), _draw_side(random, d2, c2)
    most = max(1, _SAMPLE_VALUES // dim)
    if len(rows) > most:
        rows = rows[np.sort(random.permutation(len(rows))[:most])]
    if learned:
        shifted = rows if centre is None else rows - centre
        with (
            context.progress.step("Learning projections", rounds, "iterations") as advance,
            share_array(shifted, context) as (executor, shared),
        ):
            sides = _Sides(shared, left, right)
            left, right = _learn_sides(sides, len(rows), rounds, executor, advance)
    code = BilinearCode(left, right, 1.0, dim, centre)
    sizes = np.abs(code.project(rows[:256]))
    return replace(code, magnitude=float(sizes.mean(dtype=np.float64)))


def shape_matrix(dim: int) -> tuple[int, int]:
    """Return the shape of a row as a matrix: near a square, the cheapest to project.

    Where `dim` has no suitable divisor, the last row of the matrix is padded with zeros.
    """
    root = math.isqrt(dim)
    for d1 in range(root, max(1, root // 3), -1):
        if dim % d1 == 0:
            return d1, dim // d1
    return root, -(-dim // root)


def shape_bits(d1: int, d2: int, n_bits: int) -> tuple[int, int]:
    """Return c1 and c2 with the largest product up to `n_bits`, nearest to the shape of the row."""
    if n_bits < 1:
        raise InputError(f"A bilinear code needs at least one bit, not {n_bits}.")
    share = math.sqrt(min(1.0, n_bits / (d1 * d2)))
    found = [(c1, min(d2, n_bits // c1)) for c1 in range(1, min(d1, n_bits) + 1)]
    return max(found, key=lambda c: (c[0] * c[1], -abs(c[0] - share * d1)))


def as_matrices(rows: Float, d1: int, d2: int) -> Float:
    """Return rows as matrices (n_samples, d1, d2), padded with zeros."""
    if rows.shape[1] < d1 * d2:
        padded = np.zeros((len(rows), d1 * d2), np.float32)
        padded[:, : rows.shape[1]] = rows
        rows = padded
    return rows.reshape(len(rows), d1, d2)


def _draw_side(random: np.random.Generator, d: int, c: int) -> Float:
    """Return random orthonormal columns, float32 (d, c)."""
    side, _ = np.linalg.qr(random.standard_normal((d, c)))
    return side.astype(np.float32)


def _nearest_side(product: NDArray[np.float64]) -> Float:
    """Return the orthonormal columns R that maximise ``tr(R^T product)``."""
    U, _, V = np.linalg.svd(product, full_matrices=False)
    return (U @ V).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Sides:
    """Both sides of a code while it is learned, and the sample that they are learned from."""

    sample: SharedArray
    left: Float
    right: Float

    def correlate_left(self, task: slice) -> NDArray[np.float64]:
        """Return the product (d1, c1) of some rows, projected by R2, with their signs."""
        total = np.zeros(self.left.shape)
        for X in self._read(task):
            half = np.matmul(X, self.right)
            signs = _signs(np.matmul(self.left.T, half))
            total += np.matmul(half, signs.transpose(0, 2, 1)).sum(axis=0, dtype=np.float64)
        return total

    def correlate_right(self, task: slice) -> NDArray[np.float64]:
        """Return the product (d2, c2) of some rows, projected by R1, with their signs."""
        total = np.zeros(self.right.shape)
        for X in self._read(task):
            half = np.matmul(self.left.T, X)
            signs = _signs(np.matmul(half, self.right))
            total += np.matmul(half.transpose(0, 2, 1), signs).sum(axis=0, dtype=np.float64)
        return total

    def _read(self, task: slice) -> Iterator[Float]:
        rows = self.sample.open()[task]
        for start in range(0, len(rows), _BATCH):
            yield as_matrices(rows[start : start + _BATCH], len(self.left), len(self.right))


def _learn_sides(
    sides: _Sides, n_rows: int, rounds: int, executor: Executor, advance: Advance
) -> tuple[Float, Float]:
    """Return the sides after some rounds; the sums over rows are cut into the same tasks always."""
    tasks = [slice(start, start + _TASK) for start in range(0, n_rows, _TASK)]
    for _ in range(rounds):
        before = sides
        products = executor.map(sides.correlate_left, tasks)
        sides = replace(sides, left=_nearest_side(_add_up(products)))
        products = executor.map(sides.correlate_right, tasks)
        sides = replace(sides, right=_nearest_side(_add_up(products)))
        advance(1)
        moved = np.abs(sides.left - before.left).max() + np.abs(sides.right - before.right).max()
        if moved < 1e-6:
            break
    return sides.left, sides.right


def _add_up(products: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    total = next(products)
    for product in products:
        total += product
    return total


def _signs(values: Float) -> Float:
    return np.where(values >= 0, np.float32(1), np.float32(-1))
