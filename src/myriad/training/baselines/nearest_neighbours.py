"""Exact nearest neighbours as a method: nothing is trained, the number of voters is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from myriad.errors import InputError
from myriad.measures import Truths, measure
from myriad.models.neighbours import NeighboursModel
from myriad.parallel import open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.method import Fitted, Method, MethodSpec, number_or

VOTERS = (1, 3, 5, 9)
"""Numbers of voters tried."""
JUDGED = 256
"""Validation rows judged at a time."""


@dataclass(frozen=True, kw_only=True)
class NeighboursMethod(Method):
    """The `k` nearest training rows vote; a baseline, for it keeps all rows in memory.

    Attributes
    ----------
    k : rows that vote, or None to search among `VOTERS`.
    """

    objective: str = "knn"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None and self.k < 1:
            raise InputError(f"k must be at least 1, not {self.k}.")

    @property
    def is_open(self) -> bool:
        """Whether k is left to be searched."""
        return self.k is None

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
    ) -> Fitted:
        """Take the rows, and find how many should vote; see `Method.fit`."""
        if train.sets is not None:
            raise InputError("knn takes rows of one label each.")
        known = np.flatnonzero(train.labels >= 0)
        model = NeighboursModel(train.read(known), train.labels[known], n_classes)
        ks = [self.k] if self.k is not None else [k for k in VOTERS if k <= len(known)]
        if max(ks) > len(known):
            raise InputError(f"k is {self.k}, but there are {len(known)} rows to choose from.")
        table: list[dict[str, Any]] = []
        if val is not None and len(ks) > 1:
            with (
                open_threads(threads),
                progress.step("Trying k", len(ks) * val.n_rows, "rows") as advance,
            ):
                for k in ks:
                    table.append({"k": k, **judge(replace(model, k=k), val)})
                    advance(val.n_rows)
        best = max(table, key=lambda row: (row["top1"], row["top5"]))["k"] if table else ks[0]
        return Fitted(replace(model, k=best), {"k": best}, 1, [], table)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the number of voters that was found."""
        return replace(self, k=fitted.settings["k"])


def judge(model: NeighboursModel, rows: Rows) -> dict[str, float]:
    """Return the accuracies of a model on rows."""
    truths: Truths = rows.labels
    ranks = [
        model.judge(block.X, rows.labels[block.index])[0]
        for block in rows.blocks(max(1, min(JUDGED, rows.n_rows)))
    ]
    measures = measure(np.concatenate(ranks), truths, n_classes=model.n_classes)
    return {"top1": measures.at(1), "top5": measures.at(5)}


def parse_k(name: str, value: Any) -> int | None:
    """Read the number of voters, or ``auto``."""
    number = number_or(auto=None)(name, value)
    if number is not None and number != int(number):
        raise InputError(f"{name} must be a whole number, not {value!r}.")
    return None if number is None else int(number)


KNN_METHOD = MethodSpec(NeighboursMethod, {"k": parse_k})
