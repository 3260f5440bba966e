"""The automatic method: it chooses objective and settings, and trains with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.options import option
from myriad.training.context import Context
from myriad.training.discriminant.method import MANY_FEATURES, Discriminant
from myriad.training.method import CentringMethod, Fitted, Method
from myriad.training.optimiser import OptimiserOptions
from myriad.training.sgd.method import SGD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.models import HeldScores, LinearModel, Model
    from myriad.store import Rows

MANY_CLASSES = 2_000
"""Classes above which candidates are compared once, on validation rows, instead of in folds."""
SOFTMAX_WORK = 1e12
"""Rows times classes times features up to which softmax is a candidate with very many classes.
Above, it is one-vs-rest with sampled negatives, which compares a row with few of the classes."""
PATIENCE = 2
"""Epochs without a rise of validation accuracy after which the final training stops; averaged
weights make it smooth."""
LOADED_BYTES = 256 << 20
"""Bytes up to which the rows of a search are kept in memory, centred."""
SEARCHES = {
    "quick": "softmax, one fold",
    "normal": "softmax, also after discriminant analysis, and SVM",
    "thorough": "plda and one-vs-rest too, five folds",
}


@dataclass(frozen=True)
class Choice:
    """The choice of a search, as plain JSON.

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
            return self._fit_many(train, val, n_classes, context)
        from myriad.models import HeldScores
        from myriad.training.automatic.selection import choose
        from myriad.training.automatic.subsampling import subsample
        from myriad.training.checkpoints import TrainingState
        from myriad.training.engine.span import find_span, is_span_cheaper

        drawn = None if self.choice is not None else subsample(train, n_classes, seed=self.seed)
        rows, span = train if drawn is None else train.select(drawn), None
        choice, scores = self.choice, None
        with context.open() as running:
            if is_span_cheaper(rows.n_rows, rows.dim, n_classes, memory=self.memory):
                span = find_span(rows, running)
            if choice is None:
                state = TrainingState(context.checkpoint and context.checkpoint.beside("search"))
                if not state.facts:
                    choice, held = choose(
                        load_small(rows) if span is None else span.rows,
                        n_classes,
                        search=self.search,
                        n_rows=train.n_rows,
                        n_features=train.dim,
                        seed=self.seed,
                        memory=self.memory,
                        running=running,
                    )
                    state.facts = asdict(choice)
                    state.arrays = {} if held is None else held.to_arrays()
                    state.save()
                choice = Choice(**state.facts)
                if drawn is None or val is None:
                    arrays = state.arrays
                    scores = HeldScores.from_arrays(arrays, n_classes) if arrays else None
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

    def _fit_many(self, train: Rows, val: Rows | None, n_classes: int, context: Context) -> Chosen:
        """Train the candidates for very many classes or several labels per row.

        Discriminant analysis takes one pass. Beside it is trained, in a space of its own lam,
        softmax or, where that would take too long, one-vs-rest with sampled negatives; the better
        one on the validation rows is kept.
        """
        from myriad.training.automatic.many_classes import choose_space

        if train.sets is not None or train.dim > MANY_FEATURES:
            return self._fit_sgd("sampled", train, val, n_classes, context)
        method = Discriminant(center=False, seed=self.seed)
        fitted = method.fit(train, val, n_classes=n_classes, context=context)
        lam = fitted.settings["lam"]
        first = _chosen(fitted, Choice("plda", {"lam": lam}, table=fitted.table))
        if val is None:
            return first
        softmax = float(train.n_rows) * n_classes * train.dim <= SOFTMAX_WORK
        name = "projected" if softmax else "sampled"
        options: dict[str, Any] = {"seed": self.seed, "memory": self.memory, "context": context}
        lam = choose_space(train, val, n_classes, **options) or lam
        second = self._fit_sgd(name, train, val, n_classes, context, plda=lam)
        table = [
            {"objective": found.settings["objective"], **row}
            for found in (first, second)
            for row in found.table
        ]
        best = max((first, second), key=lambda found: validation_accuracy(found))
        return replace(best, table=table, choice=replace(best.choice, table=table))

    def _fit_sgd(
        self,
        name: str,
        train: Rows,
        val: Rows | None,
        n_classes: int,
        context: Context,
        plda: float | None = None,
    ) -> Chosen:
        """Train a family by gradient descent; its settings are searched on validation rows."""
        from myriad.training.automatic.families import FAMILIES

        method = SGD(
            objective=FAMILIES[name].objective,
            seed=self.seed,
            center=False,
            scale=None if plda is None else False,
            memory=self.memory,
            optimiser=OptimiserOptions(average=True),
            plda=plda,
        )
        fitted = method.fit(train, val, n_classes=n_classes, context=context)
        found = method.settled(fitted)
        names = ("eta", "beta", "scale", "epochs", "plda")
        settings = {one: getattr(found, one) for one in names if getattr(found, one) is not None}
        return _chosen(fitted, Choice(name, settings, table=fitted.table))


@dataclass(frozen=True)
class Chosen(Fitted):
    """A model whose method was chosen automatically.

    Attributes
    ----------
    choice : what was chosen.
    """

    choice: Choice = field(kw_only=True)


def _chosen(fitted: Fitted, choice: Choice, held_scores: HeldScores | None = None) -> Chosen:
    from myriad.training.automatic.families import FAMILIES

    objective = FAMILIES[choice.family].objective
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


def validation_accuracy(fitted: Fitted) -> float:
    """Return the best accuracy on validation rows of a training or its search, in percent."""
    rows = fitted.history or fitted.table
    return max((float(row["top1"]) for row in rows), default=0.0)


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
