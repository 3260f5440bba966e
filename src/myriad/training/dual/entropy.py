"""The top-k entropy loss, for k = 1 multinomial logistic regression, by Prox-SDCA in blocks [LHS].

Minimises ``lam/2 |W|^2 + 1/n sum_i loss_i`` through its dual, as the top-k SVM is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from myriad.objectives.topk import ENTROPY
from myriad.parallel import ThreadPool
from myriad.store import Rows
from myriad.training.dual.entropy_kernels import gather_fractions, scatter_fractions, step_entropy
from myriad.training.dual.gap_kernels import sum_conjugates
from myriad.training.dual.sparse_duals_kernels import SparseBlock
from myriad.training.dual.topk import TopKAscent
from myriad.training.engine.chunks import Chunk

DROPPED = 0.125
"""Small variables are dropped whose sum, as a fraction of a row's variables, is at most this
fraction of the tolerance: they increase the gap by at most that fraction of the row's loss."""


class EntropyAscent(TopKAscent):
    """Trainer of the top-k entropy loss in the dual.

    Parameters
    ----------
    rows, n_classes, k, lam, bias, kernel, dtype, block : see `TopKAscent`.
    tol : the relative gap at which training will stop.
    """

    uses_support = False

    def __init__(self, rows: Rows, n_classes: int, *, k: int, tol: float, **options: Any) -> None:
        super().__init__(rows, n_classes, k=k, variant=ENTROPY, **options)
        self._drop = min(DROPPED * tol, 0.5 / k)  # so that at least k variables remain
        self._Z = np.empty((self.block, n_classes))
        self._A = np.empty((self.block, n_classes), self.dtype)

    def _step_blocks(self, chunk: Chunk, pool: ThreadPool) -> None:
        r = float(self._setting["r"][0])
        for number, block in enumerate(chunk.blocks(self.block)):
            X, index, labels = chunk.X[block], chunk.index[block], chunk.labels[block]
            S = self.space.score(chunk, number, block, pool)
            counts = self._counts[: len(X)]
            variables = SparseBlock(self._classes, self._values, counts)
            self.duals.load(index, variables)
            self._add_gap_sums(S, labels, variables, chunk.start + block.start)
            Z, A = self._Z[: len(X)], self._A[: len(X)]
            scatter_fractions(variables, r, Z)
            gram = self.space.gram(chunk, number, block, index)
            step_entropy(gram, labels, S, Z, A, self._setting, self._drop)
            gather_fractions(Z, r, variables)
            self.duals.store(index, variables)
            self.space.add_matrix(X, index, A, pool)

    def _find_factor(self, lam: float) -> float:
        """Return the factor of the variables, of three, with the largest dual for another `lam`."""
        most = self.lam / lam
        setting, table = self._setting.copy(), self.duals.table()
        setting["r"] *= most

        def measure(factor: float) -> float:
            scaled = table._replace(values=factor * table.values)
            return float(-sum_conjugates(scaled, setting) - 0.5 * factor**2 * self._square)

        return max((min(most, most**power) for power in (1.0, 0.5, 0.0)), key=measure)
