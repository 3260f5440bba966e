"""The path over lam: from the least that makes W zero down, each begun where the last ended.

A `lam` large enough to keep noise out of W shrinks what it lets in. So the weights of each value
are also fitted anew on the directions or features that it chose, with a part of `lam`, and the
best of all is chosen: low rank and little shrinkage do not exclude each other then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.measures import Measures, measure
from myriad.models import ChosenModel, FactoredModel, LatentModel
from myriad.parallel import ThreadPool
from myriad.progress import Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.method import Fitted
from myriad.training.trace.descent import Descent, State
from myriad.training.trace.latents import Chosen, Directions, Point, point_of

FACTOR = 2.0**-0.5
"""From one `lam` to the next."""
LONGEST = 24
PATIENCE = 3
"""Values of `lam` without a rise of the accuracy after which a path ends."""
RELAXED = (1.0, 0.3, 0.1, 0.03)
"""Parts of `lam` tried for the weights on the support; 1 leaves them as they are."""
UNSEARCHED = 0.1
"""`lam` where nothing is held out to search on, as a part of the least that makes W zero."""
BLOCK_BYTES = 16 << 20
Callback = Callable[[dict[str, Any]], None]


class LamPath:
    """A walk over values of `lam`; after each round it can be broken off and gone on with.

    Parameters
    ----------
    descent : of the rows to train on.
    biases : float32 (n_classes,)
    val : rows to choose `lam` on, if any.
    relaxed : parts of `lam` to try for the weights on the support.
    """

    def __init__(
        self,
        descent: Descent,
        biases: Float,
        dim: int,
        val: Rows | None,
        *,
        relaxed: tuple[float, ...],
        checkpoint: Checkpoint | None,
        pool: ThreadPool,
    ) -> None:
        self._descent, self._biases, self._dim = descent, biases, dim
        self._val, self._team, self._checkpoint = val, pool, checkpoint
        self._relaxed = relaxed
        self._number, self._seconds = 0, 0.0
        self._table: list[dict[str, Any]] = []
        self._history: list[dict[str, Any]] = []
        self._best: tuple[dict[str, Any], list[dict[str, Any]], Point] | None = None
        self._began = time.perf_counter()

    def run(
        self,
        lam: float | None,
        *,
        rounds: int,
        settings: dict[str, Any],
        progress: Progress,
        callback: Callback | None,
    ) -> Fitted:
        """Train for one `lam`, or for None along the path; return the model of the best."""
        zero = self._descent.begin()
        most = max(zero.polar, float(np.finfo(np.float32).tiny))
        lams = self._list_lams(lam, most)
        state, done = self._resume(zero, lams)
        with progress.step("Training", len(lams), "values of lam") as advance:
            advance(self._number)
            while self._number < len(lams) and not self._is_over():
                if state is None:
                    state = self._start(zero, lams[self._number])
                if not done:
                    state = self._descend(state, lams[self._number], rounds, callback)
                self._judge(state, lams[self._number])
                self._number += 1
                done = False
                zero, state = state, None
                self._keep(zero, done=True, last=True)
                advance(1)
        assert self._best is not None
        row, history, point = self._best
        _tell_zero(row, most, progress)
        model = to_model(point, self._biases, self._dim)
        names = ("lam", "relax", "rank", "atoms", "objective", "bound")
        told = {name: row[name] for name in names}
        told["value"] = told.pop("objective")
        table = _show_path(self._table) if len(lams) > 1 else []
        return Fitted(model, settings | told, max(1, history[-1]["epoch"]), history, table)

    def _list_lams(self, lam: float | None, most: float) -> list[float]:
        if lam is not None:
            return [lam]
        if self._val is None:
            return [UNSEARCHED * most]
        return [most * FACTOR**step for step in range(1, LONGEST + 1)]

    def _is_over(self) -> bool:
        """Tell whether accuracy has not risen for some values."""
        if self._best is None or self._val is None:
            return False
        return len(self._table) - 1 - self._table.index(self._best[0]) >= PATIENCE

    def _start(self, before: State, lam: float) -> State:
        """Begin with a value where the one before ended."""
        state = self._descent.resume(before.point, before.round, before.batch, lam)
        self._history = []
        self._note(state, lam)
        return state

    def _descend(self, state: State, lam: float, rounds: int, callback: Callback | None) -> State:
        made = self._history[-1]["epoch"]
        for reached in self._descent.run(state, lam, rounds=rounds - made):
            state = reached
            self._note(state, lam)
            if callback is not None:
                callback(dict(self._history[-1]))
            self._keep(state, done=state.done, last=False)
        return state

    def _note(self, state: State, lam: float) -> None:
        """Add a row to the history."""
        epoch = self._history[-1]["epoch"] + 1 if self._history else 0
        row = {"epoch": epoch, "lam": lam, **state.to_json()}
        row |= self._measure(state.point)
        row["seconds"] = self._seconds + time.perf_counter() - self._began
        self._history.append(row)

    def _judge(self, state: State, lam: float) -> None:
        """Enter a finished value, relaxed as is best, into the table; remember the best of all."""
        point, gauge = state.point, self._descent.gauge
        tried: list[tuple[dict[str, Any], Point]] = []
        for part in self._relaxed:
            if part != 1.0:
                point = self._descent.relax(point, part * lam)
            row = {name: value for name, value in self._history[-1].items() if name != "epoch"}
            row |= self._measure(point)
            row |= {"relax": part, "rank": gauge.rank(point), "atoms": gauge.count(point)}
            tried.append((row, point))
            if state.atoms == 0:
                break
        row, point = max(tried, key=lambda pair: _score(pair[0]))
        self._table.append(row)
        if self._best is None or _score(row) > _score(self._best[0]):
            self._best = row, self._history, point

    def _measure(self, point: Point) -> dict[str, float]:
        """Return the accuracies on the rows to choose on, if there are any."""
        measures = self._validate(point)
        return {} if measures is None else {"top1": measures.at(1), "top5": measures.at(5)}

    def _validate(self, point: Point) -> Measures | None:
        val = self._val
        if val is None:
            return None
        model = to_model(point, self._biases, self._dim)
        ranks = np.empty(val.n_rows, np.int32)

        def judge(start: int) -> None:
            some = range(start, min(start + size, val.n_rows))
            X = val.read(some).astype(np.float32, copy=False)
            ranks[start : some.stop] = model.judge(X, val.labels[start : some.stop])[0]

        size = max(1, min(1024, BLOCK_BYTES // (4 * max(val.dim, len(self._biases)))))
        self._team.share(judge, range(0, val.n_rows, size))
        return measure(ranks, val.labels, n_classes=len(self._biases))

    def _keep(self, state: State, *, done: bool, last: bool) -> None:
        """Write down where the walk is, if it is time to."""
        checkpoint = self._checkpoint
        if checkpoint is None or not (last or checkpoint.is_due):
            return
        arrays = {f"now.{name}": array for name, array in state.point.arrays().items()}
        best = None
        if self._best is not None:
            row, history, point = self._best
            best = [self._table.index(row), history]
            arrays |= {f"best.{name}": array for name, array in point.arrays().items()}
        seconds = self._seconds + time.perf_counter() - self._began
        checkpoint.save(
            {
                "number": self._number,
                "round": state.round,
                "batch": state.batch,
                "done": done,
                "finished": last,
                "history": self._history,
                "table": self._table,
                "best": best,
                "seconds": seconds,
            },
            arrays,
        )

    def _resume(self, zero: State, lams: list[float]) -> tuple[State | None, bool]:
        """Return the state that a run broken off has kept, and whether its value is done with."""
        kept = self._checkpoint.load() if self._checkpoint is not None else None
        if kept is None:
            return None, False
        state, arrays = kept
        self._number, self._seconds = state["number"], state["seconds"]
        self._history, self._table = state["history"], state["table"]
        if state["best"] is not None:
            place, history = state["best"]
            point = point_of(_below(arrays, "best."))
            self._best = self._table[place], history, point
        if self._number >= len(lams):
            return None, False
        point, made, batch = point_of(_below(arrays, "now.")), state["round"], state["batch"]
        there = self._descent.resume(point, made, batch, lams[self._number])
        if state["finished"]:  # the kept point belongs to the value before
            self._history = []
            self._note(there, lams[self._number])
            return there, False
        return there, bool(state["done"])


def to_model(point: Point, biases: Float, dim: int) -> LatentModel:
    """Return the model of weights in factors."""
    if isinstance(point.basis, Chosen):
        return ChosenModel(point.B.T.astype(np.float32), biases, point.basis.features, dim)
    assert isinstance(point.basis, Directions)
    left, values, right = np.linalg.svd(point.B, full_matrices=False)
    directions = point.basis.vectors @ left
    arrays = (right.T, biases, directions, values)
    return FactoredModel(*(np.ascontiguousarray(array, np.float32) for array in arrays))


def _show_path(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a report shows of the values tried; atoms that only repeat ranks are left out."""
    names = ["lam", "rank", "top1"]
    if any(row["atoms"] != row["rank"] for row in table):
        names.insert(2, "atoms")
    if any(row["relax"] != 1.0 for row in table):
        names.insert(1, "relax")
    return [{name: row[name] for name in names} for row in table]


def _score(row: dict[str, Any]) -> tuple[float, float]:
    return row.get("top1", 0.0), row.get("top5", 0.0)


def _below(arrays: dict[str, NDArray[Any]], start: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def _tell_zero(row: dict[str, Any], most: float, progress: Progress) -> None:
    if row["atoms"] == 0:
        progress.note(
            f"lam = {row['lam']:.3g} is so large that the zero model is optimal: it predicts the "
            f"prior alone. Below {most:.3g} it would learn something."
        )
