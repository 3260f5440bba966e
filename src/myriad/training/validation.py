"""Held-out accuracy of weights in training, scored against all classes."""

from __future__ import annotations

import numpy as np

from myriad.measures import Measures, Truths, measure, rank_truths
from myriad.parallel import Team
from myriad.store import Rows
from myriad.training.trainer import Trainer

BLOCK_BYTES = 16 << 20


def validate(trainer: Trainer, rows: Rows, *, team: Team) -> list[Measures]:
    """Return the measures of every setting in training on held-out rows."""
    n_settings, n_classes = len(trainer.settings), trainer.n_classes
    scorers = [trainer.scorer(s) for s in range(n_settings)]
    ranks = np.empty((n_settings, rows.n_rows), np.int32)

    @np.errstate(over="ignore", invalid="ignore")
    def rank(some: range) -> None:
        X = rows.read(some)
        truths: Truths = rows.labels[some.start : some.stop]
        if rows.sets is not None:
            truths = rows.sets.part(slice(some.start, some.stop))
        for s in range(n_settings):
            V, scales, biases = scorers[s]
            scores = X @ V.T
            scores *= scales.astype(np.float32)
            scores += biases.astype(np.float32)
            ranks[s, some.start : some.stop] = rank_truths(scores, truths)

    size = max(1, min(1024, BLOCK_BYTES // (4 * max(rows.dim, n_classes))))
    starts = range(0, rows.n_rows, size)
    team.share(rank, [range(start, min(start + size, rows.n_rows)) for start in starts])
    known = rows.labels if rows.sets is None else rows.sets
    return [measure(r, known, n_classes=n_classes) for r in ranks]
