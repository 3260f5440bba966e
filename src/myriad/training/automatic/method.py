"""The automatic method: it chooses objective and settings, and trains with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from myriad.options import option
from myriad.training.automatic.choice import Choice, Chosen
from myriad.training.context import Context
from myriad.training.method import CentringMethod, Fitted

if TYPE_CHECKING:
    from myriad.store import Rows

MANY_CLASSES = 2_000
"""Classes above which candidates are compared once, on validation rows, instead of in folds."""
AUTOMATIC_PANEL = "Choice of settings: auto"
MEASURES = {
    "auto": "classes if their sizes differ by more than 3 times",
    "samples": "every row counts alike",
    "classes": "every class counts alike",
}
SEARCHES = {
    "quick": "softmax, one fold, two learning rates",
    "normal": "softmax, also after discriminant analysis, and SVM",
    "thorough": "plda and one-vs-rest too, five folds",
}


@dataclass(frozen=True, kw_only=True)
class Automatic(CentringMethod):
    """Objective, loss, regularisation, learning rate, balance and epochs, chosen by themselves.

    The rule is described in ``docs/automatic.md``: candidates are compared by cross-validation
    inside the training rows, and the best one is trained on all of them.

    Attributes
    ----------
    choice : what an earlier search has chosen; None to search.
    """

    titles: ClassVar[Mapping[str, str]] = {"auto": "chosen by cross-validation"}

    objective: str = "auto"
    search: str = option(
        "normal", choices=SEARCHES, panel=AUTOMATIC_PANEL, help="How much is tried."
    )
    measure: str = option(
        "auto",
        choices=MEASURES,
        panel=AUTOMATIC_PANEL,
        help="Accuracy to choose by, and whether classes are balanced.",
    )
    memory: int = option(
        2 << 30,
        minimum=1,
        repr=False,
        command=False,
        help="Memory limit in bytes for weights trained together in a search.",
    )
    choice: Choice | None = None

    @property
    def is_open(self) -> bool:
        """Whether a search is needed."""
        return self.choice is None

    def needs_held_out(self, rows: Rows, n_classes: int) -> bool:
        """Return whether there is too much for cross-validation on all rows.

        Models of a subsample say little of the epochs and the probabilities of the final one.
        """
        from myriad.training.automatic.subsampling import count_searched

        if not self.is_open:
            return False
        sampled = rows.sets is not None or n_classes > MANY_CLASSES
        return sampled or count_searched(rows.n_rows, rows.dim, n_classes) < rows.n_rows

    def with_memory(self, size: int) -> Self:
        """Return the method with a limit for the weights that are trained side by side."""
        return replace(self, memory=size)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with what was chosen."""
        assert isinstance(fitted, Chosen)
        return replace(self, choice=fitted.choice)

    def _fit(self, train: Rows, val: Rows | None, *, n_classes: int, context: Context) -> Chosen:
        if self.choice is None and (train.sets is not None or n_classes > MANY_CLASSES):
            from myriad.training.automatic.many_classes import ManyClasses

            return ManyClasses(self, n_classes, context).fit(train, val)
        from myriad.training.automatic.fitting import Fitting

        return Fitting(self, n_classes, context).fit(train, val)
