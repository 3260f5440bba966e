"""Model selection: functions shared by the searches of all methods.

Candidates are compared by validation accuracy against all classes. A large problem is searched on a
random subsample of its rows first; successive halving drops the worse candidates early; a path over
the regularisation strength ends once accuracy has peaked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from myriad.randomness import generator
from myriad.store import Rows

SEARCH_FLOPS = 5e10
"""Multiply-adds of the first rung; a larger problem is searched on a subsample."""

Candidate = TypeVar("Candidate")


def count_subsample(n_rows: int, n_candidates: int, n_classes: int, dim: int) -> int:
    """Return the number of rows that a search starts on, so that its cost is bounded."""
    bounded = max(SEARCH_FLOPS / (n_candidates * n_classes * dim), 10 * n_classes, 2000)
    return n_rows if bounded >= n_rows / 2 else int(bounded)


def subsample(rows: Rows, n_candidates: int, n_classes: int, *, seed: int) -> Rows:
    """Return the rows that a search starts on; all of them if they are few."""
    size = count_subsample(rows.n_rows, n_candidates, n_classes, rows.dim)
    if size == rows.n_rows:
        return rows
    chosen = generator(seed, "search rows").permutation(rows.n_rows)[:size]
    return rows.select(np.sort(chosen))


def count_survivors(n_candidates: int, keep: float) -> int:
    """Return the number of candidates after a rung: a fraction of them, at least two."""
    return max(2, math.ceil(n_candidates * keep))


def title_rung(n_candidates: int) -> str:
    """Return the title of a rung in the progress."""
    return f"Evaluating {n_candidates} candidate{'' if n_candidates == 1 else 's'}"


def halve(
    candidates: Sequence[Candidate], score: Callable[[Candidate], Any], keep: float
) -> list[Candidate]:
    """Return the candidates for the next rung, best first; the earlier of equals first."""
    ranked = sorted(candidates, key=score, reverse=True)
    return ranked[: count_survivors(len(ranked), keep)]


def smooth(scores: Sequence[float]) -> list[float]:
    """Return the scores along a path, each averaged with its neighbours: half its own, a quarter of
    each of theirs.

    The best of many noisy scores is optimistic; if its neighbours are good as well, it is less
    likely to be chance. The ends count as their own outer neighbours.
    """
    padded = [scores[0], *scores, scores[-1]]
    return [
        0.25 * before + 0.5 * own + 0.25 * after
        for before, own, after in zip(padded, padded[1:], padded[2:], strict=False)
    ]


def has_peaked(scores: Sequence[Any], patience: int) -> bool:
    """Return whether the last `patience` values of a path have not improved the score."""
    return bool(scores) and len(scores) - 1 - scores.index(max(scores)) >= patience
