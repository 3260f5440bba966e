"""Recall@k by cutting planes: the k n best pairs should hold the n positives  [TK, 2.3].

Joachims (2005) predicts at most k n of all pairs as positive, as a matrix Y' of zeros and ones, and
bounds the fraction of positives that are missed (Delta) from above::

    xi(W) = max over Y' of Delta(Y') + <Y' - Y, S> / n        P(W) = lam/2 |W|^2 + xi(W)

The maximum takes the best positives and the best negatives, some number of each; negatives with a
score below zero are worth nothing. *At most* k n, as in SVMperf, because the truth has n ones: were
k n of them demanded, every prediction would contain (k - 1) n negatives, and the slack would hold
down the highest of those even where no positive is missed. It gives a cut,
the plane ``Delta + <G, W>`` with ``G = (Y' - Y)' X / n`` that touches xi from below. A small
quadratic problem over the simplex of all cuts gives the next weights and a lower bound.

Cuts at those weights alone need very many rounds where `lam` is small. As Franc and Sonnenburg
(OCAS, 2009) do, each round first searches the line from the best weights so far to those of the
cuts, and then adds the cut at a point of the line near the best one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.dual.ascent import Certificate
from myriad.training.pairs.trainer import PairTrainer

IDLE = 30
"""A cut whose dual variable has been zero for this many epochs is dropped."""
HALVINGS = 6
"""Number of bisections of the line search."""
BEYOND = 0.1
"""Where the next cut is taken: the fraction of the way from the best weights to the new ones."""
ROUNDS = 20_000
"""Maximum number of steps of the quadratic problem over the cuts."""
TOLERANCE = 1e-3
"""Tolerance of the quadratic problem, as a fraction of the gap."""


class RecallPlanes(PairTrainer):
    """Recall@k in training; an epoch adds one cut.

    Parameters
    ----------
    k : how many pairs may be predicted for each row, on average; 1 to n_classes - 1.

    Attributes
    ----------
    cuts : float32 (n_cuts, n_classes, dim + 1), the normals of the planes.
    misses : float64 (n_cuts,), their values at W = 0.
    shares : float64 (n_cuts,), nonnegative with sum 1: the dual variables.
    """

    def __init__(self, rows: Rows, n_classes: int, *, k: int, lam: float, bias: float) -> None:
        super().__init__(rows, n_classes, lam=lam, bias=bias)
        self.k = k
        shape = n_classes, rows.dim + 1
        self.cuts = np.zeros((0, *shape), np.float32)
        self.misses, self.shares, self._idle = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
        self._gram = np.zeros((0, 0))
        self._W, self._best = np.zeros(shape), np.zeros(shape)
        self._best_scores: NDArray[Any] | None = None
        self._lowest = np.inf

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Search the line to the present weights, add a cut, and move to the least of all cuts."""
        S = self.score(self._best, pool) if self._best_scores is None else self._best_scores
        towards, change = self._W - self._best, self.score(self._W, pool) - S
        step = self._search(towards, S, change)
        self._best, self._best_scores = self._best + step * towards, S + np.float32(step) * change
        beyond = self._best_scores + np.float32(BEYOND * (1.0 - step)) * change
        M, missed, _ = select_pairs(beyond, self.rows.labels, self.k)
        cut = (self.combine(M, pool) / self.rows.n_rows).astype(np.float32)
        self._add(cut, missed)
        self._move()
        self.epoch += 1
        advance(self.rows.n_rows)

    def _search(
        self, towards: NDArray[np.float64], scores: NDArray[Any], change: NDArray[Any]
    ) -> float:
        """Return the step towards other weights, 0 to 1, that minimises the value.

        The value is convex along the line: halving by the sign of its slope finds it.

        Parameters
        ----------
        towards : other weights minus the best ones.
        scores : those of the best weights (n_rows, n_classes).
        change : scores of the others minus those of the best ones.
        """
        n, labels = self.rows.n_rows, self.rows.labels
        square, along = float((towards**2).sum()), float((towards * self._best).sum())
        norm = float((self._best**2).sum())

        def probe(step: float) -> tuple[float, float]:
            """Return the value and its slope."""
            M, _, xi = select_pairs(scores + np.float32(step) * change, labels, self.k)
            chosen = M != 0
            rise = float((M[chosen] * change[chosen]).sum(dtype=np.float64)) / n
            penalty = 0.5 * self.lam * (norm + 2.0 * step * along + step**2 * square)
            return penalty + xi, self.lam * (along + step * square) + rise

        low, high = 0.0, 1.0
        value, slope = probe(high)
        found = [(self._lowest, low), (value, high)]
        if slope > 0.0:
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                value, slope = probe(middle)
                found.append((value, middle))
                low, high = (middle, high) if slope < 0.0 else (low, middle)
        self._lowest, step = min(found)
        return step

    def _add(self, cut: NDArray[np.float32], missed: float) -> None:
        """Add a cut; drop those that have been idle for long."""
        kept = self._idle < IDLE
        if not kept.all():
            self.cuts, self.misses = self.cuts[kept], self.misses[kept]
            self.shares = self.shares[kept]
            self._idle, self._gram = self._idle[kept], self._gram[np.ix_(kept, kept)]
        self.cuts = np.concatenate([self.cuts, cut[None]])
        self.misses = np.append(self.misses, missed)
        self.shares = np.append(self.shares, 0.0 if len(self.shares) else 1.0)
        self._idle = np.append(self._idle, 0)
        products = [float(np.vdot(one.astype(np.float64), cut)) for one in self.cuts]
        m = len(products)
        gram = np.zeros((m, m))
        gram[:-1, :-1], gram[-1], gram[:, -1] = self._gram, products, products
        self._gram = gram

    def _move(self) -> None:
        """Solve the problem over the cuts, and set the weights."""
        highest = min(self._lowest, 1.0)  # that of W = 0
        precision = TOLERANCE * max(highest - self._dual(), 1e-9)
        solve_shares(self._gram, self.misses, self.shares, self.lam, precision, ROUNDS)
        self._idle = np.where(self.shares > 0.0, 0, self._idle + 1)
        self._W = self._combine_cuts()

    def _combine_cuts(self) -> NDArray[np.float64]:
        W = np.zeros((self.n_classes, self.rows.dim + 1))
        for share, cut in zip(self.shares, self.cuts, strict=True):
            if share > 0.0:
                W -= (share / self.lam) * cut
        return W

    def _penalty(self, W: NDArray[np.float64]) -> float:
        return 0.5 * self.lam * float((W**2).sum())

    def _dual(self) -> float:
        """Return the dual value of the shares, a lower bound of the optimum."""
        if not len(self.shares):
            return 0.0
        square = self.shares @ self._gram @ self.shares
        return float(self.misses @ self.shares - 0.5 * square / self.lam)

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Return the value of the best weights so far, from scores in float64."""
        S = self.score(self._best, pool, np.float64)
        _, _, xi = select_pairs(S, self.rows.labels, self.k)
        self._certified, self._lowest = self._best, self._penalty(self._best) + xi
        self._best_scores = None  # those added up in float32 drift
        return Certificate(np.array([self._lowest]), np.array([self._dual()]))

    def change_lam(self, lam: float) -> None:
        """Continue with another `lam`; cuts hold for every one."""
        self.lam, self._lowest = lam, np.inf
        if len(self.shares):
            self._move()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the cuts and the weights, after a certificate."""
        return {
            "cuts": self.cuts,
            "misses": self.misses,
            "shares": self.shares,
            "idle": self._idle,
            "gram": self._gram,
            "weights": self._W,
            "best": self._best,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned; `certify` then computes the value."""
        self.cuts, self.misses = arrays["cuts"].copy(), arrays["misses"].copy()
        self.shares, self._idle = arrays["shares"].copy(), arrays["idle"].copy()
        self._gram = arrays["gram"].copy()
        self._W, self._best = arrays["weights"].copy(), arrays["best"].copy()
        self._best_scores = None


def select_pairs(
    S: NDArray[Any], labels: NDArray[np.int32], k: int
) -> tuple[NDArray[np.int8], float, float]:
    """Return the most violated prediction of at most k n pairs: ``Y' - Y``, Delta and xi.

    Parameters
    ----------
    S : scores (n_rows, n_classes), changed: those of the true labels are set to -inf.
    """
    n, n_classes = S.shape
    own = np.arange(n), labels
    true = S[own].astype(np.float64)
    S[own] = -np.inf
    flat = S.ravel()
    wrong = np.argpartition(-flat, k * n - 1)[: k * n]
    wrong = wrong[np.argsort(-flat[wrong], kind="stable")]
    wrong = wrong[flat[wrong] > 0.0]
    order = np.argsort(-true, kind="stable")
    best_true = np.concatenate([[0.0], np.cumsum(true[order])])
    best_wrong = np.concatenate([[0.0], np.cumsum(flat[wrong], dtype=np.float64)])
    found = np.arange(n + 1)  # positives among the predicted pairs
    added = np.minimum(k * n - found, len(wrong))
    values = 1.0 - found / n + (best_true + best_wrong[added] - best_true[n]) / n
    count = int(values.argmax())
    M = np.zeros((n, n_classes), np.int8)
    M.ravel()[wrong[: added[count]]] = 1
    missed = order[count:]
    M[missed, labels[missed]] = -1
    return M, 1.0 - count / n, float(values[count])


@jit
def solve_shares(gram, misses, shares, lam, precision, rounds):
    """Maximise ``misses' theta - theta' gram theta / (2 lam)`` over the simplex, in place.

    Each step moves a share between the two cuts that violate optimality most.

    Parameters
    ----------
    gram : float64 array of shape (m, m), products of the cuts.
    misses : float64 array of shape (m,)
    shares : float64 array of shape (m,), changed in place.
    precision : largest violation to stop at.
    rounds : maximum number of steps.
    """
    slopes = misses - gram @ shares / lam
    for _ in range(rounds):
        up, down = 0, -1
        for j in range(len(slopes)):
            if slopes[j] > slopes[up]:
                up = j
            if shares[j] > 0.0 and (down < 0 or slopes[j] < slopes[down]):
                down = j
        if slopes[up] - slopes[down] <= precision:
            break
        curvature = (gram[up, up] + gram[down, down] - 2.0 * gram[up, down]) / lam
        moved = shares[down]
        if curvature > 0.0:
            moved = min(moved, (slopes[up] - slopes[down]) / curvature)
        shares[up] += moved
        shares[down] = max(0.0, shares[down] - moved)
        for j in range(len(slopes)):
            slopes[j] -= moved * (gram[j, up] - gram[j, down]) / lam
