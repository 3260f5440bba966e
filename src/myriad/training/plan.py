"""What to train and for how long; and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.training.joint import WarpOptions
from myriad.training.settings import Setting
from myriad.training.steps import FIXED, Schedule


@dataclass(frozen=True)
class Plan:
    """What to train and for how long.

    Attributes
    ----------
    loss : number of the binary loss.
    eta, beta : a number, or None to search for it.
    lam : weight of the squared norm.
    schedule : how steps shrink.
    warp : how the objective ``warp`` looks for violators.
    epochs : the most passes over the rows.
    theta, patience : see `Stopping`; a patience of None depends on how many rows validate.
    memory : bytes that the weights trained together in a search may take.
    """

    loss: int = 0
    eta: float | None = None
    beta: float | None = None
    lam: float = 0.0
    schedule: Schedule = FIXED
    warp: WarpOptions = field(default_factory=WarpOptions)
    epochs: int = 50
    theta: float = 0.0
    patience: int | None = None
    memory: int = 2 << 30
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("eta", "beta"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be positive, not {value!r}.")
        if self.eta is not None and math.isinf(self.eta):
            raise InputError("eta must be a finite number.")
        if not 0 <= self.lam < math.inf:
            raise InputError(f"lam must be a number from 0 on, not {self.lam!r}.")
        if self.eta is not None and self.eta * self.lam >= 1:
            raise InputError(
                f"eta * lam is {self.eta * self.lam:g}: a step would shrink the weights below "
                "nothing. Choose a smaller eta or lam."
            )
        if self.schedule.name == "lam" and self.lam == 0:
            raise InputError("The schedule lam needs a lam above 0.")
        if self.epochs < 1 or (self.patience is not None and self.patience < 1):
            raise InputError("epochs and patience must be at least 1.")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"The seed must be a number from 0 to 2^63 - 1, not {self.seed}.")

    def is_open(self, objective: str) -> bool:
        """Tell whether a number of an objective is left to be searched."""
        return self.eta is None or (objective == "ovr" and self.beta is None)

    def settled(self, setting: Setting, epochs: int) -> Self:
        """Return the plan with nothing left to search or to stop early."""
        return replace(self, eta=setting.eta, beta=setting.beta, lam=setting.lam, epochs=epochs)


def parse_setting(name: str, value: float | str, words: Mapping[str, float | None]) -> float | None:
    """Return a number that may be given as one of some words."""
    if isinstance(value, str) and value in words:
        return words[value]
    try:
        return float(value)
    except (TypeError, ValueError):
        expected = " or ".join(["a number", *words])
        raise InputError(f"{name} must be {expected}, not {value!r}.") from None


ETA_WORDS: dict[str, float | None] = {"auto": None}
BETA_WORDS: dict[str, float | None] = {"auto": None, "all": math.inf}


@dataclass(frozen=True)
class Fitted:
    """Trained weights, and how they came about.

    Attributes
    ----------
    W, b : float32 weights (n_classes, n_features) and biases (n_classes,).
    setting : the numbers used.
    epochs : passes after which the weights are as returned.
    history : validation accuracy after each epoch.
    table : settings tried, with the accuracy of each.
    """

    W: NDArray[np.float32]
    b: NDArray[np.float32]
    setting: Setting
    epochs: int
    history: list[dict[str, Any]] = field(default_factory=list)
    table: list[dict[str, Any]] = field(default_factory=list)
