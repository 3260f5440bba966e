"""The workers of a training, and the folder through which they share rows and weights."""

from __future__ import annotations

from dataclasses import dataclass

from myriad.parallel import Workers
from myriad.store import LocalRows, Rows, SharedRows, share_rows

WEIGHTS_BYTES = 2 << 30
"""Default maximum of the bytes of weights that a worker has in memory at a time."""


@dataclass(frozen=True)
class TrainingWorkers(Workers):
    """Workers that train shards, and a folder that all of them see.

    Attributes
    ----------
    executor : the workers.
    folder : for weights in training and for descriptions of the rows.
    memory : maximum of the bytes of weights that a worker has in memory at a time.
    threads : threads of each worker; None for all cores.
    """

    memory: int = WEIGHTS_BYTES
    threads: int | None = 1

    def share(self, rows: Rows) -> SharedRows | LocalRows:
        """Return rows as tasks hold them: by the names of files, or themselves in this process."""
        if not self.executor.remote:
            return LocalRows(rows)
        shared = share_rows(rows, self.folder)
        self.executor.require(*shared.files)
        return shared
