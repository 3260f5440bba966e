"""Held-out accuracy of weights in training, scored against all classes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from myriad.measures import Measures, measure, ranks_of_truth
from myriad.parallel import map_ordered
from myriad.store import Block, Rows
from myriad.training.trainer import Trainer

BLOCK_BYTES = 16 << 20
AHEAD = 4
"""Blocks decoded before they are scored."""


def validate(trainer: Trainer, rows: Rows, *, executor: ThreadPoolExecutor) -> list[Measures]:
    """Return the measures of every setting in training on held-out rows."""
    n_settings, n_classes = len(trainer.settings), trainer.n_classes
    scales = trainer.scales().astype(np.float32)
    biases = trainer.biases().astype(np.float32)

    @np.errstate(over="ignore", invalid="ignore")
    def rank(block: Block) -> np.ndarray:
        labels = rows.labels[block.index]
        ranks = np.empty((n_settings, len(labels)), np.int32)
        for s in range(n_settings):
            part = trainer.part(s)
            scores = block.X @ trainer.V[part].T
            scores *= scales[part]
            scores += biases[part]
            ranks[s] = ranks_of_truth(scores, labels)
        return np.vstack([labels[None, :], ranks])

    size = max(1, min(1024, BLOCK_BYTES // (4 * max(rows.dim, n_classes))))
    found = list(map_ordered(rank, rows.blocks(size), executor, ahead=AHEAD))
    empty = np.zeros((n_settings + 1, 0), np.int32)
    labels, *ranks = np.concatenate([empty, *found], axis=1)
    return [measure(r, labels, n_classes=n_classes) for r in ranks]
