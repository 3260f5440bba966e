"""The automatic method: it chooses objective and settings, and trains with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.options import option
from myriad.training.context import Context
from myriad.training.method import CentringMethod, Fitted, Method
from myriad.training.optimiser import OptimiserOptions
from myriad.training.sgd.method import SGD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.models import HeldScores, LinearModel, Model
    from myriad.store import Rows

MANY_CLASSES = 2_000
"""Classes above which one-vs-rest with sampled negatives is used: the other candidates compare
every row with every class."""
PATIENCE = 2
"""Epochs without a rise of validation accuracy after which the final training stops; averaged
weights make it smooth."""
LOADED_BYTES = 256 << 20
"""Bytes up to which the rows of a search are kept in memory, centred."""
SEARCHES = {
    "quick": "softmax, one fold",
    "normal": "softmax and SVM",
    "thorough": "one-vs-rest too, five folds",
}


@dataclass(frozen=True)
class Choice:
    """What a search has chosen, plain JSON.

    Attributes
    ----------
    family : the name of the family of the chosen candidate; see `FAMILIES`.
    settings : its settings; see `Family.settle`.
    prior_weight : how much of the logarithm of a class's number of rows is subtracted from its
        score.
    facts : how sure the choice is, and which candidate of another family came second.
    table : a row for each candidate, with its accuracy.
    """

    family: str
    settings: dict[str, Any]
    prior_weight: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict, repr=False)
    table: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def method(self, rows: Rows, n_classes: int, *, seed: int) -> Method:
        """Return the method that trains the chosen candidate."""
        from myriad.training.automatic.families import FAMILIES

        return FAMILIES[self.family].settle(self.settings, rows.labels, n_classes, seed=seed)


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
    search: str = option("normal", choices=SEARCHES, help="How much is tried.")
    memory: int = option(
        2 << 30,
        minimum=1,
        repr=False,
        command=False,
        help="Bytes that the weights trained together in a search may take.",
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
            return self._fit_sampled(train, val, n_classes, context)
        from myriad.models import HeldScores
        from myriad.training.automatic.selection import choose
        from myriad.training.automatic.subsampling import subsample
        from myriad.training.checkpoints import TrainingState
        from myriad.training.engine.span import find_span, pays

        drawn = None if self.choice is not None else subsample(train, n_classes, seed=self.seed)
        rows, span = train if drawn is None else train.select(drawn), None
        choice, scores = self.choice, None
        with context.open() as running:
            if pays(rows.n_rows, rows.dim, n_classes, memory=self.memory):
                span = find_span(rows, running)
            if choice is None:
                state = TrainingState(context.checkpoint and context.checkpoint.beside("search"))
                if not state.facts:
                    choice, held = choose(
                        load_small(rows) if span is None else span.rows,
                        n_classes,
                        search=self.search,
                        n_rows=train.n_rows,
                        seed=self.seed,
                        memory=self.memory,
                        running=running,
                    )
                    state.facts = asdict(choice)
                    state.arrays = {} if held is None else held.to_arrays()
                    state.save()
                choice = Choice(**state.facts)
                if drawn is None or val is None:
                    scores = HeldScores.from_arrays(state.arrays) if state.arrays else None
                # Else validation rows say more of the model of all rows than those of a subsample.
                if scores is not None and scores.numbers is not None and drawn is not None:
                    scores = replace(scores, numbers=drawn[scores.numbers])
        method = choice.method(train, n_classes, seed=self.seed)
        if drawn is None and span is not None:
            fitted = method.fit(span.rows, None, n_classes=n_classes, context=context)
            with context.open() as running:
                fitted = replace(fitted, model=span.expand(fitted.model, running.pool))
        elif drawn is not None and val is not None and isinstance(method, SGD):
            # The best number of epochs on a subsample says little of that on all rows.
            method = replace(method, epochs=SGD.epochs, patience=PATIENCE)
            fitted = method.fit(train, val, n_classes=n_classes, context=context)
            settings = choice.settings | {"epochs": fitted.epochs}
            choice = replace(choice, settings=settings)
        else:
            fitted = method.fit(train, None, n_classes=n_classes, context=context)
        if choice.prior_weight:
            priors = log_priors(train.labels, n_classes)
            model = correct_priors(fitted.model, choice.prior_weight, priors)
            settings = fitted.settings | {"prior_weight": choice.prior_weight}
            fitted = replace(fitted, model=model, settings=settings)
        return _chosen(fitted, choice, scores)

    def _fit_sampled(
        self, train: Rows, val: Rows | None, n_classes: int, context: Context
    ) -> Chosen:
        """Train one-vs-rest with sampled negatives, whose number is searched on validation rows."""
        method = SGD(
            seed=self.seed,
            center=False,
            memory=self.memory,
            optimiser=OptimiserOptions(average=True),
        )
        fitted = method.fit(train, val, n_classes=n_classes, context=context)
        found = method.settled(fitted)
        settings = {name: getattr(found, name) for name in ("eta", "beta", "scale", "epochs")}
        return _chosen(fitted, Choice("sampled", settings, table=fitted.table))


@dataclass(frozen=True)
class Chosen(Fitted):
    """A model whose method was chosen automatically.

    Attributes
    ----------
    choice : what was chosen.
    """

    choice: Choice = field(kw_only=True)


def _chosen(fitted: Fitted, choice: Choice, held_scores: HeldScores | None = None) -> Chosen:
    objective = "ovr" if choice.family == "sampled" else choice.family
    settings = {"objective": objective, "chosen_by": "auto", **choice.facts, **fitted.settings}
    return Chosen(
        fitted.model,
        settings,
        fitted.epochs,
        fitted.history,
        choice.table,
        held_scores=held_scores,
        choice=choice,
    )


def load_small(rows: Rows) -> Rows:
    """Return rows as they are read, in memory, if they are not too large; else the same rows.

    A search reads them many times, and each time they would be centred.
    """
    from myriad.store import with_features

    if 4 * rows.n_rows * rows.dim > LOADED_BYTES:
        return rows
    return with_features(rows.read(range(rows.n_rows)), rows)


def log_priors(labels: NDArray[np.int32], n_classes: int) -> NDArray[np.float64]:
    """Return the logarithm of the number of rows of each class, relative to its mean."""
    import numpy as np

    counts = np.maximum(np.bincount(labels[labels >= 0], minlength=n_classes), 1)
    logarithms = np.log(counts)
    return logarithms - logarithms.mean()


def correct_priors(model: Model, weight: float, priors: NDArray[np.float64]) -> LinearModel:
    """Return a linear model with `weight` times the priors subtracted from its biases."""
    import numpy as np

    from myriad.models import LinearModel

    assert isinstance(model, LinearModel)
    return LinearModel(model.weights, (model.biases - weight * priors).astype(np.float32))
