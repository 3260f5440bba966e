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

All rows together need a score for each pair. In mini-batches the rows are divided once, at random,
and each batch b of n_b rows has a prediction Y'_b of at most k n_b pairs of its own::

    xi(W) = sum over b of n_b / n xi_b(W)

The predictions of the batches together are one of all rows, so this is a lower bound of the loss of
all rows, and so is the dual value. In batches of one row it is a loss of each row by itself, as the
top-k SVM has one. The mean of the cuts of the batches is a cut, and the rest stays as it is.
Memory holds the scores of one batch and the cuts, each as large as the weights.
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
STEPS = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02])
"""Steps of the line search, as fractions of the way to the new weights."""
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
    batch : largest number of rows of a batch; None for all rows in one.
    seed : draws the batches, which stay the same in all epochs.

    Attributes
    ----------
    batches : the rows of each batch.
    cuts : float32 (n_cuts, n_classes, dim + 1), the normals of the planes.
    misses : float64 (n_cuts,), their values at W = 0.
    shares : float64 (n_cuts,), nonnegative with sum 1: the dual variables.
    """

    advice = "train in mini-batches (batch), or use the objective topk"

    def __init__(
        self,
        rows: Rows,
        n_classes: int,
        *,
        k: int,
        lam: float,
        bias: float,
        batch: int | None = None,
        seed: int = 0,
    ) -> None:
        ranked = rows.n_rows if batch is None else min(batch, rows.n_rows)
        super().__init__(rows, n_classes, lam=lam, bias=bias, ranked=ranked)
        self.k = k
        self.batches = draw_batches(rows, ranked, seed)
        shape = n_classes, rows.dim + 1
        self.cuts = np.zeros((0, *shape), np.float32)
        self.misses, self.shares, self._idle = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
        self._gram = np.zeros((0, 0))
        self._W, self._best = np.zeros(shape), np.zeros(shape)
        self._lowest = np.inf

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Search the line to the present weights, add a cut, and move to the least of all cuts.

        Batches are visited twice: for the search, and for the cut, beginning with the last one,
        whose scores are known.
        """
        n, towards = self.rows.n_rows, self._W - self._best
        norm, along = np.vdot(self._best, self._best), np.vdot(towards, self._best)
        square = np.vdot(towards, towards)
        values = 0.5 * self.lam * (norm + 2.0 * STEPS * along + STEPS**2 * square)
        ends = np.concatenate([self._best, self._W])
        for batch in self.batches:
            S, change = np.split(self.score(batch, ends, pool), 2, axis=1)
            change -= S
            for number, some in enumerate(STEPS):
                _, _, xi = select_pairs(S + np.float32(some) * change, batch.labels, self.k)
                values[number] += batch.n_rows / n * xi
        step = 0.0
        if values.min() < self._lowest:
            self._lowest, step = float(values.min()), float(STEPS[values.argmin()])
        ahead = step + BEYOND * (1.0 - step)
        cut, missed = np.zeros_like(self._W), 0.0
        for number, batch in enumerate(reversed(self.batches)):
            if number == 0:
                scores = S + np.float32(ahead) * change
            else:
                scores = self.score(batch, self._best + ahead * towards, pool)
            M, part, _ = select_pairs(scores, batch.labels, self.k)
            cut += self.combine(batch, M, pool) / n
            missed += batch.n_rows / n * part
        self._best = self._best + step * towards
        self._add(cut.astype(np.float32), missed)
        self._move()
        self.epoch += 1
        advance(n)

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
        value = self._penalty(self._best)
        for batch in self.batches:
            S = self.score(batch, self._best, pool, np.float64)
            value += batch.n_rows / self.rows.n_rows * select_pairs(S, batch.labels, self.k)[2]
        self._certified, self._lowest = self._best, value
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


def draw_batches(rows: Rows, most: int, seed: int) -> list[Rows]:
    """Return the rows of each batch: at most so many each, of sizes that differ by one at most.

    They are drawn in the order of an epoch, which reads a store or a file in large sections, and
    keep the order of the rows within them.
    """
    count = -(-rows.n_rows // most)
    if count == 1:
        return [rows]
    order = rows.order(seed=seed, epoch=0)
    return [rows.select(np.sort(some)) for some in np.array_split(order, count)]


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
    wrong = np.flatnonzero(flat > 0.0)
    if len(wrong) > k * n:
        wrong = wrong[np.argpartition(-flat[wrong], k * n - 1)[: k * n]]
    wrong = wrong[np.argsort(-flat[wrong], kind="stable")]
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
