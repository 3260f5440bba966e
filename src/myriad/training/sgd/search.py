"""The settings of SGD, found on validation rows: successive halving over a grid.

Candidates are learning rates, negatives for each positive and scalings, as [GP] recommends to tune
them. Several are trained side by side, so that rows are read once; the worse ones are dropped
rung by rung. Training continues with the trainer of the best one, where the search ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from myriad.errors import WorkError
from myriad.store import Rows
from myriad.training.context import RunningContext
from myriad.training.loop import run
from myriad.training.search import (
    count_subsample,
    count_survivors,
    halve,
    subsample,
    title_rung,
)
from myriad.training.settings import Setting
from myriad.training.stopping import AccuracyMonitor, Clock, EarlyStopping
from myriad.training.trainer import SettingsTrainer

if TYPE_CHECKING:
    from myriad.training.sgd.fitting import Task
    from myriad.training.sgd.method import SGD

ETAS = (0.1, 0.3, 1.0)
JOINT_ETAS = (0.01, 0.03, 0.1, 0.3, 1.0)
SOFTMAX_ETAS = (0.1, 0.3, 1.0, 3.0, 10.0)
ADAGRAD_ETAS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Learning rates tried, as multiples of ``1 / mean |x|^2``, with which a step changes the score of
its own row by about 1; with AdaGrad, whose first steps have one size for all rows, of
``1 / sqrt(n_features mean |x|^2)``."""
RUNG_EPOCHS = (3, 8)
"""Epochs on all rows after which candidates are compared: earlier, the fastest would win, not the
best."""
SAMPLE_EPOCHS = 2
"""Epochs on a subsample, after which most candidates of a large problem are dropped."""
MAX_EXTENSIONS = 3
"""Maximum number of extensions of the grid where its best learning rate is the lowest or highest,
or its best beta the highest."""
MORE_NEGATIVES = 4.0
"""Factor of beta in such an extension."""
KEEP = 1 / 4
"""Fraction of the candidates that is kept for the next rung."""
DELAYS = (0.1, 1.0, 10.0)
"""Values of `t0` tried, as multiples of the steps of an epoch."""
DECAYS = (0.03, 0.3, 3.0)
"""Values of `lam` tried, as the decay of the logarithm of the weights in an epoch."""
DECAY_ROWS, DECAY_EPOCHS = 20_000, 10
"""Rows up to which `lam` is searched, and for how many epochs [GP, 5.2]."""


def grid(
    method: SGD,
    n_classes: int,
    unit: float,
    *,
    batch: int = 1,
    count_steps: Callable[[float | None], float] | None = None,
) -> list[Setting]:
    """Return the settings to try; an option that has a value is not searched.

    Parameters
    ----------
    unit : learning rate of which candidates are multiples; see `Task.unit`.
    batch : rows of a mini-batch.
    count_steps : returns the steps of an epoch for a beta; needed where t0 is searched.
    """
    factors = {"ovr": ETAS, "softmax": SOFTMAX_ETAS}.get(method.objective, JOINT_ETAS)
    if method.optimiser.adagrad != "none":
        factors = ADAGRAD_ETAS
    if batch > 1:
        factors = widen(factors, batch)
    etas = [float(f"{factor * unit:.3g}") for factor in factors]
    if batch > 1:  # weight decay must not change the sign of the weights
        etas = [eta for eta in etas if eta * (method.lam or 0.0) < 1.0] or etas[:1]
    if method.eta is not None:
        etas = [method.eta]
    betas: list[float] | list[None] = [None]
    if method.objective == "ovr":
        betas = default_betas(n_classes) if method.beta is None else [method.beta]
    scales = [False, True] if method.scale is None else [method.scale]
    settings = [
        Setting(eta, beta, method.lam or 0.0, scale)
        for scale in scales
        for beta in betas
        for eta in etas
    ]
    if not method.schedule.is_open or count_steps is None:
        return settings
    # Learning rate and t0 depend on each other: both are searched together [LS].
    return [
        replace(setting, t0=float(f"{delay * count_steps(setting.beta):.3g}"))
        for setting in settings
        for delay in DELAYS
    ]


def widen(factors: tuple[float, ...], batch: int) -> tuple[float, ...]:
    """Return learning rates for mini-batches, up to `batch` times as large.

    The norm of the mean gradient of a batch is that of a row if all rows have the same gradient,
    and `batch` times smaller if only one gradient is not zero.
    """
    size = len(factors) + round(math.log(batch, 3))
    return tuple(np.geomspace(factors[0], factors[-1] * batch, size))


def default_betas(n_classes: int) -> list[float]:
    """Return up to five powers of 2 below C, evenly spaced; the last may be infinity, for all.

    With few classes, all negatives cost hardly more than the highest power; with many, they cost
    much more and improve little [GP, Figure 1].
    """
    highest = max(0, math.floor(math.log2(max(1, n_classes - 1))))
    exponents = np.unique(np.linspace(0, min(highest, 8), 5).round().astype(int))
    betas = [float(2**e) for e in exponents]
    if highest <= 8:
        betas[-1] = math.inf
    return betas


def lam_candidates(setting: Setting, n_steps: float) -> list[Setting]:
    """Return the setting itself, and with each value of `lam` to try.

    Parameters
    ----------
    n_steps : steps of an epoch.
    """
    lams = [float(f"{factor / (setting.eta * n_steps):.3g}") for factor in DECAYS]
    return [setting, *(replace(setting, lam=lam) for lam in lams if lam * setting.eta < 0.5)]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Attributes
    ----------
    setting : the best setting.
    stopping : its best epoch, weights and history so far.
    table : a row for each candidate as last compared: the setting, its number of epochs, and the
        accuracies top1 and top5 as means over the second half of them.
    trainer : the trainer of the best setting, to continue with; None to start from zero.
    """

    setting: Setting
    stopping: EarlyStopping
    table: list[dict[str, Any]]
    trainer: SettingsTrainer | None


@dataclass(frozen=True)
class Rung:
    """One rung of successive halving: candidates are trained for more epochs on some rows."""

    n_candidates: int
    n_rows: int
    epochs: int


def rung_epochs(epochs: int) -> list[int]:
    """Return the epochs after which candidates are compared, if there are at most `epochs`."""
    return sorted({min(target, epochs) for target in RUNG_EPOCHS})


def plan_rungs(
    n_candidates: int, n_rows: int, n_classes: int, dim: int, *, memory: int, epochs: int
) -> list[Rung]:
    """Return the rungs of `Search.run`, without running them."""
    n_together = count_together(memory, n_classes, dim)
    rungs: list[Rung] = []
    size = count_subsample(n_rows, n_candidates, n_classes, dim)
    if size < n_rows:
        rungs.append(Rung(n_candidates, size, SAMPLE_EPOCHS))
        n_candidates = count_survivors(n_candidates, KEEP)
    begun = 0
    for target in rung_epochs(epochs):
        rungs.append(Rung(n_candidates, n_rows, target - begun))
        begun = target if n_candidates <= n_together else 0
        n_candidates = count_survivors(n_candidates, KEEP)
    return rungs


def count_together(memory: int, n_classes: int, dim: int) -> int:
    """Return the number of settings whose weights fit into memory together."""
    return max(1, memory // (4 * n_classes * dim))


class Search:
    """A search by successive halving.

    Parameters
    ----------
    task : the method and its rows. If there are more settings than fit into the memory of the
        method, they are trained in groups.
    val : rows on which candidates are compared.
    running : threads and progress.
    clock : returns the seconds since training began.
    """

    def __init__(self, task: Task, val: Rows, running: RunningContext, clock: Clock) -> None:
        self.task, self.val, self.running, self.clock = task, val, running, clock
        self._table: dict[Setting, dict[str, Any]] = {}
        self._rules: dict[Setting, EarlyStopping] = {}
        self._n_together = count_together(task.method.memory, task.n_classes, task.train.dim)

    def run(self) -> SearchResult:
        """Find the best setting of the grid and, where rows are few, the best `lam` for it."""
        task, method = self.task, self.task.method
        batch, trainers = method.count_batch(task.train.n_rows), None
        candidates = grid(
            method, task.n_classes, task.unit, batch=batch, count_steps=task.count_steps
        )
        sample = subsample(task.train, len(candidates), task.n_classes, seed=method.seed)
        if sample is not task.train:
            candidates, _ = self._run_rung(candidates, None, sample, SAMPLE_EPOCHS)
        for target in rung_epochs(method.epochs):
            candidates, trainers = self._run_rung(candidates, trainers, task.train, target)
        candidates, trainers = self._extend(candidates, trainers)
        if method.lam is None and task.train.n_rows <= DECAY_ROWS:
            candidates = lam_candidates(candidates[0], task.count_steps(candidates[0].beta))
            epochs = min(DECAY_EPOCHS, method.epochs)
            candidates, trainers = self._run_rung(candidates, None, task.train, epochs)
        best = candidates[0]
        rule = self._rules[best]
        trainer = next((t for t in trainers or [] if best in t.settings), None)
        if rule.best_weights is None:
            trainer = None
        if trainer is not None:
            trainer.keep([trainer.settings.index(best)])
        return SearchResult(best, rule, list(self._table.values()), trainer)

    def _run_rung(
        self,
        candidates: list[Setting],
        trainers: list[SettingsTrainer] | None,
        rows: Rows,
        target: int,
    ) -> tuple[list[Setting], list[SettingsTrainer] | None]:
        """Train candidates up to an epoch; return the survivors, best first, and their trainers.

        Without trainers, training starts from zero again; the result is the same, as draws and
        order depend on the epoch alone. Trainers are not kept if the candidates do not fit into
        memory together.
        """
        task, running = self.task, self.running
        groups = self._group(candidates) if trainers is None else [t.settings for t in trainers]
        fits = len(candidates) <= self._n_together
        begun = trainers[0].epoch if trainers else 0
        work = (target - begun) * len(groups)  # a group is trained side by side
        kept: list[SettingsTrainer] = []
        with running.progress.step(title_rung(len(candidates)), work, "epochs") as advance:
            for number, group in enumerate(groups):
                trainer = self._make_trainer(group, rows) if trainers is None else trainers[number]
                rules = [self._rules[setting] for setting in group]
                keep = 2 * len(candidates) <= self._n_together
                held_out = task.rows_for(self.val, group[0])
                run(
                    trainer,
                    task.rows_for(rows, group[0]),
                    AccuracyMonitor(rules, held_out, keep=keep, stops=False),
                    until=target,
                    seed=task.method.seed,
                    pool=running.pool,
                    clock=self.clock,
                    advance=advance,
                    progress=running.progress,
                )
                self._record(group)
                kept += [trainer] if fits else []
        candidates = halve(candidates, self._score, KEEP)
        return candidates, self._drop_settings(kept, candidates) if fits else None

    def _extend(
        self, candidates: list[Setting], trainers: list[SettingsTrainer] | None
    ) -> tuple[list[Setting], list[SettingsTrainer] | None]:
        """Try settings beyond the grid while the best one is on its boundary."""
        last = rung_epochs(self.task.method.epochs)[-1]
        for extend in (self._beyond_eta, self._beyond_beta):
            for _ in range(MAX_EXTENSIONS):
                best = candidates[0]
                beyond = extend(best)
                if beyond is None:
                    break
                try:
                    more, new_trainers = self._run_rung([beyond], None, self.task.train, last)
                except WorkError:  # the weights overflowed
                    break
                if self._score(more[0]) > self._score(best):
                    candidates, trainers = more, new_trainers
        return candidates, trainers

    def _beyond_eta(self, best: Setting) -> Setting | None:
        """Return a setting with a learning rate beyond those tried, if `best` is at an end."""
        if self.task.method.eta is not None:
            return None
        tried = sorted({setting.eta for setting in self._table})
        factor = tried[1] / tried[0] if len(tried) > 1 else 3.0
        beyond = {tried[0]: best.eta / factor, tried[-1]: best.eta * factor}.get(best.eta)
        return None if beyond is None else replace(best, eta=float(f"{beyond:.3g}"))

    def _beyond_beta(self, best: Setting) -> Setting | None:
        """Return a setting with more negatives than were tried, if `best` has the most."""
        if self.task.method.beta is not None or best.beta is None or math.isinf(best.beta):
            return None
        if best.beta < max(setting.beta or 0.0 for setting in self._table):
            return None
        more = MORE_NEGATIVES * best.beta
        return replace(best, beta=more if more < self.task.n_classes - 1 else math.inf)

    def _make_trainer(self, group: list[Setting], rows: Rows) -> SettingsTrainer:
        method = self.task.method
        for setting in group:
            self._rules[setting] = EarlyStopping(method.theta, self.task.patience)
        return self.task.make(group, rows)

    def _record(self, group: list[Setting]) -> None:
        """Add candidates to the table, with their mean accuracy over the second half of epochs."""
        for setting in group:
            history = self._rules[setting].history
            recent = history[len(history) // 2 :]
            self._table[setting] = setting.to_json() | {
                "epochs": history[-1]["epoch"],
                "top1": sum(row["top1"] for row in recent) / len(recent),
                "top5": sum(row["top5"] for row in recent) / len(recent),
            }

    def _score(self, setting: Setting) -> tuple[float, float]:
        """Return the key by which candidates are compared: mean top-1, then top-5 accuracy.

        The mean is over epochs, because the best of many noisy scores is biased upwards. Scaled
        features must be better by a standard error, so that they are not chosen by chance.
        """
        top1, top5 = self._table[setting]["top1"], self._table[setting]["top5"]
        if setting.scale and self.task.method.scale is None:
            share, n = top1 / 100.0, max(1, self.val.n_rows)
            top1 -= 100.0 * math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)
        return top1, top5

    def _drop_settings(
        self, trainers: list[SettingsTrainer], candidates: list[Setting]
    ) -> list[SettingsTrainer]:
        """Drop settings that are no longer candidates; return the trainers that have any left."""
        kept = []
        for trainer in trainers:
            numbers = [n for n, setting in enumerate(trainer.settings) if setting in candidates]
            if numbers:
                trainer.keep(numbers)
                for number, setting in enumerate(trainer.settings):
                    self._rules[setting].keep_best(trainer, number)
                kept.append(trainer)
        return kept

    def _group(self, settings: Sequence[Setting]) -> list[list[Setting]]:
        """Return groups of settings with the same scaling, each of which fits into memory."""
        groups: list[list[Setting]] = []
        for scale in (False, True):
            some = [setting for setting in settings if setting.scale == scale]
            size = self._n_together
            groups += [some[i : i + size] for i in range(0, len(some), size)]
        return groups
