"""Rows in memory, numbered by the classes of a model that is to be extended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models import ModelFolder
from myriad.pipelines.predicting.scoring import match_store
from myriad.progress import Progress
from myriad.randomness import generator
from myriad.store import Store

MOST_BYTES = 1 << 30
"""Maximum bytes of rows from a store; larger ones are sampled by class."""
BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows prepared for the weights of a model (decoded).

    Attributes
    ----------
    X : float32 array of shape (n_rows, n_features).
    labels : int32 array of shape (n_rows,), class numbers.
    groups : int32 array of shape (n_rows,), -1 for rows of no group.
    paths : where each row comes from; empty strings where that is not known.
    """

    X: Float
    labels: Ints
    groups: Ints
    paths: list[str]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def join(cls, parts: Sequence[KnownRows]) -> KnownRows:
        """Return several sets of rows as one; their groups stay apart."""
        groups, first = [], 0
        for part in parts:
            groups.append(np.where(part.groups >= 0, part.groups + first, -1))
            first += int(part.groups.max(initial=-1)) + 1
        return cls(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate(groups).astype(np.int32),
            [path for part in parts for path in part.paths],
        )


def read_known(
    folder: ModelFolder, store: Store, numbers: Mapping[str, int], *, seed: int, progress: Progress
) -> KnownRows:
    """Return the training rows of a store, prepared for the weights of a model.

    Raises `InputError` unless they are rows of the model's kind, each with one label.

    Parameters
    ----------
    numbers : the number of each class; rows of other classes are left out.
    """
    model = match_store(folder, store).model
    if store.sets is not None:
        raise InputError(f"The rows of {store.path} have several labels each; one is needed.")
    if not store.trained_splits:
        raise InputError(f"{store.path} has no rows of the split train.")
    rows = store.rows(store.trained_splits)
    number_of = np.array([numbers.get(name, -1) for name in store.class_names] + [-1], np.int32)
    labels = number_of[rows.labels]
    chosen = np.flatnonzero(labels >= 0)
    if len(chosen) == 0:
        raise InputError(f"{store.path} has no labelled rows of the requested classes.")
    most = max(1, MOST_BYTES // (4 * max(rows.dim, folder.model.dim)))
    chosen = sample_rows(labels, chosen, most, seed=seed)
    rows, labels = rows.select(chosen), labels[chosen]
    size = max(1, min(1024, BLOCK_BYTES // (4 * rows.dim)))
    with progress.step("Reading rows", rows.n_rows, "rows") as advance:
        parts = []
        for block in rows.blocks(size):
            parts.append(model.prepare(block.X.astype(np.float32, copy=False)))
            advance(len(block.X))
    groups = np.full(len(labels), -1, np.int32) if rows.groups is None else rows.groups
    return KnownRows(np.concatenate(parts), labels, groups, rows.paths)


def sample_rows(
    labels: Ints, chosen: NDArray[np.int64], most: int, *, seed: int
) -> NDArray[np.int64]:
    """Return a stratified sample of at most `most` of the rows with the indices `chosen`."""
    if len(chosen) <= most:
        return chosen
    order = generator(seed, "rows of an old model").permutation(chosen)
    order = order[np.argsort(labels[order], kind="stable")]
    return np.sort(order[np.arange(most) * len(order) // most])
