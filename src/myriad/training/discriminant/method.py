"""Probabilistic linear discriminant analysis as a method, learned in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError
from myriad.options import option
from myriad.training.context import Context, RunningContext
from myriad.training.method import CentringMethod, Fitted

if TYPE_CHECKING:
    from myriad.store import Rows
    from myriad.training.discriminant.moments import ClassMoments

PATH = tuple(10 ** (-half / 2) for half in range(-2, 9))
"""Values of lam that are tried, from strong to weak."""
UNSEARCHED = 0.1
PATIENCE = 3
"""The path ends when this many consecutive values have not improved the accuracy."""
MOST_FEATURES = 16_384
"""Features of which the covariances are kept in memory, 2 GB."""
MANY_FEATURES = 4096
"""Features up to which covariances are computed without regard to the number of rows."""


def uses_span(rows: Rows) -> bool:
    """Return whether covariances are to be computed in the span of the rows."""
    return rows.sets is None and rows.dim > max(rows.n_rows, MANY_FEATURES)


def check_rows(rows: Rows) -> None:
    """Raise `InputError` for rows that discriminant analysis does not support."""
    if rows.sets is not None:
        raise InputError(
            "Discriminant analysis takes rows with one label each; for several use ovr or dual."
        )
    if rows.dim > MOST_FEATURES:
        raise InputError(
            f"Discriminant analysis computes the covariances of all features: {rows.dim} are too "
            f"many, at most {MOST_FEATURES} are possible."
        )


@dataclass(frozen=True, kw_only=True)
class Discriminant(CentringMethod):
    """Probabilistic linear discriminant analysis: every class is a Gaussian.

    Covariances are computed in one pass, whatever the number of classes; see
    `discriminant.gaussian`.
    """

    titles: ClassVar[Mapping[str, str]] = {"plda": "discriminant analysis"}

    objective: str = "plda"
    lam: float | None = option(
        None,
        above=0,
        maximum=1e6,
        words={"auto": None},
        help="Regularisation strength, as a fraction of the mean variance of a feature, or auto to "
        "search for it.",
    )

    @property
    def is_open(self) -> bool:
        """Whether lam is left to be searched for."""
        return self.lam is None

    def _fit(self, train: Rows, val: Rows | None, *, n_classes: int, context: Context) -> Fitted:
        from myriad.training.discriminant.gaussian import fit_gaussians
        from myriad.training.discriminant.moments import ClassMoments
        from myriad.training.engine.span import find_span

        with context.open() as running:
            span = None
            if uses_span(train):
                span = find_span(train, running)
                train, val = span.rows, val and span.project(val, running)
            check_rows(train)
            moments = ClassMoments.collect(
                train, n_classes, pool=running.pool, progress=running.progress
            )
            lam, table = self._choose(moments, val, running)
            model = fit_gaussians(moments, lam).to_model()
            if span is not None:
                model = span.expand(model, running.pool)
        return Fitted(model, {"lam": lam}, 1, table=table)

    def _choose(
        self, moments: ClassMoments, val: Rows | None, running: RunningContext
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return the lam to train with, and a table of the values tried."""
        from myriad.training.discriminant.gaussian import fit_gaussians
        from myriad.training.search import has_peaked, smooth
        from myriad.training.validation import ModelRanker, count_block_rows, validate

        if self.lam is not None or val is None:
            return self.lam or UNSEARCHED, []
        table: list[dict[str, Any]] = []
        with running.progress.step("Trying values of lam", len(PATH), "values") as advance:
            for lam in PATH:
                model = fit_gaussians(moments, lam).to_model()
                ranker = ModelRanker(model, count_block_rows(model.dim, model.n_classes))
                (found,) = validate(ranker, val, pool=running.pool)
                table.append({"lam": lam, "top1": found.at(1), "top5": found.at(5)})
                advance(1)
                if has_peaked([row["top1"] for row in table], PATIENCE):
                    break
        smoothed = smooth([row["top1"] for row in table])
        return table[smoothed.index(max(smoothed))]["lam"], table

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the lam that was found."""
        return replace(self, lam=fitted.settings["lam"])
