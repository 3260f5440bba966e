"""The numbers that training depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Setting:
    """The numbers that training depends on.

    Attributes
    ----------
    eta : step.
    beta : one-vs-rest: negatives a positive, on average; infinity for all of them [GP, 3.2]. None
        for the joint objectives.
    lam : weight of the squared norm.
    scale : whether features are brought to unit variance; the weights are for plain rows all the
        same.
    """

    eta: float
    beta: float | None = None
    lam: float = 0.0
    scale: bool = False

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> Self:
        """Return the setting among the numbers that `to_json` gave."""
        beta = settings.get("beta")
        beta = math.inf if beta == "all" else beta
        return cls(settings["eta"], beta, settings["lam"], settings["scale"])

    def to_json(self) -> dict[str, Any]:
        """Return the setting with ``beta`` as the word ``"all"`` where it is infinite."""
        found = asdict(self)
        if self.beta is None:
            del found["beta"]
        elif math.isinf(self.beta):
            found["beta"] = "all"
        return found
