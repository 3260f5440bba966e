"""Rotated codes: rows are rotated before another code is applied, and back after decoding.

A rotation spreads the variance of a row evenly over its sub-vectors: at random, or learned for
product codes so that their error falls (OPQ). Rows of more features than a rotation has are rotated
block by block, each by the same matrix, since one for all features would need dim x dim numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from myriad.arrays import Bytes, Float, as_rows
from myriad.codes.code import Code
from myriad.codes.product import count_books, learn_product
from myriad.codes.registry import ROTATIONS
from myriad.errors import InputError, did_you_mean
from myriad.parallel import DEFAULT_LEARNING, LearningContext, thread_executor
from myriad.randomness import generator
from myriad.serialisation import check_array, check_orthonormal

MAX_SIZE = 512
"""Features that are rotated together, at most."""
_POINTS = 8192  # blocks that a rotation is learned from, at most
_MAX_SQUARES = 1e37  # sum of squares below which no product that faiss makes of them overflows


@dataclass(frozen=True, eq=False)
class RotatedCode(Code, kind="rotated"):
    """A code of rows that are rotated first.

    Parameters
    ----------
    rotation : float32 (r, r), orthogonal; features beyond the last whole block of r stay.
    code : the code of the rotated rows; it must restore them.
    """

    rotation: Float
    code: Code

    def __post_init__(self) -> None:
        if not isinstance(self.code, Code) or not self.code.restores:
            raise InputError("A rotated code needs another code that restores rows.")
        R = self.rotation
        check_array(R, "The rotation of a code", (None, None))
        if R.shape[0] != R.shape[1] or len(R) > self.code.dim:
            raise InputError(f"A rotation of {R.shape} does not fit {self.code.dim} features.")
        check_orthonormal(R, "The rotation of a code")

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Number of features of a row."""
        return self.code.dim

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return self.code.bytes_per_row

    def describe(self) -> dict[str, Any]:
        """Return the parameters of the inner code and the size of the rotation."""
        return self.code.describe() | {"rotation": len(self.rotation)}

    def _encode(self, rows: Float, codes: Bytes) -> None:
        self.code._encode(rotate(rows, self.rotation), codes)

    def _decode(self, codes: Bytes, out: Float) -> None:
        self.code._decode(codes, out)
        out[:] = rotate(out, np.ascontiguousarray(self.rotation.T))


def rotate(rows: Float, rotation: Float) -> Float:
    """Return rows with each block of features x replaced by ``x R``."""
    r = len(rotation)
    n_blocks = rows.shape[1] // r
    rotated = rows.copy()
    blocks = rows[:, : n_blocks * r].reshape(len(rows) * n_blocks, r)
    rotated[:, : n_blocks * r] = (blocks @ rotation).reshape(len(rows), n_blocks * r)
    return rotated


def learn_rotated(
    sample: Float,
    *,
    rotation: str = "random",
    d: int = 8,
    bits: int = 8,
    period: int | None = None,
    context: LearningContext = DEFAULT_LEARNING,
) -> Code:
    """Learn a product code of rotated rows; see `learn_product`.

    Parameters
    ----------
    rotation : ``"none"``, ``"random"`` or ``"opq"``.
    """
    if rotation not in ROTATIONS:
        raise InputError(
            f"The rotation must be one of {', '.join(ROTATIONS)}, not {rotation!r}."
            + did_you_mean(rotation, ROTATIONS)
        )
    rows = as_rows(sample, name="The sample for a product code")
    count_books(rows.shape[1], d, bits, period)  # checks the settings before faiss sees them
    if rotation == "none":
        return learn_product(rows, d=d, bits=bits, period=period, context=context)
    size = choose_size(period or rows.shape[1], d)
    if rotation == "random":
        R = _draw_rotation(size, context.seed)
    else:
        R = _learn_rotation(rows, size, d, bits, context.seed)
    rotated = rotate(rows, R)
    return RotatedCode(R, learn_product(rotated, d=d, bits=bits, period=period, context=context))


def choose_size(dim: int, d: int) -> int:
    """Return how many features to rotate together: whole sub-vectors, a divisor if possible."""
    top = max(1, min(dim, MAX_SIZE) // d) * d
    dividing = [r for r in range(top, top // 4, -d) if r and dim % r == 0]
    return dividing[0] if dividing else min(top, dim)


def _draw_rotation(size: int, seed: int) -> Float:
    Q, _ = np.linalg.qr(generator(seed, "random rotation").standard_normal((size, size)))
    return Q.astype(np.float32)


def _learn_rotation(rows: Float, size: int, d: int, bits: int, seed: int) -> Float:
    """Return the rotation that faiss learns for product codes from blocks of the rows.

    faiss writes past its buffers if it is given fewer vectors than they have features. Such a
    sample is repeated as a whole, which leaves the rotation that minimises the error the same.
    """
    import faiss

    blocks = rows[:, : rows.shape[1] // size * size].reshape(-1, size)
    order = generator(seed, "rotation to learn").permutation(len(blocks))[:_POINTS]
    if len(order) < 2**bits:
        raise InputError(
            f"{len(order)} sample vectors are too few to learn a rotation for {2**bits} centroids: "
            "use more rows, fewer bits or a random rotation."
        )
    points = np.ascontiguousarray(blocks[np.tile(order, -(-size // len(order)))])
    if np.einsum("ij,ij", points, points, dtype=np.float64) > _MAX_SQUARES:
        raise InputError("The rows are too large to learn a rotation in float32: scale them down.")
    matrix = faiss.OPQMatrix(size, max(1, size // d))
    inner = faiss.ProductQuantizer(size, max(1, size // d), bits)
    inner.cp.min_points_per_centroid = 1
    matrix.pq, matrix.niter, matrix.niter_pq, matrix.niter_pq_0 = inner, 10, 4, 10
    with thread_executor(1):  # the rounding of its sums depends on the number of threads
        matrix.train(points)
    return np.ascontiguousarray(faiss.vector_to_array(matrix.A).reshape(size, size).T)
