"""Settings found by themselves: several trained together in one pass, the worse dropped in turn.

Successive halving over a grid of steps, of negatives a positive and of scalings, by validation
accuracy against all classes: what [GP] recommends to tune, in powers of 2 for `beta`. What goes on
to the end has lost nothing: training continues where its search ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.measures import Measures
from myriad.parallel import ThreadPool
from myriad.progress import Progress
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.settings import Setting
from myriad.training.stopping import Stopping
from myriad.training.trainer import Trainer
from myriad.training.validation import validate

if TYPE_CHECKING:
    from myriad.training.sgd.method import SGD

STEPS = (0.1, 0.3, 1.0)
JOINT_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)
SOFTMAX_STEPS = (0.1, 0.3, 1.0, 3.0, 10.0)
ADAGRAD_STEPS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Steps tried, as parts of the one that would undo a row's own loss, ``1 / mean |x|^2``; with
adagrad, whose first steps are of one size for all rows, ``1 / sqrt(n_features mean |x|^2)``."""
RUNG_EPOCHS = (1, 3)
"""Epochs on all rows that a setting has been trained for when it is judged."""
KEEP = 1 / 4
"""The part of the settings that goes on to the next rung."""
SEARCH_FLOPS = 5e10
"""Multiply-adds of the first rung; a larger problem begins its search on a part of its rows."""
DECAYS = (0.03, 0.3, 3.0)
"""Values of `lam` tried, as the part of the weights' logarithm that an epoch takes away."""
DECAY_ROWS, DECAY_EPOCHS = 20_000, 10
"""Rows up to which `lam` is searched, and for how many epochs [GP, 5.2]."""

Pair = tuple[NDArray[Any], NDArray[Any]]
Make = Callable[[list[Setting], Rows], Trainer]
See = Callable[[Rows, Setting], Rows]


@dataclass
class Candidate:
    """One setting in training, with all that is known of it.

    Attributes
    ----------
    stopping : its best epoch so far.
    best : the weights and biases of that epoch, None where they were not kept.
    history : a row for each epoch.
    """

    setting: Setting
    stopping: Stopping
    best: Pair | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    def watch(self, trainer: Trainer, measures: Measures, *, seconds: float, keep: bool) -> None:
        """Take the measures of the epoch that a trainer has just made; `keep` the best weights."""
        top1, top5 = measures.at(1), measures.at(5)
        self.history.append(
            {"epoch": trainer.epoch, "top1": top1, "top5": top5, "seconds": round(seconds, 3)}
        )
        if self.stopping.watch(trainer.epoch, measures):
            self.best = None
        if keep:
            self.keep_best(trainer)

    def keep_best(self, trainer: Trainer) -> None:
        """Keep the weights if those of this epoch are the best."""
        if self.best is None and self.stopping.best_epoch == trainer.epoch:
            self.best = trainer.weights(trainer.settings.index(self.setting))


@dataclass(frozen=True)
class Searched:
    """What a search found.

    Attributes
    ----------
    contender : the best setting.
    table : a row for each setting as last judged: the setting, epochs, top1, top5.
    trainer : the training of the best so far, to go on with; None if it has to begin anew.
    """

    candidate: Candidate
    table: list[dict[str, Any]]
    trainer: Trainer | None


def grid(method: SGD, n_classes: int, unit: float) -> list[Setting]:
    """Return the settings to try; a number that the method states is not searched.

    Parameters
    ----------
    unit : the step that would undo a row's own loss.
    """
    parts = {"ovr": STEPS, "softmax": SOFTMAX_STEPS}.get(method.objective, JOINT_STEPS)
    if method.optimiser.adagrad != "none":
        parts = ADAGRAD_STEPS
    steps = [float(f"{part * unit:.3g}") for part in parts]
    if method.eta is not None:
        steps = [method.eta]
    betas: list[float] | list[None] = [None]
    if method.objective == "ovr":
        betas = default_betas(n_classes) if method.beta is None else [method.beta]
    scales = [False, True] if method.scale is None else [method.scale]
    return [
        Setting(eta, beta, method.lam or 0.0, scale)
        for scale in scales
        for beta in betas
        for eta in steps
    ]


def default_betas(n_classes: int) -> list[float]:
    """Return powers of 2 towards C - 1, at most five of them, spread evenly; the last may be all.

    With few classes all negatives are hardly more than the highest power; with many they would cost
    far more than they bring [GP, Figure 1].
    """
    highest = max(0, math.floor(math.log2(max(1, n_classes - 1))))
    exponents = np.unique(np.linspace(0, min(highest, 8), 5).round().astype(int))
    betas = [float(2**e) for e in exponents]
    if highest <= 8:
        betas[-1] = math.inf
    return betas


def decays(setting: Setting, n_rows: int, n_classes: int) -> list[Setting]:
    """Return a setting with the values of `lam` to try, none among them."""
    n_steps = float(n_rows)
    if setting.beta is not None:  # a class sees its own rows, and so many negatives for each
        n_steps = n_rows / n_classes * (1.0 + min(setting.beta, n_classes - 1.0))
    lams = [float(f"{part / (setting.eta * n_steps):.3g}") for part in DECAYS]
    return [setting, *(replace(setting, lam=lam) for lam in lams if lam * setting.eta < 0.5)]


def part_of(rows: Rows, n_settings: int, n_classes: int, *, seed: int) -> Rows:
    """Return the rows to begin a search on: all, or a random part that bounds the work."""
    layout = SEARCH_FLOPS / (n_settings * n_classes * rows.dim)
    layout = max(layout, 10 * n_classes, 2000)
    if layout >= rows.n_rows / 2:
        return rows
    chosen = generator(seed, "search rows").permutation(rows.n_rows)[: int(layout)]
    return rows.select(np.sort(chosen))


@dataclass
class Search:
    """A search by successive halving.

    Attributes
    ----------
    train, val : the rows.
    make : makes a trainer of some settings for some rows.
    see : rows as a setting sees them, that is scaled or not.
    method : its seed, and its memory: more settings than fit are trained in groups.
    clock : tells the seconds since training began.
    """

    train: Rows
    val: Rows
    make: Make
    see: See
    method: SGD
    n_classes: int
    patience: int
    pool: ThreadPool
    progress: Progress
    clock: Callable[[], float]
    table: dict[Setting, dict[str, Any]] = field(default_factory=dict)
    candidates: dict[Setting, Candidate] = field(default_factory=dict)

    def run(self, settings: Sequence[Setting]) -> Searched:
        """Find the best of some settings."""
        alive, trainers = list(settings), None
        part = part_of(self.train, len(alive), self.n_classes, seed=self.method.seed)
        if part is not self.train:
            alive, _ = self._rung(alive, None, part, 1)
        for target in RUNG_EPOCHS:
            alive, trainers = self._rung(alive, trainers, self.train, target)
        return self._decide(alive[0], trainers)

    def choose_lam(self, setting: Setting) -> Searched:
        """Try values of `lam` for a setting."""
        settings = decays(setting, self.train.n_rows, self.n_classes)
        epochs = min(DECAY_EPOCHS, self.method.epochs)
        alive, trainers = self._rung(settings, None, self.train, epochs)
        return self._decide(alive[0], trainers)

    def _decide(self, best: Setting, trainers: list[Trainer] | None) -> Searched:
        candidate = self.candidates[best]
        trainer = next((t for t in trainers or [] if best in t.settings), None)
        if candidate.best is None:
            trainer = None
        if trainer is not None:
            trainer.keep([trainer.settings.index(best)])
        return Searched(candidate, list(self.table.values()), trainer)

    def _rung(
        self, alive: list[Setting], trainers: list[Trainer] | None, rows: Rows, target: int
    ) -> tuple[list[Setting], list[Trainer] | None]:
        """Train settings for so many epochs; return the best, best first, and their trainers.

        Without trainers training begins anew; as draws and order are functions of the epoch, that
        changes nothing but the time. Where the settings do not fit into the memory together,
        trainers are not kept.
        """
        groups = self._groups(alive) if trainers is None else [t.settings for t in trainers]
        fits = len(alive) <= self._together
        begun = trainers[0].epoch if trainers else 0
        work = (target - begun) * rows.n_rows * len(groups)
        kept: list[Trainer] = []
        with self.progress.step(f"Trying {len(alive)} settings", work, "rows") as advance:
            for number, group in enumerate(groups):
                trainer = self._begin(group, rows) if trainers is None else trainers[number]
                seen, held = self.see(rows, group[0]), self.see(self.val, group[0])
                while trainer.epoch < target:
                    trainer.run_epoch(seen, seed=self.method.seed, pool=self.pool, advance=advance)
                    self._watch(trainer, held, keep=2 * len(alive) <= self._together)
                kept += [trainer] if fits else []
        alive = sorted(alive, key=self._merit, reverse=True)
        alive = alive[: max(2, math.ceil(len(alive) * KEEP))]
        return alive, self._thin(kept, alive) if fits else None

    def _begin(self, group: list[Setting], rows: Rows) -> Trainer:
        for setting in group:
            stopping = Stopping(self.method.theta, self.patience)
            self.candidates[setting] = Candidate(setting, stopping)
        return self.make(group, rows)

    def _watch(self, trainer: Trainer, held: Rows, *, keep: bool) -> None:
        measured = validate(trainer, held, pool=self.pool)
        for setting, measures in zip(trainer.settings, measured, strict=True):
            self.table[setting] = setting.to_json() | {
                "epochs": trainer.epoch,
                "top1": measures.at(1),
                "top5": measures.at(5),
            }
            candidate = self.candidates[setting]
            candidate.watch(trainer, measures, seconds=self.clock(), keep=keep)

    def _merit(self, setting: Setting) -> tuple[float, float]:
        """Return what settings are compared by.

        Scaling is not taken for chance: it has to win by a standard error of the accuracy.
        """
        top1, top5 = self.table[setting]["top1"], self.table[setting]["top5"]
        if setting.scale and self.method.scale is None:
            share, n = top1 / 100.0, max(1, self.val.n_rows)
            top1 -= 100.0 * math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)
        return top1, top5

    def _thin(self, trainers: list[Trainer], alive: list[Setting]) -> list[Trainer]:
        """Leave only the settings that are still alive in the trainers that have some."""
        kept = []
        for trainer in trainers:
            numbers = [n for n, setting in enumerate(trainer.settings) if setting in alive]
            if numbers:
                trainer.keep(numbers)
                for setting in trainer.settings:
                    self.candidates[setting].keep_best(trainer)
                kept.append(trainer)
        return kept

    @property
    def _together(self) -> int:
        """How many settings fit into the memory."""
        return max(1, self.method.memory // (4 * self.n_classes * self.train.dim))

    def _groups(self, settings: Sequence[Setting]) -> list[list[Setting]]:
        """Group settings that see the same rows, as many together as fit into the memory."""
        groups: list[list[Setting]] = []
        for scale in (False, True):
            some = [setting for setting in settings if setting.scale == scale]
            size = self._together
            groups += [some[i : i + size] for i in range(0, len(some), size)]
        return groups
