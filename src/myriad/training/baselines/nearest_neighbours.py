"""Exact nearest neighbours as a method: the model is the rows, and `k` is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError
from myriad.options import option
from myriad.training.context import DEFAULT_CONTEXT, Context
from myriad.training.method import Fitted, Method

if TYPE_CHECKING:
    from myriad.store import Rows

VOTERS = (1, 3, 5, 9)
"""Numbers of voters tried."""
RANKED_ROWS = 256
"""Validation rows that are ranked at a time."""


@dataclass(frozen=True, kw_only=True)
class NeighboursMethod(Method):
    """The `k` nearest training rows vote; the model keeps all rows in memory.

    A `k` of None is searched among `VOTERS`.
    """

    titles: ClassVar[Mapping[str, str]] = {"knn": "neighbours"}

    objective: str = "knn"
    k: int | None = option(None, minimum=1, default_text="searched", help="Number of neighbours.")

    @property
    def is_open(self) -> bool:
        """Whether k is left to be searched for."""
        return self.k is None

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        context: Context = DEFAULT_CONTEXT,
    ) -> Fitted:
        """Keep the rows, and search how many neighbours should vote; see `Method.fit`."""
        import numpy as np

        from myriad.models.neighbours import NeighboursModel
        from myriad.training.validation import ModelRanker, validate

        if train.sets is not None:
            raise InputError("knn needs exactly one label per row.")
        known = np.flatnonzero(train.labels >= 0)
        model = NeighboursModel(train.read(known), train.labels[known], n_classes)
        ks = [self.k] if self.k is not None else [k for k in VOTERS if k <= len(known)]
        if max(ks) > len(known):
            raise InputError(f"k is {self.k}, but there are {len(known)} rows to choose from.")
        table: list[dict[str, Any]] = []
        if val is not None and len(ks) > 1:
            with (
                context.open() as running,
                running.progress.step("Searching for k", len(ks), "values") as advance,
            ):
                for k in ks:
                    ranker = ModelRanker(replace(model, k=k), RANKED_ROWS)
                    (measures,) = validate(ranker, val, pool=running.pool)
                    table.append({"k": k, "top1": measures.at(1), "top5": measures.at(5)})
                    advance(1)
        best = max(table, key=lambda row: (row["top1"], row["top5"]))["k"] if table else ks[0]
        return Fitted(replace(model, k=best), {"k": best}, 1, [], table)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the `k` that was found."""
        return replace(self, k=fitted.settings["k"])
