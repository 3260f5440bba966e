"""Settings found by themselves: several trained together in one pass, the worse dropped in turn.

Successive halving over a grid of steps and of negatives a positive, by validation accuracy against
all classes: what [GP] recommends to tune, in powers of 2 for `beta`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from myriad.parallel import Team
from myriad.progress import Progress
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.settings import Setting
from myriad.training.trainer import Trainer
from myriad.training.validation import validate

if TYPE_CHECKING:
    from myriad.training.sgd import SGD

STEPS = (0.1, 0.3, 1.0)
JOINT_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Steps tried, as parts of the one that would undo a row's own loss, ``1 / mean |x|^2``."""
RUNG_EPOCHS = (1, 3)
"""Epochs a setting has been trained for when it is judged."""
KEEP = 1 / 4
"""The part of the settings that goes on to the next rung."""
SEARCH_FLOPS = 5e11
"""Multiply-adds of the first rung; a larger problem is searched on a part of its rows."""


@dataclass(frozen=True)
class Searched:
    """What a search found.

    Attributes
    ----------
    setting : the best.
    table : a row for each setting at its last rung: the setting, epochs, top1, top5.
    """

    setting: Setting
    table: list[dict[str, Any]]


def grid(method: SGD, n_classes: int, square: float) -> list[Setting]:
    """Return the settings to try; a number that the method states is not searched.

    Parameters
    ----------
    square : mean squared norm of a row.
    """
    parts = STEPS if method.objective == "ovr" else JOINT_STEPS
    steps = [float(f"{part / square:.3g}") for part in parts]
    if method.eta is not None:
        steps = [method.eta]
    betas: list[float] | list[None] = [None]
    if method.objective == "ovr":
        betas = default_betas(n_classes) if method.beta is None else [method.beta]
    return [Setting(eta, beta, method.lam) for beta in betas for eta in steps]


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


def search_rows(rows: Rows, n_settings: int, n_classes: int, *, seed: int) -> Rows:
    """Return the rows to search on: all, or a random part that bounds the work."""
    wanted = SEARCH_FLOPS / (n_settings * n_classes * rows.dim)
    wanted = max(wanted, 20 * n_classes, 2000)
    if wanted >= rows.n_rows:
        return rows
    chosen = generator(seed, "search rows").permutation(rows.n_rows)[: int(wanted)]
    return rows.select(np.sort(chosen))


def search(
    settings: list[Setting],
    train: Rows,
    val: Rows,
    *,
    make: Callable[[list[Setting], Rows], Trainer],
    method: SGD,
    n_classes: int,
    team: Team,
    progress: Progress,
) -> Searched:
    """Find the best setting by successive halving.

    Parameters
    ----------
    make : makes a trainer of some settings for some rows.
    method : its seed, and its memory: more settings than fit are trained in groups, one after the
        other.
    """
    together = max(1, method.memory // (4 * n_classes * train.dim))
    alive = list(settings)
    table: dict[Setting, dict[str, Any]] = {}
    carried: Trainer | None = None
    for target in RUNG_EPOCHS:
        groups = [alive[i : i + together] for i in range(0, len(alive), together)]
        passes = target - (carried.epoch if carried else 0)
        work = passes * train.n_rows * len(groups)
        with progress.step(f"Trying {len(alive)} settings", work, "rows") as advance:
            for group in groups:
                trainer = carried or make(group, train)
                while trainer.epoch < target:
                    trainer.run_epoch(train, seed=method.seed, team=team, advance=advance)
                measured = validate(trainer, val, team=team)
                for setting, m in zip(trainer.settings, measured, strict=True):
                    row = setting.to_json() | {"epochs": target, "top1": m.at(1), "top5": m.at(5)}
                    table[setting] = row
        alive.sort(key=lambda setting: (table[setting]["top1"], table[setting]["top5"]))
        alive = alive[::-1][: max(2, math.ceil(len(alive) * KEEP))]
        # Draws and order are functions of the epoch, so training anew changes nothing but the time.
        carried = trainer if len(groups) == 1 else None
        if carried is not None:
            carried.keep([carried.settings.index(setting) for setting in alive])
    return Searched(alive[0], list(table.values()))
