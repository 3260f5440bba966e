"""What the automatic method has chosen, and the model that it has trained with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from myriad.training.method import Fitted, Method

if TYPE_CHECKING:
    from myriad.models import HeldScores
    from myriad.store import Rows


@dataclass(frozen=True)
class Choice:
    """The choice of a search, as plain JSON.

    Attributes
    ----------
    family : the name of the family of the chosen candidate; see `FAMILIES`.
    settings : its settings; see `Family.settle`.
    prior_weight : how much of the logarithm of a class's number of rows is subtracted from its
        score.
    miss_ratio : how many times as often the models of the folds miss the true class as one of all
        rows does; see `calibration_scores`.
    facts : how sure the choice is, and which candidate of another family came second.
    table : a row for each candidate, with its accuracy.
    scaled : whether features are scaled to unit variance; the model is for unscaled rows.
    """

    family: str
    settings: dict[str, Any]
    prior_weight: float = 0.0
    miss_ratio: float = 1.0
    facts: dict[str, Any] = field(default_factory=dict, repr=False)
    table: list[dict[str, Any]] = field(default_factory=list, repr=False)
    scaled: bool = False

    def method(self, rows: Rows, n_classes: int, *, seed: int) -> Method:
        """Return the method that trains the chosen candidate."""
        from myriad.training.automatic.families import FAMILIES

        return FAMILIES[self.family].settle(self.settings, rows.labels, n_classes, seed=seed)


@dataclass(frozen=True)
class Chosen(Fitted):
    """A model whose method was chosen automatically.

    Attributes
    ----------
    choice : what was chosen.
    """

    choice: Choice = field(kw_only=True)

    @property
    def accuracy(self) -> float:
        """The accuracy of the choice on held-out rows, in percent; 0 if none were held out."""
        return float(self.choice.facts.get("cross_validation", {}).get("accuracy", 0.0))

    @classmethod
    def of(cls, fitted: Fitted, choice: Choice, held_scores: HeldScores | None = None) -> Chosen:
        """Return what a chosen method has trained, with the facts of the choice."""
        from myriad.training.automatic.families import FAMILIES

        objective = FAMILIES[choice.family].objective
        settings = {"objective": objective, "chosen_by": "auto", **choice.facts, **fitted.settings}
        return cls(
            fitted.model,
            settings,
            fitted.epochs,
            fitted.history,
            choice.table,
            held_scores=held_scores,
            miss_ratio=choice.miss_ratio,
            choice=choice,
        )
