"""Rejection: "unknown" instead of a label for rows of which the model is not sure enough.

The least confidence, or the greatest novelty, at which a label is given is found on calibration
rows, for a wanted precision of the answers or a wanted fraction of rows without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from myriad.errors import InputError
from myriad.models.calibration.classes import Calibration

GOALS = {"precision": 0.99, "rate": 0.05, "novelty": 0.05}
"""Goals of a rule, with an example value of each: the fraction of answers that are correct, of rows
without an answer, and of rows of known classes that are rejected as unlike all classes."""
ROUNDING = 1e-6
"""Confidences that differ by less are equal: scores are rounded in another way in other batches,
and many rows may be as sure as float32 allows."""


@dataclass(frozen=True)
class Rejection:
    """When no label is given.

    Attributes
    ----------
    goal : one of `GOALS`.
    value : the target value of the goal, between 0 and 1.
    """

    goal: str
    value: float

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise InputError(f"Rows are rejected by {', '.join(GOALS)}, not by {self.goal!r}.")
        if not 0.0 < self.value < 1.0:
            raise InputError(f"{self.goal} must be above 0 and below 1, not {self.value:g}.")

    @classmethod
    def parse(cls, text: str) -> Rejection:
        """Return the rule of a text such as ``precision=0.99``."""
        found = read_goal(text)
        if found is None:
            listed = " or ".join(f"{goal}={value}" for goal, value in GOALS.items())
            raise InputError(f"--reject must be a rule such as {listed}, not {text!r}.")
        return cls(*found)

    def find_confidence(self, calibration: Calibration) -> float:
        """Return the least confidence with which a label is given.

        One more wrong answer than there are is counted, so that a few correct answers are not
        taken for perfect precision.
        """
        confidence = calibration.confidence.astype(np.float64)
        if self.goal == "rate":
            return float(np.quantile(confidence, self.value)) - ROUNDING
        order = np.argsort(-confidence, kind="stable")
        wrong = np.cumsum(calibration.ranks[order] != 1)
        risks = (wrong + 1.0) / (np.arange(len(order)) + 2.0)
        # Rows of equal confidence are answered together: only the last of them counts.
        last = np.append(np.diff(confidence[order]) != 0, True)
        reached = np.flatnonzero((risks <= 1.0 - self.value) & last)
        if len(reached) == 0:
            most = 1.0 - risks[last].min()
            raise InputError(
                f"No confidence reaches a precision of {self.value:g} on the "
                f"{calibration.n_rows} calibration rows; the highest that can be shown is "
                f"{np.floor(1000 * most) / 1000:g}."
            )
        return float(confidence[order[reached[-1]]]) - ROUNDING


def read_goal(text: str) -> tuple[str, float] | None:
    """Return the goal and the number that a text such as ``precision=0.99`` states, or None."""
    goal, _, number = text.partition("=")
    try:
        return goal.strip(), float(number)
    except ValueError:
        return None
