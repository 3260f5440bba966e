"""The path over lam, downwards from the smallest value that makes W zero, with warm starts.

A `lam` that is large enough to keep noise out of W also shrinks the signal. So the weights of each
value are also fitted again on the directions or features that it chose, with a fraction of `lam`,
and the best of all is chosen: low rank and little shrinkage do not exclude each other then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.models import ChosenModel, FactoredModel, LatentModel
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.checkpoints import TrainingState
from myriad.training.context import RunningContext
from myriad.training.loop import run, start_clock
from myriad.training.method import Fitted
from myriad.training.search import has_peaked
from myriad.training.stopping import Clock, Monitor, Row
from myriad.training.trace.descent import Descent, State
from myriad.training.trace.latents import Directions, Point, SelectedFeatures, read_point
from myriad.training.validation import ModelRanker, count_block_rows, validate

FACTOR = 2.0**-0.5
"""Ratio of a `lam` to the one before on the path."""
LONGEST = 24
PATIENCE = 3
"""The path ends when this many consecutive values have not improved the accuracy."""
RELAXED = (1.0, 0.3, 0.1, 0.03)
"""Fractions of `lam` tried for the weights on the support; 1 leaves them as they are."""
UNSEARCHED = 0.1
"""`lam` where nothing is held out to search on, as a fraction of the smallest that makes W zero."""
Callback = Callable[[dict[str, Any]], None]


class AtomTrainer:
    """Atom descent for one `lam` after the other; an epoch is a round.

    Parameters
    ----------
    descent : on the training rows.
    biases : float32 array of shape (n_classes,).

    Attributes
    ----------
    lam : the current value.
    now : the current state of the descent.
    epoch : number of rounds for this value.
    n_classes : number of classes.
    """

    def __init__(self, descent: Descent, biases: Float, dim: int) -> None:
        self.descent, self.biases, self.dim = descent, biases, dim
        self.n_classes, self.epoch, self.lam = len(biases), 0, np.inf
        self.now: State = descent.begin()

    def begin(self, lam: float) -> None:
        """Start with another value from the current point (warm start)."""
        self.lam, self.epoch = lam, 0
        self.now = self.descent.resume(self.now.point, self.now.round, self.now.batch, lam)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Run one more round; `rows`, `seed` and `pool` are ignored: the descent has its own."""
        self.now = self.descent.run_round(self.now, self.lam)
        self.epoch += 1

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (1, n_rows)."""
        return self.ranker(self.now.point, rows).rank(rows, pool=pool)

    def ranker(self, point: Point, rows: Rows) -> ModelRanker:
        """Return the ranker of the model with the weights at a point."""
        model = to_model(point, self.biases, self.dim)
        return ModelRanker(model, count_block_rows(rows.dim, self.n_classes))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint."""
        return self.now.point.arrays() | {"counts": np.array([self.now.round, self.now.batch])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned, for the current `lam`."""
        n_rounds, batch = arrays["counts"].tolist()
        self.now = self.descent.resume(read_point(arrays), n_rounds, batch, self.lam)


class BoundStopping(Monitor):
    """Stops when the suboptimality is below the tolerance, or the objective no longer falls."""

    def __init__(self, val: Rows | None) -> None:
        self.history: list[Row] = []
        self.done = False
        self._val = val

    def on_epoch_end(self, trainer: AtomTrainer, *, clock: Clock, pool: ThreadPool) -> Row | None:
        """Append a row for the round, with validation accuracy if rows are held out."""
        row = {"epoch": trainer.epoch, "lam": trainer.lam, **trainer.now.to_json()}
        if self._val is not None:
            row |= measure(trainer, trainer.now.point, self._val, pool)
        row["seconds"] = clock()
        self.history.append(row)
        self.done = trainer.now.done
        return row

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the history."""
        return {"history": self.history, "done": self.done}, {}

    def restore(
        self,
        state: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        trainer: AtomTrainer,
        *,
        pool: ThreadPool,
    ) -> None:
        """Restore the history."""
        self.history = list(state["history"])
        self.done = state["done"] or trainer.now.done


class LamPath:
    """Training for one value of `lam` after the other, with a checkpoint after each round.

    Parameters
    ----------
    trainer : atom descent on the rows to train on.
    train, val : the training rows, and the validation rows on which `lam` is chosen, or None.
    relaxed : fractions of `lam` to try for the weights on the support.
    running : threads, progress and checkpoint.
    """

    def __init__(
        self,
        trainer: AtomTrainer,
        train: Rows,
        val: Rows | None,
        *,
        relaxed: tuple[float, ...],
        running: RunningContext,
    ) -> None:
        self._trainer, self._train, self._val = trainer, train, val
        self._relaxed, self._running = relaxed, running
        self._state = TrainingState(running.checkpoint)
        if not self._state.facts:
            self._state.facts = {"number": 0, "table": [], "best": None, "begun": False}
        self._clock = start_clock(self._state.seconds)

    def run(
        self,
        lam: float | None,
        *,
        rounds: int,
        settings: dict[str, Any],
        callback: Callback | None,
    ) -> Fitted:
        """Train for `lam`, or along the path if it is None; return the best model."""
        trainer, state, progress = self._trainer, self._state, self._running.progress
        most = max(trainer.now.polar, float(np.finfo(np.float32).tiny))
        lams, facts = self._list_lams(lam, most), state.facts
        with progress.step("Training along the path of lam", len(lams), "values") as advance:
            advance(facts["number"])
            while facts["number"] < len(lams) and not self._has_peaked():
                monitor = self._begin(lams[facts["number"]])
                run(
                    trainer,
                    self._train,
                    monitor,
                    until=rounds,
                    seed=trainer.descent.seed,
                    pool=self._running.pool,
                    clock=self._clock,
                    callback=callback,
                    state=state,
                )
                self._record(monitor)
                facts["number"] += 1
                facts["begun"] = False
                state.save(trainer, monitor, seconds=self._clock())
                advance(1)
        row, history = facts["table"][facts["best"][0]], facts["best"][1]
        if row["atoms"] == 0:
            progress.note(
                f"lam = {row['lam']:.3g} is so large that the zero model is optimal: it predicts "
                f"the prior alone. Use a lam below {most:.3g}."
            )
        names = ("lam", "relax", "rank", "atoms", "objective", "bound")
        chosen = {name: row[name] for name in names}
        chosen["value"] = chosen.pop("objective")
        table = _show_path(facts["table"]) if len(lams) > 1 else []
        model = to_model(read_point(state.arrays), trainer.biases, trainer.dim)
        return Fitted(model, settings | chosen, max(1, history[-1]["epoch"]), history, table)

    def _list_lams(self, lam: float | None, most: float) -> list[float]:
        if lam is not None:
            return [lam]
        if self._val is None:
            return [UNSEARCHED * most]
        return [most * FACTOR**step for step in range(1, LONGEST + 1)]

    def _has_peaked(self) -> bool:
        """Return whether accuracy has not improved for the last `PATIENCE` values."""
        scores = [_score(row) for row in self._state.facts["table"]]
        return self._val is not None and has_peaked(scores, PATIENCE)

    def _begin(self, lam: float) -> BoundStopping:
        """Start training with a value, or resume it; return its monitor."""
        trainer, state, pool = self._trainer, self._state, self._running.pool
        monitor = BoundStopping(self._val)
        if state.is_running:
            trainer.lam = lam
            state.resume(trainer, monitor, pool=pool)
            if state.facts["begun"]:
                return monitor
            monitor = BoundStopping(self._val)  # the point kept belongs to the value before
            trainer.epoch = 0
        else:
            trainer.begin(lam)
        state.facts["begun"] = True
        monitor.on_epoch_end(trainer, clock=self._clock, pool=pool)
        return monitor

    def _record(self, monitor: BoundStopping) -> None:
        """Add a finished value, with its best relaxation, to the table; keep the best point."""
        trainer, facts = self._trainer, self._state.facts
        point, gauge = trainer.now.point, trainer.descent.gauge
        tried: list[tuple[dict[str, Any], Point]] = []
        for fraction in self._relaxed:
            if fraction != 1.0:
                point = trainer.descent.relax(point, fraction * trainer.lam)
            row = {name: value for name, value in monitor.history[-1].items() if name != "epoch"}
            if self._val is not None:
                row |= measure(trainer, point, self._val, self._running.pool)
            row |= {"relax": fraction, "rank": gauge.rank(point), "atoms": gauge.count(point)}
            tried.append((row, point))
            if trainer.now.atoms == 0:
                break
        row, point = max(tried, key=lambda pair: _score(pair[0]))
        facts["table"].append(row)
        best = facts["best"]
        if best is None or _score(row) > _score(facts["table"][best[0]]):
            facts["best"] = [len(facts["table"]) - 1, monitor.history]
            self._state.arrays = point.arrays()


def measure(trainer: AtomTrainer, point: Point, rows: Rows, pool: ThreadPool) -> dict[str, float]:
    """Return the accuracies at a point on held-out rows."""
    (measures,) = validate(trainer.ranker(point, rows), rows, pool=pool)
    return {"top1": measures.at(1), "top5": measures.at(5)}


def to_model(point: Point, biases: Float, dim: int) -> LatentModel:
    """Return the factored model of the weights at a point."""
    if isinstance(point.basis, SelectedFeatures):
        return ChosenModel(point.B.T.astype(np.float32), biases, point.basis.features, dim)
    assert isinstance(point.basis, Directions)
    left, values, right = np.linalg.svd(point.B, full_matrices=False)
    directions = point.basis.vectors @ left
    arrays = (right.T, biases, directions, values)
    return FactoredModel(*(np.ascontiguousarray(array, np.float32) for array in arrays))


def _show_path(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns of a path for a report, without ``atoms`` if these equal the ranks."""
    names = ["lam", "rank", "top1"]
    if any(row["atoms"] != row["rank"] for row in table):
        names.insert(2, "atoms")
    if any(row["relax"] != 1.0 for row in table):
        names.insert(1, "relax")
    return [{name: row[name] for name in names} for row in table]


def _score(row: dict[str, Any]) -> tuple[float, float]:
    return row.get("top1", 0.0), row.get("top5", 0.0)
