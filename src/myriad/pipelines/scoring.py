"""The rows of a store ranked by the workers of a cluster, each reading model and store itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.measures import Truths
from myriad.models import CodedModel, Model, load_model, match_rows
from myriad.models.folder import CONFIG
from myriad.parallel import Executor
from myriad.progress import Advance
from myriad.store import Store, StoreRows, state_of
from myriad.store.manifest import STORE

BLOCKS = 8
"""Number of blocks of rows that a worker ranks in one task."""


@dataclass(frozen=True)
class StoreScoring:
    """Ranks rows of a store by a model, both known by their paths.

    Attributes
    ----------
    model, store : the folders, each with a number that changes when its content does.
    split : the split of the store that is ranked, ``all`` for all rows.
    plain : see `evaluate`.
    """

    model: tuple[Path, int]
    store: tuple[Path, int]
    split: str
    plain: bool

    @classmethod
    def of(cls, model: Path, store: Path, split: str, *, plain: bool) -> StoreScoring:
        """Return the task for the folders with their present content."""
        changed = (model / CONFIG).stat().st_mtime_ns
        return cls((model.absolute(), changed), (store.absolute(), state_of(store)), split, plain)

    def __call__(self, piece: tuple[list[range], Truths]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rank of the true label and the best class of each row of some blocks."""
        model, rows = _open(self)
        blocks, truths = piece
        found, start = [], 0
        for block in blocks:
            part = slice(start, start + len(block))
            some = truths[part] if isinstance(truths, np.ndarray) else truths.part(part)
            found.append(model.judge(rows.read(block), some))
            start = part.stop
        ranks, guesses = zip(*found, strict=True)
        return np.concatenate(ranks), np.concatenate(guesses)


def rank_store(
    scoring: StoreScoring, truths: Truths, size: int, executor: Executor, advance: Advance
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rank of the true label and the best class of all rows, in their order.

    Parameters
    ----------
    truths : of all rows.
    size : rows of a block.
    """
    n_rows = len(truths)

    def cut() -> Iterator[tuple[list[range], Truths]]:
        for start in range(0, n_rows, BLOCKS * size):
            stop = min(start + BLOCKS * size, n_rows)
            blocks = [range(i, min(i + size, stop)) for i in range(start, stop, size)]
            part = slice(start, stop)
            yield blocks, truths[part] if isinstance(truths, np.ndarray) else truths.part(part)

    executor.require(scoring.model[0], scoring.store[0] / STORE)
    judged = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    for found in executor.map(scoring, cut()):
        advance(len(found[0]))
        judged.append(found)
    ranks, guesses = zip(*judged, strict=True)
    return np.concatenate(ranks), np.concatenate(guesses)


@lru_cache(maxsize=2)
def _open(scoring: StoreScoring) -> tuple[Model, StoreRows]:
    store = Store.open(scoring.store[0])
    model = load_model(scoring.model[0]).model
    if scoring.plain and isinstance(model, CodedModel):
        model = replace(model, rounded=False)
    rows = store.rows(None if scoring.split == "all" else scoring.split)
    return match_rows(model, store.code, str(store.path)), rows
