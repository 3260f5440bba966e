"""The training task of an embedding: a method and its rows, from which trainers are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from myriad.errors import InputError
from myriad.progress import Progress
from myriad.store import Rows
from myriad.training.distributed.rounds import EmbeddingRounds
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.embedding.method import member_seed
from myriad.training.embedding.second_stage import ClassConfusion
from myriad.training.embedding.trainer import Embedding
from myriad.training.settings import mean_square

if TYPE_CHECKING:
    from myriad.training.embedding.method import WsabieMethod

Pair = tuple[float, float]
"""Learning rate and margin."""


@dataclass(frozen=True)
class Task:
    """A method, the rows it is trained on, and the shape of its embeddings.

    Attributes
    ----------
    square : mean squared norm of the rows.
    workers : workers that train shards of rows; None to train in this process.
    confusion : frequent confusions, whose steps are discounted; None for no discount.
    """

    method: WsabieMethod
    train: Rows
    n_classes: int
    dim: int
    square: float
    workers: TrainingWorkers | None = None
    confusion: ClassConfusion | None = None

    @classmethod
    def of(
        cls,
        method: WsabieMethod,
        rows: Rows,
        n_classes: int,
        progress: Progress,
        workers: TrainingWorkers | None = None,
    ) -> Self:
        """Return the task of a method on rows; report the number of rows that are skipped.

        Raises `InputError` if no row can be trained on.
        """
        dim = method.dim_for(rows.dim)
        sizes = rows.all_labels.sizes
        skipped = int(np.count_nonzero((sizes == 0) | (sizes == n_classes)))
        if skipped == rows.n_rows:
            raise InputError("No row can be trained on: each has either no label or all labels.")
        if skipped:
            progress.note(f"Rows with no label or with all labels, which are skipped: {skipped}.")
        return cls(method, rows, n_classes, dim, mean_square(rows), workers)

    def make(self, setting: Pair, member: int = 0) -> Embedding:
        """Return the trainer of a member of the ensemble, before its first epoch."""
        shape = self.n_classes, self.train.dim, self.dim
        options: dict[str, Any] = {
            "square": self.square,
            "eta": setting[0],
            "margin": setting[1],
            "options": self.method.options,
            "seed": self.seed(member),
            "confusion": self.confusion,
        }
        if self.workers is None or not self.workers.executor.remote:
            trainer = Embedding(*shape, **options)
        else:
            trainer = EmbeddingRounds(
                *shape, workers=self.workers, rounds=self.method.rounds, **options
            )
        trainer.forgets = self.method.options.forget
        return trainer

    def seed(self, member: int = 0) -> int:
        """Return the seed of a member of the ensemble, or of a run."""
        return member_seed(self.method.seed, member)
