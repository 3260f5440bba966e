"""Stochastic atom descent: atoms from mini-batches, a step along each, the support minimised [LS].

A round adds atoms one at a time, each found on a mini-batch and followed by a line search over all
rows; then it minimises over the support, and bounds the suboptimality by the full gradient. Mini-
batches grow when their atoms do not lower the objective; once they hold all rows, the atoms best
aligned with the full gradient are added together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from myriad.arrays import Float
from myriad.parallel import ThreadPool
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.trace.gauges.gauge import Atoms, Gauge, Parametrisation
from myriad.training.trace.latents import Point, Real
from myriad.training.trace.multinomial import Gradient, Latents, Risk

FEWEST_BATCH, BATCH_SIDES = 1024, 4
LINE_STEPS = 8
"""Maximum number of evaluations of the risk in a line search."""
FLAT_FRACTION = 0.1
"""A line search ends where the slope is at most this fraction of that at its start."""
ATOMS_ADDED = 16
"""Maximum number of atoms of the full gradient that are added at once."""
CORRECTIONS = 10
MIN_SLOPE_FRACTION = 0.5
"""A mini-batch is too small if the slope of its atom on all rows is below this fraction of the
slope on the mini-batch."""
GROWTH = 4
"""Factor by which mini-batches that are too small grow."""
STALLED = 1e-7
"""A round on the full gradient that lowers the objective by a smaller fraction is the last."""


@dataclass(frozen=True, eq=False)
class State:
    """The state of a descent after a round.

    Attributes
    ----------
    point : the weights.
    found : the atoms best aligned with the negative full gradient.
    objective, bound, polar : at the weights; see `bound_suboptimality`.
    atoms, rank : number of atoms of the weights, and their rank.
    round : number of rounds so far.
    batch : rows of a mini-batch.
    done : whether the bound is below the tolerance, or the objective no longer decreases.
    """

    point: Point
    found: Atoms
    objective: float
    bound: float
    polar: float
    atoms: int
    rank: int
    round: int
    batch: int
    done: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the columns of the history that describe the round."""
        return {
            "objective": self.objective,
            "bound": self.bound,
            "rank": self.rank,
            "atoms": self.atoms,
            "batch": self.batch,
        }


class Descent:
    """Stochastic atom descent on one set of rows; `lam` may differ from call to call.

    Parameters
    ----------
    batch : rows of the first mini-batches; None for a few times the larger side of W, since the
        top singular pair of fewer rows is that of their noise.
    subspace_every : atoms from mini-batches between two minimisations over the support.
    steps : maximum number of L-BFGS-B iterations in each minimisation.
    tol : relative suboptimality at which `State.done` is set.
    """

    def __init__(
        self,
        rows: Rows,
        biases: Float,
        gauge: Gauge,
        *,
        batch: int | None,
        subspace_every: int,
        steps: int,
        tol: float,
        seed: int,
        pool: ThreadPool,
    ) -> None:
        self.gauge, self.seed, self.tol = gauge, seed, tol
        self._risk = Risk(rows, biases, pool)
        self._batch = batch or max(FEWEST_BATCH, BATCH_SIDES * max(rows.dim, len(biases)))
        self._subspace_every, self._steps = subspace_every, steps

    def begin(self) -> State:
        """Return the state at W = 0; its polar is the smallest `lam` for which zero is optimal."""
        rows = self._risk.rows
        return self.resume(self.gauge.zeros(rows.dim, self._risk.n_classes, rows.dtype), 0, None)

    def resume(self, point: Point, n_rounds: int, batch: int | None, lam: float = np.inf) -> State:
        """Return the state at a point after a number of rounds."""
        batch = min(batch or self._batch, self._risk.rows.n_rows)
        return self._certify(point, self._risk.project(point.basis), lam, n_rounds, batch)

    def relax(self, point: Point, lam: float) -> Point:
        """Return the minimiser for a smaller `lam` over the support of `point`."""
        return self._minimise(point, lam)

    def run_round(self, state: State, lam: float) -> State:
        """Return the state after one more round."""
        began, n_rows = state, self._risk.rows.n_rows
        point, batch = state.point, state.batch
        for atom in range(self._subspace_every):
            if batch >= n_rows:
                break
            point, kept = self._add_from_batch(point, lam, batch, key=f"{state.round} {atom}")
            if kept < MIN_SLOPE_FRACTION:
                batch = min(GROWTH * batch, n_rows)
        if batch >= n_rows and point is state.point:
            found = state.found.above(lam)
            if len(found):
                point, _ = self._line_search(point, found, lam)
        point = self._minimise(point, lam)
        state = self._certify(point, self._risk.project(point.basis), lam, state.round + 1, batch)
        fell = began.objective - state.objective
        stalled = batch >= n_rows == began.batch and fell < STALLED * state.objective
        return replace(state, done=state.done or stalled)

    def _add_from_batch(
        self, point: Point, lam: float, batch: int, *, key: str
    ) -> tuple[Point, float]:
        """Return the point after a line search along the best atom of a mini-batch.

        The second value is the slope on all rows as a fraction of that on the mini-batch, 0 if
        there is no such atom.
        """
        draw = generator(self.seed, f"atoms {key}")
        chosen = np.sort(draw.choice(self._risk.rows.n_rows, batch, replace=False))
        some = Risk(self._risk.rows.select(chosen), self._risk.biases, self._risk.pool)
        gradient = Gradient(some, point, some.project(point.basis))
        _, atoms = self.gauge.search(gradient, point, count=1, draw=draw, precision=0.05)
        atoms = atoms.above(lam)
        return self._line_search(point, atoms, lam) if len(atoms) else (point, 0.0)

    def _line_search(self, point: Point, atoms: Atoms, lam: float) -> tuple[Point, float]:
        """Return the point after a step along the sum of atoms that lowers the objective.

        The second value is the slope at the start as a fraction of the slope that the search for
        the atoms found; the point is unchanged and the value 0 if the objective does not fall.
        """
        before, expected = point, float(atoms.slopes.sum()) - lam * len(atoms)
        point, delta = self.gauge.extend(point, atoms)
        latents = self._risk.project(point.basis)

        def slope_at(step: float) -> float:
            H = self._risk.evaluate(latents, point.B + step * delta)[1]
            return float((H * delta).sum()) + lam * len(atoms)

        step, slope = find_step(slope_at, first=1.0 / max(1.0, float(np.sqrt((delta**2).sum()))))
        if step == 0:
            return before, 0.0
        return Point(point.basis, point.B + step * delta), -slope / expected

    def _minimise(self, point: Point, lam: float) -> Point:
        """Return the minimiser over the support: atoms may change first, then weights alone."""
        if not point.B.any():
            return self.gauge.compress(point)
        latents = self._risk.project(point.basis)
        factors = self.gauge.by_factors(point)
        if factors is not None:
            point = Point(point.basis, self._descend(factors, latents, lam))
        if point.B.any():
            weights = self.gauge.by_weights(point)
            point = Point(point.basis, self._descend(weights, latents, lam))
        return self.gauge.compress(point)

    def _descend(self, form: Parametrisation, latents: Latents, lam: float) -> Real:
        """Return the B that L-BFGS-B finds in a parametrisation."""

        def value(x: Real) -> tuple[float, Real]:
            risk, H = self._risk.evaluate(latents, form.to_matrix(x))
            penalty, slope = form.penalty(x, lam)
            return risk + penalty, form.gradient(x, H) + slope

        found = minimize(
            value,
            form.start,
            jac=True,
            method="L-BFGS-B",
            bounds=None if form.squared else [(0.0, None)] * len(form.start),
            options={
                "maxiter": self._steps,
                "maxcor": CORRECTIONS,
                "ftol": 1e-3 * self.tol * self.tol,
                "gtol": 1e-2 * self.tol * lam,
            },
        )
        return form.to_matrix(found.x)

    def _certify(
        self, point: Point, latents: Latents, lam: float, n_rounds: int, batch: int
    ) -> State:
        gradient = Gradient(self._risk, point, latents)
        draw = generator(self.seed, f"certificate {n_rounds}")
        polar, found = self.gauge.search(
            gradient, point, count=ATOMS_ADDED, draw=draw, precision=min(0.1, 0.3 * self.tol)
        )
        gauge, inner = self.gauge.value(point.B), float((gradient.H * point.B).sum())
        objective, bound = gradient.value, 0.0
        if np.isfinite(lam):
            objective += lam * gauge
            bound = bound_suboptimality(
                gradient.losses, self._risk.weights, lam=lam, gauge=gauge, inner=inner, polar=polar
            )
        return State(
            point,
            found,
            objective,
            bound,
            polar,
            self.gauge.count(point),
            self.gauge.rank(point),
            n_rounds,
            batch,
            done=bool(np.isfinite(lam)) and bound <= self.tol * objective,
        )


def find_step(slope_at: Callable[[float], float], *, first: float) -> tuple[float, float]:
    """Return a step at which a convex function still falls but is nearly flat, and its first slope.

    The step is doubled until the slope is positive; then the interval is cut alternately by the
    secant and in half. The step is 0 if the function does not fall at 0.

    Parameters
    ----------
    slope_at : returns the derivative along the line at a step.
    first : the first step to try.
    """
    at_zero = slope_at(0.0)
    if at_zero >= 0:
        return 0.0, at_zero
    low, high = (0.0, at_zero), None
    step = first
    for number in range(LINE_STEPS):
        here = slope_at(step)
        if here <= 0:
            low = step, here
            if here > FLAT_FRACTION * at_zero:
                break
        else:
            high = step, here
        if high is None:
            step = 2 * step
        elif number % 2:
            step = 0.5 * (low[0] + high[0])
        else:
            step = low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])
    return low[0], at_zero


def bound_suboptimality(
    losses: Real, weights: Real, *, lam: float, gauge: float, inner: float, polar: float
) -> float:
    """Return the smaller of two bounds on ``J(W) - J(W*)``, at least 0.

    For ``J(W) = lam Omega(W) + R(W)`` and any W, with ``polar`` the gauge's polar of ``-grad R``:

    - ``lam Omega + <grad R, W> + max(0, polar - lam) J / lam``, since R is convex and
      ``lam Omega(W*) <= J(W)``;
    - the duality gap at the probabilities ``q = s p + (1 - s) [c = y]`` with ``s = lam / polar``,
      whose residuals are those of W times s and therefore feasible:
      ``lam Omega + s <grad R, W> + sum_i w_i KL(q_i | p_i)``. The last term is small of second
      order.

    Parameters
    ----------
    losses : ``-log p_y`` of each row, float64 (n_samples,)
    weights : of the rows, adding up to 1.
    gauge : ``Omega(W)``.
    inner : ``<grad R, W>``.
    polar : the gauge's polar of ``-grad R``.
    """
    value = lam * gauge + float(losses @ weights)
    plain = lam * gauge + inner + max(0.0, polar - lam) * value / lam
    s = min(1.0, lam / polar) if polar > 0 else 1.0
    p = np.exp(-losses)
    own = s * p + (1.0 - s)
    divergence = own * (np.log(own) + losses) + s * (1.0 - p) * np.log(s)
    dual = lam * gauge + s * inner + float(divergence @ weights)
    return float(max(0.0, min(plain, dual)))
