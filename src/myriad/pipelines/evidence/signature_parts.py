"""Contributions of each of several signatures to the decisions of a linear model."""

from __future__ import annotations

import numpy as np

from myriad.models import LinearModel, Model
from myriad.signatures import CombinedSignature
from myriad.store import Store

MOST_ROWS, FEWEST_ROWS, MOST_VALUES = 1000, 50, 1 << 24
"""Maximum and minimum number of rows, and maximum number of values."""


def share_margins(model: Model, store: Store) -> dict[str, float]:
    """Return the share of each signature in the margins of training rows, in percent.

    The margin of a row is the score of its class minus the best score of another one. Scores are
    sums over features, so a margin is a sum over the blocks of columns that belong to one
    signature each; rows are centred, so that what all rows have in common does not count. Empty
    if there is one signature only, or if the model is not linear in its rows.
    """
    recipe = store.recipe
    if not isinstance(recipe, CombinedSignature) or not isinstance(model, LinearModel):
        return {}
    if model.dim != recipe.dim:  # codes that select or mix features
        return {}
    rows = store.rows(store.trained_splits)
    known = np.flatnonzero(rows.labels >= 0)[: max(FEWEST_ROWS, MOST_VALUES // recipe.dim)]
    if not len(known) or model.n_classes < 2:
        return {}
    some = rows.select(known[:MOST_ROWS])
    (block,) = some.blocks(some.n_rows)
    X, labels = block.X, np.asarray(some.labels)
    scores = np.asarray(model.scores(X))
    scores[np.arange(len(X)), labels] = -np.inf
    others = scores.argmax(axis=1)
    centred = X - X.mean(axis=0)
    towards = model.weights[labels] - model.weights[others]
    parts = [np.einsum("nd,nd->", centred[:, b], towards[:, b]) for b in recipe.blocks]
    total = float(np.sum(parts))
    if total <= 0:
        return {}
    shares = [round(100 * float(part) / total, 1) for part in parts]
    return dict(zip(number_names(recipe.names), shares, strict=True))


def number_names(names: tuple[str, ...]) -> list[str]:
    """Return the names, those that occur again with a number."""
    found: list[str] = []
    for name in names:
        before = sum(other == name for other in names[: len(found)])
        found.append(name if not before else f"{name} ({before + 1})")
    return found
