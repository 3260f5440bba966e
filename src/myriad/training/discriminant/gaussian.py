"""Classes as Gaussians whose means are Gaussian too: probabilistic linear discriminant analysis.

A row of class c is ``x = m_c + e`` with ``m_c ~ N(m, B)`` and ``e ~ N(0, S)`` [Ioffe, Probabilistic
Linear Discriminant Analysis, 2006]. In coordinates in which S is the identity and B is a diagonal
``psi``, the posterior of the true mean of a class, given the mean ``z_c`` of its n_c rows, is

    m_c ~ N(t_c z_c, t_c / n_c)   with   t_c = n_c psi / (n_c psi + 1),

and a new row of the class is distributed as ``N(t_c z_c, 1 + t_c / n_c)``. Directions in which
classes differ no more than means of n_c rows do by chance are thereby shrunk, which helps most
where classes are many and have few rows each. With one variance for all classes, that of a class
of average size, log densities are linear in x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from myriad.arrays import Float
from myriad.errors import WorkError
from myriad.models import LinearModel, Model
from myriad.store import ProjectedRows, Rows, with_features
from myriad.training.baselines.class_sums import NEVER
from myriad.training.context import RunningContext
from myriad.training.discriminant.method import check_rows, uses_span
from myriad.training.discriminant.moments import ClassMoments
from myriad.training.engine.span import find_span

SHARD = 4096
"""Classes whose means are computed at a time."""
PROJECTED_BYTES = 1 << 30
"""Bytes up to which projected rows are kept in memory; more are projected when they are read."""


@dataclass(frozen=True)
class GaussianClasses:
    """A fitted model of Gaussian classes.

    Attributes
    ----------
    moments : the moments of the training rows.
    centre : float64 array of shape (n_features,), the mean of the class means.
    directions : float64 array V of shape (n_features, n_directions): ``V' S V`` is the identity and
        ``V' B V`` is diagonal.
    variances : float64 array psi of shape (n_directions,), the diagonal of ``V' B V``, positive.
    size : harmonic mean of the numbers of rows of the classes.
    """

    moments: ClassMoments
    centre: NDArray[np.float64]
    directions: NDArray[np.float64]
    variances: NDArray[np.float64]
    size: float

    def to_model(self) -> LinearModel:
        """Return the linear model that ranks classes by their log densities."""
        counts, sums = self.moments.counts, self.moments.sums
        W = np.zeros(sums.shape, np.float32)
        b = np.full(len(counts), NEVER, np.float32)
        psi = self.variances
        spread = 1.0 + psi / (self.size * psi + 1.0)
        for some in _seen_classes(counts):
            n = counts[some, None]
            means = (sums[some] / n - self.centre) @ self.directions
            means *= n * psi / (n * psi + 1.0)
            weights = (means / spread) @ self.directions.T
            W[some] = weights
            b[some] = -0.5 * np.einsum("cj,cj->c", means, means / spread) - weights @ self.centre
        return LinearModel(W, b)

    def space(self) -> DiscriminantSpace:
        """Return the space in which weights of all directions are equally large a priori.

        The weights of `to_model` have the variance ``t psi / v^2`` over classes, v being the
        variance of a row; a regulariser that treats all features alike assumes equal variances. The
        mean squared norm of projected rows is about 1.
        """
        psi = self.variances
        shrunk = self.size * psi / (self.size * psi + 1.0)
        spread = 1.0 + psi / (self.size * psi + 1.0)
        scales = np.sqrt(shrunk * psi) / spread
        scales /= np.sqrt((scales**2 * (1.0 + psi)).sum())
        projection = self.directions * scales
        return DiscriminantSpace(
            projection.astype(np.float32), (self.centre @ projection).astype(np.float32)
        )


@dataclass(frozen=True)
class DiscriminantSpace:
    """A projection of rows, ``x -> x P - o``, in which linear models are easier to learn.

    Attributes
    ----------
    projection : float32 array P of shape (n_features, n_directions)
    offset : float32 array o of shape (n_directions,)
    """

    projection: Float
    offset: Float

    def project(self, rows: Rows) -> Rows:
        """Return rows in the space, kept in memory if they are not too many."""
        view = ProjectedRows(rows, self.projection, self.offset)
        if 4 * view.n_rows * view.dim > PROJECTED_BYTES:
            return view
        return with_features(view.read(range(view.n_rows)), rows)

    def transform(self, X: Float) -> Float:
        """Return an array of rows in the space."""
        projected: Float = X @ self.projection - self.offset
        return projected

    def expand(self, model: Model) -> LinearModel:
        """Return a linear model of projected rows as a model of the rows themselves."""
        assert isinstance(model, LinearModel)
        biases = model.biases - model.weights @ self.offset
        return LinearModel(model.weights @ self.projection.T, biases)


def find_space(
    rows: Rows, n_classes: int, lam: float, context: RunningContext
) -> DiscriminantSpace:
    """Return the space of discriminant analysis of labelled rows.

    With more features than rows, covariances are those of coordinates in the span of the rows.
    """
    span = find_span(rows, context) if uses_span(rows) else None
    source = rows if span is None else span.rows
    check_rows(source)
    moments = ClassMoments.collect(source, n_classes, pool=context.pool, progress=context.progress)
    space = fit_gaussians(moments, lam).space()
    if span is None:
        return space
    directions = LinearModel(np.ascontiguousarray(space.projection.T), space.offset)
    projection = span.expand(directions, context.pool).weights.T
    return replace(space, projection=np.ascontiguousarray(projection))


class SingularCovariance(WorkError):
    """The covariance within classes has no inverse, since rows differ very much in size."""


def fit_gaussians(moments: ClassMoments, lam: float) -> GaussianClasses:
    """Return Gaussian classes with the covariances of the moments.

    The covariance between classes is that of their means, minus the part that is due to chance with
    so few rows. If it has no positive eigenvalue, the direction of the largest one is kept.

    Parameters
    ----------
    lam : added to the variance of every feature within classes, as a fraction of the mean variance
        of all features.
    """
    counts, n_rows = moments.counts, moments.counts.sum()
    sizes = counts[counts > 0]
    n_seen, dim = len(sizes), moments.sums.shape[1]
    mean = moments.sums.sum(axis=0) / n_rows
    variance = (np.trace(moments.products) / n_rows - mean @ mean) / dim
    centre = np.zeros(dim)
    for some in _seen_classes(counts):
        centre += (moments.sums[some] / counts[some, None]).sum(axis=0) / n_seen
    within, between = moments.products.copy(), np.zeros((dim, dim))
    for some in _seen_classes(counts):
        roots = np.sqrt(counts[some, None])
        scaled = moments.sums[some] / roots
        within -= scaled.T @ scaled
        if n_seen >= dim:
            away = scaled / roots - centre
            between += away.T @ away / n_seen
    within /= max(n_rows - n_seen, 1.0)
    within[np.diag_indices(dim)] += lam * max(variance, np.finfo(np.float32).tiny)
    try:
        L = cholesky(within, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise SingularCovariance(
            f"The covariance within classes is singular with lam {lam:g}: choose a larger one."
        ) from None
    if n_seen >= dim:
        half = solve_triangular(L, between, lower=True, check_finite=False)
        white = solve_triangular(L, half.T, lower=True, check_finite=False)
        variances, directions = eigh(white, overwrite_a=True, check_finite=False)
    else:
        # The class means span fewer dimensions than there are: their own products suffice.
        seen = np.flatnonzero(counts > 0)
        away = moments.sums[seen] / counts[seen, None] - centre
        Z = solve_triangular(L, away.T, lower=True, check_finite=False)
        variances, u = eigh(Z.T @ Z / n_seen, check_finite=False)
        directions = (Z @ u) / np.sqrt(np.maximum(variances, 1e-30) * n_seen)
    size = n_seen / float((1.0 / sizes).sum())
    chance = 1.0 / size
    kept = variances > chance
    if not kept.any():
        kept, chance = variances == variances.max(), 0.0
    V = solve_triangular(L, directions[:, kept], lower=True, trans="T", check_finite=False)
    return GaussianClasses(moments, centre, V, np.maximum(variances[kept] - chance, 1e-12), size)


def _seen_classes(counts: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the numbers of the classes that have rows, in shards."""
    seen = np.flatnonzero(counts > 0)
    return [seen[start : start + SHARD] for start in range(0, len(seen), SHARD)]
