"""Decisions compared with the true classes of rows, a block of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.measures import LabelSets, Truths, rank_truths
from myriad.models.decisions.decider import Decider
from myriad.models.decisions.scored_blocks import ScoredBlock

RowResults = dict[str, NDArray[Any]]
"""Arrays with an entry for each row: ``ranks`` (of the true class), ``guesses`` (the best class);
if requested ``best`` (the best classes, a column for each rank); with probabilities also
``confidence`` (of the best class), ``true`` (of the true class) and ``squares`` (the sum of all,
squared); with sets ``set_sizes`` and ``covered``; with rejection ``answered``; with a hierarchy
``levels`` and ``level_right`` (of the answer), ``level_N`` (whether the best group of level N is
right).

Where rows have several labels, with probabilities of labels: ``confidence`` (of the best label),
``expected`` (the sum of the probabilities), ``log_loss`` and ``brier`` (sums over labels), and with
an entry for each block and label ``right``, ``given`` and ``present`` (counts of rows)."""


def evaluate_decisions(decider: Decider, X: Float, truths: Truths, n_best: int = 0) -> RowResults:
    """Return how the decisions for rows compare with their true classes.

    Parameters
    ----------
    truths : the class of each row, -1 for one that the model does not know; or the set of classes
        of each row, for which only ranks and guesses are returned.
    n_best : number of columns of ``best``; 0 for none.
    """
    parts = []
    for chunk, block in decider.blocks(X, max(1, n_best)):
        several = isinstance(truths, LabelSets)
        some = truths.part(chunk) if isinstance(truths, LabelSets) else truths[chunk]
        found: RowResults = {
            "ranks": rank_truths(block.logits, some),
            "guesses": block.rank(1)[0][:, 0],
        }
        if n_best > 0:
            found["best"] = block.rank(n_best)[0]
        if decider.calibration is not None and not several:
            assert not isinstance(some, LabelSets)
            found |= evaluate_probabilities(decider, block, X[chunk], some)
        if decider.label_calibration is not None:
            found |= evaluate_labels(decider, block, some)
        parts.append(found)
    return join_results(parts)


def evaluate_probabilities(
    decider: Decider, block: ScoredBlock, X: Float, truths: Ints
) -> RowResults:
    """Return the results that need probabilities, for the rows `X` of a block."""
    probabilities = block.probabilities()
    rows = np.arange(len(truths))
    true = np.where(truths >= 0, probabilities[rows, truths], 0.0)
    found: RowResults = {
        "confidence": probabilities.max(axis=1),
        "true": true,
        "squares": np.einsum("ij,ij->i", probabilities, probabilities),
    }
    decisions = decider.decide_block(block, X, 1)
    if decisions.sets is not None:
        found["set_sizes"] = np.array([len(one) for one in decisions.sets], np.int64)
        pairs = zip(decisions.sets, truths, strict=True)
        found["covered"] = np.array([bool((one == truth).any()) for one, truth in pairs], bool)
    if decisions.unknown is not None:
        found["answered"] = ~decisions.unknown
    if decider.hierarchy is not None:
        assert decisions.levels is not None
        assert decisions.groups is not None
        found["levels"] = decisions.levels
        found["level_right"] = np.zeros(len(truths), bool)
        for level in range(len(decider.hierarchy.levels) + 1):
            groups = decider.hierarchy.find_group(truths, level)
            best = decider.hierarchy.add_up(probabilities, level).argmax(axis=1)
            found[f"level_{level}"] = best == groups
            here = decisions.levels == level
            found["level_right"][here] = (decisions.groups == groups)[here]
    return found


def evaluate_labels(decider: Decider, block: ScoredBlock, truths: Truths) -> RowResults:
    """Return how probabilities and given labels compare with the labels that rows have."""
    n_classes = block.logits.shape[1]
    sets = truths if isinstance(truths, LabelSets) else LabelSets.from_labels(truths)
    positive, probabilities = sets.to_matrix(n_classes), block.probabilities()
    assert decider.thresholds is not None
    given = block.logits >= decider.thresholds
    logits = block.logits.astype(np.float64)
    losses = np.logaddexp(0.0, np.where(positive, -logits, logits))
    return {
        "confidence": probabilities.max(axis=1),
        "expected": probabilities.sum(axis=1),
        "log_loss": losses.sum(axis=1),
        "brier": np.square(probabilities - positive).sum(axis=1),
        "right": (given & positive).sum(axis=0)[None],
        "given": given.sum(axis=0)[None],
        "present": positive.sum(axis=0)[None],
    }


def join_results(parts: list[RowResults]) -> RowResults:
    """Return the results of several blocks as one."""
    if not parts:
        return {"ranks": np.zeros(0, np.int32), "guesses": np.zeros(0, np.int32)}
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
