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
from myriad.training.trace.gauges.gauge import Atoms, Chart, Gauge
from myriad.training.trace.latents import Point, Real
from myriad.training.trace.multinomial import Latents, Risk, Slope

FEWEST_BATCH, BATCH_SIDES = 1024, 4
LINE_STEPS = 8
"""Risks evaluated to follow an atom."""
FOLLOWED = 0.1
"""An atom is followed until its slope is this fraction of the first one."""
TOGETHER = 16
"""Atoms of the full gradient that are added together."""
CORRECTIONS = 10
KEPT = 0.5
"""A mini-batch is too small if the slope on all rows is below this fraction of its own."""
GROWTH = 4
"""How many times larger the next mini-batch is then."""
STALLED = 1e-7
"""A round on the full gradient that lowers the objective by a smaller fraction is the last."""


@dataclass(frozen=True, eq=False)
class State:
    """The state of a descent after a round.

    Attributes
    ----------
    point : the weights.
    found : the atoms best aligned with the full gradient.
    objective, bound, polar : at the weights; see `bound_suboptimality`.
    atoms, rank : of the weights.
    round : rounds made so far.
    batch : rows of a mini-batch.
    done : whether the bound is small enough, or the objective falls no more.
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
        """Return the columns of a history."""
        return {
            "objective": self.objective,
            "bound": self.bound,
            "rank": self.rank,
            "atoms": self.atoms,
            "batch": self.batch,
        }


class Descent:
    """The descent on one set of rows; `lam` may differ from call to call.

    Parameters
    ----------
    batch : rows of the first mini-batches; None for a few times the larger side of W, since the
        top singular pair of fewer rows is that of their noise.
    subspace_every : atoms from mini-batches between two minimisations over the support.
    steps : of L-BFGS-B in each minimisation, at most.
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
        return self.resume(self.gauge.begin(rows.dim, self._risk.n_classes, rows.dtype), 0, None)

    def resume(self, point: Point, made: int, batch: int | None, lam: float = np.inf) -> State:
        """Return the state at a point after a number of rounds."""
        batch = min(batch or self._batch, self._risk.rows.n_rows)
        return self._certify(point, self._risk.lift(point.basis), lam, made, batch)

    def relax(self, point: Point, lam: float) -> Point:
        """Return the best point over the support of one, for a smaller `lam`: no atom is added."""
        return self._minimise(point, lam)

    def run_round(self, state: State, lam: float) -> State:
        """Return the state after one more round."""
        began, n_rows = state, self._risk.rows.n_rows
        point, batch = state.point, state.batch
        for atom in range(self._subspace_every):
            if batch >= n_rows:
                break
            point, kept = self._add_from_batch(point, lam, batch, key=f"{state.round} {atom}")
            if kept < KEPT:
                batch = min(GROWTH * batch, n_rows)
        if batch >= n_rows and point is state.point:
            found = state.found.above(lam)
            if len(found):
                point, _ = self._follow(point, found, lam)
        point = self._minimise(point, lam)
        state = self._certify(point, self._risk.lift(point.basis), lam, state.round + 1, batch)
        fell = began.objective - state.objective
        stalled = batch >= n_rows == began.batch and fell < STALLED * state.objective
        return replace(state, done=state.done or stalled)

    def _add_from_batch(
        self, point: Point, lam: float, batch: int, *, key: str
    ) -> tuple[Point, float]:
        """Return the point after a step along the best atom of a mini-batch.

        The number is the slope on all rows as a fraction of that on the mini-batch, 0 if there is
        no such atom.
        """
        draw = generator(self.seed, f"atoms {key}")
        chosen = np.sort(draw.choice(self._risk.rows.n_rows, batch, replace=False))
        some = Risk(self._risk.rows.select(chosen), self._risk.biases, self._risk.pool)
        slope = Slope(some, point, some.lift(point.basis))
        _, atoms = self.gauge.search(slope, point, count=1, draw=draw, precision=0.05)
        atoms = atoms.above(lam)
        return self._follow(point, atoms, lam) if len(atoms) else (point, 0.0)

    def _follow(self, point: Point, atoms: Atoms, lam: float) -> tuple[Point, float]:
        """Return the point after a step along the sum of atoms that lowers the objective.

        The number is the slope at the start as a fraction of the atoms' own.
        """
        whole, promised = point, float(atoms.slopes.sum()) - lam * len(atoms)
        point, delta = self.gauge.extend(point, atoms)
        latents = self._risk.lift(point.basis)

        def slope_at(step: float) -> float:
            H = self._risk.evaluate(latents, point.B + step * delta)[1]
            return float((H * delta).sum()) + lam * len(atoms)

        step, slope = find_step(slope_at, first=1.0 / max(1.0, float(np.sqrt((delta**2).sum()))))
        if step == 0:
            return whole, 0.0
        return Point(point.basis, point.B + step * delta), -slope / promised

    def _minimise(self, point: Point, lam: float) -> Point:
        """Return the best point over the support: first atoms move where they can, then weights."""
        if not point.B.any():
            return self.gauge.compress(point)
        latents = self._risk.lift(point.basis)
        rotations = self.gauge.rotations(point)
        if rotations is not None:
            point = Point(point.basis, self._descend(rotations, latents, lam))
        if point.B.any():
            scales = self.gauge.scales(point)
            point = Point(point.basis, self._descend(scales, latents, lam))
        return self.gauge.compress(point)

    def _descend(self, chart: Chart, latents: Latents, lam: float) -> Real:
        """Return the B that L-BFGS-B finds in a chart."""

        def value(x: Real) -> tuple[float, Real]:
            risk, H = self._risk.evaluate(latents, chart.to_matrix(x))
            penalty, slope = chart.penalty(x, lam)
            return risk + penalty, chart.pull(x, H) + slope

        found = minimize(
            value,
            chart.start,
            jac=True,
            method="L-BFGS-B",
            bounds=None if chart.squared else [(0.0, None)] * len(chart.start),
            options={
                "maxiter": self._steps,
                "maxcor": CORRECTIONS,
                "ftol": 1e-3 * self.tol * self.tol,
                "gtol": 1e-2 * self.tol * lam,
            },
        )
        return chart.to_matrix(found.x)

    def _certify(self, point: Point, latents: Latents, lam: float, made: int, batch: int) -> State:
        slope = Slope(self._risk, point, latents)
        draw = generator(self.seed, f"certificate {made}")
        polar, found = self.gauge.search(
            slope, point, count=TOGETHER, draw=draw, precision=min(0.1, 0.3 * self.tol)
        )
        gauge, inner = self.gauge.measure(point.B), float((slope.H * point.B).sum())
        objective, bound = slope.value, 0.0
        if np.isfinite(lam):
            objective += lam * gauge
            bound = bound_suboptimality(
                slope.losses, self._risk.weights, lam=lam, gauge=gauge, inner=inner, polar=polar
            )
        return State(
            point,
            found,
            objective,
            bound,
            polar,
            self.gauge.count(point),
            self.gauge.rank(point),
            made,
            batch,
            done=bool(np.isfinite(lam)) and bound <= self.tol * objective,
        )


def find_step(slope_at: Callable[[float], float], *, first: float) -> tuple[float, float]:
    """Return a step at which a line is still falling but nearly flat, and the slope at its start.

    The line's function is convex: the step is doubled until the slope is positive, then found
    between the last two alternately by the secant and by halving. 0 where the slope never falls.
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
            if here > FOLLOWED * at_zero:
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
