"""Coordinate descent in the primal as a method: the decomposition over features of [LS]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from myriad.objectives import SMOOTH_LOSSES
from myriad.options import option
from myriad.training.dual.method import DUAL_PANEL, DualMethod, check_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.store import Rows
    from myriad.training.primal.coordinates import CoordinateDescent


@dataclass(frozen=True, kw_only=True)
class Primal(DualMethod):
    """One class against the rest with a smooth loss, by coordinate descent in the primal.

    A baseline: the optimum is that of `dual` (squared hinge), or of logistic regression.
    """

    titles: ClassVar[Mapping[str, str]] = {"primal": "one-vs-rest, coordinate descent"}

    objective: str = "primal"
    loss: str = option(
        "squared_hinge", choices=tuple(SMOOTH_LOSSES), panel=DUAL_PANEL, help="Loss function."
    )

    def make(self, rows: Rows, n_classes: int, lam: float) -> CoordinateDescent:
        """Return the trainer."""
        from myriad.training.primal.coordinates import CoordinateDescent

        check_labels(rows, n_classes)
        return CoordinateDescent(
            rows, n_classes, lam=lam, bias=self.find_bias(rows), loss=self.loss
        )

    def untrained_loss(self, positives: NDArray[np.int64], n_rows: int) -> float:
        """Return the minimum loss of scores that are the same for all rows, summed over classes.

        With the fraction p of positives it is ``4 p (1 - p)`` for the squared hinge and the entropy
        of p for the logistic loss.
        """
        shares = [count / n_rows for count in positives.tolist() if 0 < count < n_rows]
        if self.loss == "squared_hinge":
            return sum(4.0 * p * (1.0 - p) for p in shares)
        return -sum(p * math.log(p) + (1.0 - p) * math.log(1.0 - p) for p in shares)

    def describe(self) -> dict[str, Any]:
        """Return the settings that are the method's own."""
        return {"loss": self.loss}
