"""The settings of a linear trainer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from myriad.store import Rows


@dataclass(frozen=True)
class Setting:
    """The settings of a linear trainer.

    Attributes
    ----------
    eta : learning rate.
    beta : one-vs-rest: negatives for each positive, on average; infinity for all of them [GP, 3.2].
        None for the joint objectives.
    lam : regularisation strength, the weight of the squared norm.
    scale : whether features are scaled to unit variance; the returned weights are for unscaled
        rows.
    t0 : steps after which the learning rate has halved, where that is searched; else None.
    """

    eta: float
    beta: float | None = None
    lam: float = 0.0
    scale: bool = False
    t0: float | None = None

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Self:
        """Return the setting from the values that `to_json` returned."""
        beta = settings.get("beta")
        beta = math.inf if beta == "all" else beta
        return cls(settings["eta"], beta, settings["lam"], settings["scale"], settings.get("t0"))

    def to_json(self) -> dict[str, Any]:
        """Return the setting with ``beta`` as the word ``"all"`` where it is infinite."""
        settings = asdict(self)
        if self.t0 is None:
            del settings["t0"]
        if self.beta is None:
            del settings["beta"]
        elif math.isinf(self.beta):
            settings["beta"] = "all"
        return settings


MEASURED_ROWS, MEASURED_BYTES = 1000, 64 << 20
"""Most rows, and most bytes of them, whose mean squared norm is measured."""


def mean_square(rows: Rows) -> float:
    """Return the mean squared norm of (the first of) the rows; 1 where all are zero.

    Learning rates and regularisation strengths that are searched are counted in units of it.
    """
    import numpy as np

    size = max(1, min(MEASURED_ROWS, rows.n_rows, MEASURED_BYTES // (4 * rows.dim)))
    X = next(iter(rows.blocks(size))).X
    square = float(np.einsum("ij,ij->i", X, X, dtype=np.float64).mean())
    return square if square > 0 else 1.0
