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

    from myriad.models import HeldScores
    from myriad.store import Rows
    from myriad.training.engine.span import Span

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
    measure: str = option(
        "auto", choices=MEASURES, help="Accuracy to choose by, and whether classes are balanced."
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
            return self._fit_many(train, val, n_classes, context)
        if self.choice is not None:
            fit = self._fit_scaled if self.choice.scaled else self._fit_unscaled
            return fit(train, val, n_classes, context)
        from myriad.store import is_uneven

        fitted = self._fit_unscaled(train, val, n_classes, context)
        if not is_uneven(train):
            return fitted
        context.progress.note("Features differ very much in variance: scaling them is tried.")
        scaled = self._fit_scaled(train, val, n_classes, context)
        return scaled if scaled.accuracy > fitted.accuracy else fitted

    def _fit_scaled(
        self, train: Rows, val: Rows | None, n_classes: int, context: Context
    ) -> Chosen:
        """Train on rows whose features are scaled to unit variance."""
        from myriad.store import ScaledRows, unit_variance

        scale = unit_variance(train)
        checkpoint = context.checkpoint and context.checkpoint.beside("scaled")
        fitted = self._fit_unscaled(
            ScaledRows(train, scale),
            val and ScaledRows(val, scale),
            n_classes,
            replace(context, checkpoint=checkpoint, products=None),
        )
        return replace(
            fitted,
            model=fitted.model.unscaled(scale),
            settings=fitted.settings | {"scaled": True},
            choice=replace(fitted.choice, scaled=True),
        )

    def _fit_unscaled(
        self, train: Rows, val: Rows | None, n_classes: int, context: Context
    ) -> Chosen:
        """Search, unless there is a choice, and train on rows as they are."""
        from myriad.training.automatic.subsampling import subsample
        from myriad.training.engine.span import find_span, is_span_cheaper

        drawn = None if self.choice is not None else subsample(train, n_classes, seed=self.seed)
        rows, span = train if drawn is None else train.select(drawn), None
        with context.open() as running:
            if is_span_cheaper(rows.n_rows, rows.dim, n_classes, memory=self.memory):
                span = find_span(rows, running)
        choice, held = self.choice, None
        if choice is None:
            searched = load_small(rows) if span is None else span.rows
            choice, held = self._search(searched, train, n_classes, context)
        if drawn is None:
            fitted = self._train(choice, train, span, n_classes, context)
        else:
            fitted, choice, held = self._train_on_all(
                choice, held, drawn, train, val, n_classes, context
            )
        if choice.prior_weight:
            from myriad.training.automatic.priors import correct_priors, log_priors

            priors = log_priors(train.labels, n_classes)
            model = correct_priors(fitted.model, choice.prior_weight, priors)
            settings = fitted.settings | {"prior_weight": choice.prior_weight}
            fitted = replace(fitted, model=model, settings=settings)
        return _chosen(fitted, choice, held)

    def _search(
        self, rows: Rows, train: Rows, n_classes: int, context: Context
    ) -> tuple[Choice, HeldScores | None]:
        """Return what cross-validation chooses, with the scores of held-out rows.

        An interrupted training continues after its search.

        Parameters
        ----------
        rows : the rows to search on: those of `train`, or some of them.
        """
        from myriad.models import HeldScores
        from myriad.training.automatic.selection import choose
        from myriad.training.checkpoints import TrainingState

        state = TrainingState(context.checkpoint and context.checkpoint.beside("search"))
        if not state.facts:
            with context.open() as running:
                choice, held = choose(
                    rows,
                    n_classes,
                    search=self.search,
                    measure=self.measure,
                    n_rows=train.n_rows,
                    n_features=train.dim,
                    seed=self.seed,
                    memory=self.memory,
                    running=running,
                )
            state.facts = asdict(choice)
            state.arrays = {} if held is None else held.to_arrays()
            state.save()
        scores = HeldScores.from_arrays(state.arrays, n_classes) if state.arrays else None
        return Choice(**state.facts), scores

    def _train(
        self, choice: Choice, train: Rows, span: Span | None, n_classes: int, context: Context
    ) -> Fitted:
        """Train what was chosen, in the span of the rows if there is one."""
        method = choice.method(train, n_classes, seed=self.seed)
        if span is None:
            return method.fit(train, None, n_classes=n_classes, context=context)
        fitted = method.fit(span.rows, None, n_classes=n_classes, context=context)
        with context.open() as running:
            return replace(fitted, model=span.expand(fitted.model, running.pool))

    def _train_on_all(
        self,
        choice: Choice,
        held: HeldScores | None,
        drawn: NDArray[np.int64],
        train: Rows,
        val: Rows | None,
        n_classes: int,
        context: Context,
    ) -> tuple[Fitted, Choice, HeldScores | None]:
        """Train what was chosen on a subsample on all rows; return the choice as it was trained.

        Validation rows, where there are any, say more of the model of all rows than the held-out
        rows of the subsample: they choose the number of epochs, and the scores of the latter are
        dropped.

        Parameters
        ----------
        held : scores of held-out rows of the subsample.
        drawn : the numbers of the rows of the subsample.
        """
        if val is None:
            if held is not None and held.numbers is not None:
                held = replace(held, numbers=drawn[held.numbers])
            return self._train(choice, train, None, n_classes, context), choice, held
        method = choice.method(train, n_classes, seed=self.seed)
        if not isinstance(method, SGD):
            return self._train(choice, train, None, n_classes, context), choice, None
        method = replace(method, epochs=SGD.epochs, patience=PATIENCE)
        fitted = method.fit(train, val, n_classes=n_classes, context=context)
        return fitted, replace(choice, settings=choice.settings | {"epochs": fitted.epochs}), None

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

    @property
    def accuracy(self) -> float:
        """The accuracy of the choice on held-out rows, in percent; 0 if none were held out."""
        return float(self.choice.facts.get("cross_validation", {}).get("accuracy", 0.0))


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
        miss_ratio=choice.miss_ratio,
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
