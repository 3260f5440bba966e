"""The trace norm: atoms of rank one, ``u v^T`` with unit vectors; few of them are a low rank [LS].

The basis is orthonormal, so that the trace norm of W is that of the small matrix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.training.trace.gauges.gauge import Atoms, Gauge, Parametrisation
from myriad.training.trace.latents import Directions, Point, Real
from myriad.training.trace.multinomial import Gradient

OVERSAMPLED = 4
"""Random vectors in addition to the number of atoms searched for."""
MOST_STEPS = 12
NEW = 1e-3
"""A vector is new to a basis if more than this fraction of it lies outside."""
ZERO = 1e-7
"""Singular values below this fraction of the largest count as zero."""


class TraceNorm(Gauge):
    """The sum of the singular values; its polar is the largest one."""

    def zeros(self, dim: int, n_classes: int, dtype: Any) -> Point:
        """Return W = 0."""
        return Point(Directions(np.zeros((dim, 0), dtype)), np.zeros((0, n_classes)))

    def value(self, B: Real) -> float:
        """Return the sum of the singular values."""
        return float(np.linalg.svd(B, compute_uv=False).sum()) if B.size else 0.0

    def search(
        self,
        gradient: Gradient,
        point: Point,
        *,
        count: int,
        draw: np.random.Generator,
        precision: float,
    ) -> tuple[float, Atoms]:
        """Return the largest singular value and the best singular pairs, by block Lanczos steps.

        It starts from the classes' side of W, where the gradient at an optimum is as large as it
        can be, and from random vectors. The polar returned is the largest Ritz value plus the norm
        of its residual: a singular value lies within that distance.
        """
        n_classes, dim = gradient.risk.n_classes, gradient.risk.rows.dim
        width = min(count + OVERSAMPLED, n_classes)
        random = draw.standard_normal((n_classes, width))
        known = np.linalg.qr(point.B.T)[0] if point.B.size else random[:, :0]
        K = _orthogonal(gradient.times(np.concatenate([known, random], axis=1)), np.zeros((dim, 0)))
        if K.shape[1] == 0:  # the gradient is zero
            return 0.0, Atoms(np.zeros((dim, 0)), random[:, :0], np.zeros(0))
        T = gradient.transposed_times(K).T
        most = min(dim, n_classes)
        for _ in range(MOST_STEPS):
            left, values, right = np.linalg.svd(T, full_matrices=False)
            some = min(width, len(values))
            off = gradient.times(right[:some].T) - K @ (left[:, :some] * values[:some])
            lengths = np.linalg.norm(off, axis=0)
            if K.shape[1] >= most or lengths[0] <= precision * values[0]:
                break
            fresh = _orthogonal(off[:, lengths > ZERO * values[0]], K)
            K = np.concatenate([K, fresh], axis=1)
            T = np.concatenate([T, gradient.transposed_times(fresh).T])
        some = min(count, len(lengths))
        polar = float(values[0] + lengths[0])
        return polar, Atoms(-(K @ left[:, :some]), right[:some].T, values[:some])

    def extend(self, point: Point, atoms: Atoms) -> tuple[Point, Real]:
        """Return the same W over a larger orthonormal basis, and the sum of the atoms over it."""
        assert isinstance(point.basis, Directions)
        old = point.basis.vectors.astype(np.float64)
        added = _orthogonal(atoms.left.astype(np.float64), old)
        basis = np.concatenate([old, added], axis=1)
        B = np.concatenate([point.B, np.zeros((added.shape[1], point.B.shape[1]))])
        delta = (basis.T @ atoms.left) @ atoms.right.T
        return Point(Directions(basis.astype(point.basis.vectors.dtype)), B), delta

    def by_weights(self, point: Point) -> Parametrisation:
        """Return the parametrisation by the singular values; singular vectors are fixed."""
        left, values, right = np.linalg.svd(point.B, full_matrices=False)
        return Parametrisation(
            values,
            lambda x: (left * x) @ right,
            lambda x, H: np.einsum("pj,pc,jc->j", left, H, right, optimize=True),
            squared=False,
        )

    def by_factors(self, point: Point) -> Parametrisation | None:
        """Return the parametrisation ``B = L R^T``.

        ``lam/2 (|L|^2 + |R|^2)`` is least, for a given B, at lam times its trace norm.
        """
        left, values, right = np.linalg.svd(point.B, full_matrices=False)
        some = values > ZERO * values[0]
        roots = np.sqrt(values[some])
        L, R = left[:, some] * roots, right[some].T * roots

        def factors(x: Real) -> tuple[Real, Real]:
            return x[: L.size].reshape(L.shape), x[L.size :].reshape(R.shape)

        def to_matrix(x: Real) -> Real:
            L, R = factors(x)
            return L @ R.T

        def gradient(x: Real, H: Real) -> Real:
            L, R = factors(x)
            return np.concatenate([(H @ R).ravel(), (H.T @ L).ravel()])

        return Parametrisation(
            np.concatenate([L.ravel(), R.ravel()]), to_matrix, gradient, squared=True
        )

    def compress(self, point: Point) -> Point:
        """Return the same W over its left singular vectors."""
        assert isinstance(point.basis, Directions)
        if not point.B.any():
            return Point(Directions(point.basis.vectors[:, :0]), point.B[:0])
        left, values, right = np.linalg.svd(point.B, full_matrices=False)
        some = values > ZERO * values[0]
        rotated = np.linalg.qr(point.basis.vectors.astype(np.float64) @ left[:, some])
        B = rotated[1] @ (values[some, None] * right[some])
        return Point(Directions(rotated[0].astype(point.basis.vectors.dtype)), B)

    def count(self, point: Point) -> int:
        """Return the number of atoms: after `compress` they are the singular pairs."""
        return self.rank(point)

    def rank(self, point: Point) -> int:
        """Return the rank of W."""
        if not point.B.any():
            return 0
        values = np.linalg.svd(point.B, compute_uv=False)
        return int(np.count_nonzero(values > ZERO * values[0]))


def _orthogonal(vectors: Real, basis: Real) -> NDArray[Any]:
    """Return orthonormal columns that extend an orthonormal basis by the span of some vectors."""
    lengths = np.linalg.norm(vectors, axis=0)
    vectors = vectors[:, lengths > 0] / lengths[lengths > 0]
    for _ in range(2):  # twice, as rounding leaves a part of the basis the first time
        vectors = vectors - basis @ (basis.T @ vectors)
    left, values, _ = np.linalg.svd(vectors, full_matrices=False)
    fresh = left[:, values > NEW]
    return np.linalg.qr(fresh - basis @ (basis.T @ fresh))[0]
