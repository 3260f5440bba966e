"""The training of the automatic method: a search, and the training of what it chooses.

With very many classes or several labels per row, see `many_classes`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from myriad.models import HeldScores
from myriad.store import Rows, ScaledRows, is_uneven, unit_variance, with_features
from myriad.training.automatic.choice import Choice, Chosen
from myriad.training.automatic.method import Automatic
from myriad.training.automatic.priors import correct_priors, log_priors
from myriad.training.automatic.selection import choose
from myriad.training.automatic.subsampling import subsample
from myriad.training.checkpoints import TrainingState
from myriad.training.context import Context
from myriad.training.engine.span import Span, find_span, is_span_cheaper
from myriad.training.method import Fitted
from myriad.training.sgd.method import SGD

PATIENCE = 2
"""Epochs without a rise of validation accuracy after which the final training stops; averaged
weights make it smooth."""
LOADED_BYTES = 256 << 20
"""Bytes up to which the rows of a search are kept in memory, centred."""


@dataclass(frozen=True)
class Fitting:
    """One training by the automatic method.

    Attributes
    ----------
    method : its options, and the choice of an earlier search, if there is one.
    """

    method: Automatic
    n_classes: int
    context: Context

    def fit(self, train: Rows, val: Rows | None) -> Chosen:
        """Search, unless there is a choice, and train; see `Method.fit`."""
        choice = self.method.choice
        if choice is not None:
            fit = self.fit_scaled if choice.scaled else self.fit_unscaled
            return fit(train, val)
        fitted = self.fit_unscaled(train, val)
        if not is_uneven(train):
            return fitted
        self.context.progress.note("Features differ very much in variance: scaling them is tried.")
        scaled = self.fit_scaled(train, val)
        return scaled if scaled.accuracy > fitted.accuracy else fitted

    def fit_scaled(self, train: Rows, val: Rows | None) -> Chosen:
        """Train on rows whose features are scaled to unit variance."""
        scale, context = unit_variance(train), self.context
        checkpoint = context.checkpoint and context.checkpoint.beside("scaled")
        own = replace(self, context=replace(context, checkpoint=checkpoint, products=None))
        fitted = own.fit_unscaled(ScaledRows(train, scale), val and ScaledRows(val, scale))
        return replace(
            fitted,
            model=fitted.model.unscaled(scale),
            settings=fitted.settings | {"scaled": True},
            choice=replace(fitted.choice, scaled=True),
        )

    def fit_unscaled(self, train: Rows, val: Rows | None) -> Chosen:
        """Search, unless there is a choice, and train on rows as they are."""
        choice, held, n_classes = self.method.choice, None, self.n_classes
        drawn = None if choice is not None else subsample(train, n_classes, seed=self.method.seed)
        rows, span = train if drawn is None else train.select(drawn), None
        with self.context.open() as running:
            if is_span_cheaper(rows.n_rows, rows.dim, n_classes, memory=self.method.memory):
                span = find_span(rows, running)
        if choice is None:
            searched = load_small(rows) if span is None else span.rows
            choice, held = self.search(searched, train)
        if drawn is None:
            fitted = self.train(choice, train, span)
        else:
            fitted, choice, held = self.train_on_all(choice, held, drawn, train, val)
        if choice.prior_weight:
            priors = log_priors(train.labels, n_classes)
            model = correct_priors(fitted.model, choice.prior_weight, priors)
            settings = fitted.settings | {"prior_weight": choice.prior_weight}
            fitted = replace(fitted, model=model, settings=settings)
        return Chosen.of(fitted, choice, held)

    def search(self, rows: Rows, train: Rows) -> tuple[Choice, HeldScores | None]:
        """Return what cross-validation chooses, with the scores of held-out rows.

        An interrupted training continues after its search.

        Parameters
        ----------
        rows : the rows to search on: those of `train`, or some of them.
        """
        method, context = self.method, self.context
        state = TrainingState(context.checkpoint and context.checkpoint.beside("search"))
        if not state.facts:
            with context.open() as running:
                choice, held = choose(
                    rows,
                    self.n_classes,
                    search=method.search,
                    measure=method.measure,
                    n_rows=train.n_rows,
                    n_features=train.dim,
                    seed=method.seed,
                    memory=method.memory,
                    running=running,
                )
            state.facts = asdict(choice)
            state.arrays = {} if held is None else held.to_arrays()
            state.save()
        scores = HeldScores.from_arrays(state.arrays, self.n_classes) if state.arrays else None
        return Choice(**state.facts), scores

    def train(self, choice: Choice, rows: Rows, span: Span | None = None) -> Fitted:
        """Train what was chosen, in the span of the rows if there is one."""
        method = choice.method(rows, self.n_classes, seed=self.method.seed)
        used = rows if span is None else span.rows
        fitted = method.fit(used, None, n_classes=self.n_classes, context=self.context)
        if span is None:
            return fitted
        with self.context.open() as running:
            return replace(fitted, model=span.expand(fitted.model, running.pool))

    def train_on_all(
        self,
        choice: Choice,
        held: HeldScores | None,
        drawn: NDArray[np.int64],
        train: Rows,
        val: Rows | None,
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
            return self.train(choice, train), choice, held
        method = choice.method(train, self.n_classes, seed=self.method.seed)
        if not isinstance(method, SGD):
            return self.train(choice, train), choice, None
        method = replace(method, epochs=SGD.epochs, patience=PATIENCE)
        fitted = method.fit(train, val, n_classes=self.n_classes, context=self.context)
        return fitted, replace(choice, settings=choice.settings | {"epochs": fitted.epochs}), None


def load_small(rows: Rows) -> Rows:
    """Return rows as they are read, in memory, if they are not too large; else the same rows.

    A search reads them many times, and each time they would be centred.
    """
    if 4 * rows.n_rows * rows.dim > LOADED_BYTES:
        return rows
    return with_features(rows.read(range(rows.n_rows)), rows)
