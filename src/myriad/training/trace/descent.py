"""Stochastic atom descent: atoms from mini-batches, a step along each, the support minimised [LS].

A round adds atoms one at a time, each found on a mini-batch and followed as far as all rows want;
then it minimises over the support, and asks the full gradient how far the optimum can be. Mini-
batches grow when their atoms lead nowhere; where they have grown to all rows, the atoms that the
full gradient names are added together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from myriad.arrays import Float
from myriad.parallel import ThreadPool
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.trace.certificates import bound_suboptimality
from myriad.training.trace.gauges import Atoms, Chart, Gauge
from myriad.training.trace.latents import Point, Real
from myriad.training.trace.multinomial import Latents, Risk, Slope

FEWEST_BATCH, BATCH_SIDES = 1024, 4
LINE_STEPS = 8
"""Risks evaluated to follow an atom."""
FOLLOWED = 0.1
"""An atom is followed until its slope is this part of what it was."""
TOGETHER = 16
"""Atoms of the full gradient that are added together."""
CORRECTIONS = 10
KEPT = 0.5
"""A mini-batch is too small if all rows keep less than this part of the slope that it promises."""
GROWTH = 4
"""How many times larger the next mini-batch is then."""
STALLED = 1e-7
"""A round on the full gradient that lowers the objective by less than this part is the last."""


@dataclass(frozen=True, eq=False)
class State:
    """Where a descent is after a round.

    Attributes
    ----------
    point : the weights.
    found : the atoms best aligned with the full gradient.
    objective, bound, polar : at the weights; see `certificates`.
    atoms, rank : of the weights.
    round : rounds made so far.
    batch : rows of a mini-batch.
    done : whether the bound is small enough, or nothing moves any more.
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
        """Return what a history tells of a round."""
        return {
            "objective": self.objective,
            "bound": self.bound,
            "rank": self.rank,
            "atoms": self.atoms,
            "batch": self.batch,
        }


class Descent:
    """The descent of one set of rows; `lam` may differ from call to call.

    Parameters
    ----------
    batch : rows of the first mini-batches; None for a few times the sides of W, since the top
        singular pair of fewer rows is that of their noise.
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
        """Return the state at W = 0; its polar is the least `lam` at which zero is optimal."""
        rows = self._risk.rows
        return self.resume(self.gauge.begin(rows.dim, self._risk.n_classes, rows.dtype), 0, None)

    def resume(self, point: Point, made: int, batch: int | None, lam: float = np.inf) -> State:
        """Return the state at a point after so many rounds."""
        batch = min(batch or self._batch, self._risk.rows.n_rows)
        return self._certify(point, self._risk.lift(point.basis), lam, made, batch)

    def run(self, state: State, lam: float, *, rounds: int) -> Iterator[State]:
        """Yield the state after each round, until the bound is a part `tol` of the objective."""
        for _ in range(rounds):
            if state.done:
                return
            state = self._go_round(state, lam)
            yield state

    def relax(self, point: Point, lam: float) -> Point:
        """Return the best point over the support of one, for a smaller `lam`: no atom is added."""
        return self._minimise(point, lam)

    def _go_round(self, state: State, lam: float) -> State:
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

        The number is the part of the atom's slope that all rows keep, 0 if there is no such atom.
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

        The number is the slope at the start as a part of the atoms' own.
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
        """Return the best point over the support: atoms turn where they can, then weights."""
        if not point.B.any():
            return self.gauge.compress(point)
        latents = self._risk.lift(point.basis)
        turns = self.gauge.turns(point)
        if turns is not None:
            point = Point(point.basis, self._descend(turns, latents, lam))
        if point.B.any():
            scales = self.gauge.scales(point)
            point = Point(point.basis, self._descend(scales, latents, lam))
        return self.gauge.compress(point)

    def _descend(self, chart: Chart, latents: Latents, lam: float) -> Real:
        """Return the B that L-BFGS-B comes to in a chart."""

        def value(x: Real) -> tuple[float, Real]:
            risk, H = self._risk.evaluate(latents, chart.place(x))
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
        return chart.place(found.x)

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
    between the last two by the secant and by halving in turn. 0 where the slope never falls.
    """
    at_zero = slope_at(0.0)
    if at_zero >= 0:
        return 0.0, at_zero
    low, high = (0.0, at_zero), None
    step = first
    for turn in range(LINE_STEPS):
        here = slope_at(step)
        if here <= 0:
            low = step, here
            if here > FOLLOWED * at_zero:
                break
        else:
            high = step, here
        if high is None:
            step = 2 * step
        elif turn % 2:
            step = 0.5 * (low[0] + high[0])
        else:
            step = low[0] - low[1] * (high[0] - low[0]) / (high[1] - low[1])
    return low[0], at_zero
