"""The context of a training run: threads, progress, checkpoint and workers in one object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from myriad.progress import SILENT, Progress

if TYPE_CHECKING:
    from myriad.parallel import ThreadPool
    from myriad.training.checkpoints import Checkpoint
    from myriad.training.distributed.workers import TrainingWorkers
    from myriad.training.engine.gram import RowProducts


@dataclass(frozen=True, kw_only=True)
class Context:
    """Where and how a method is trained; the result does not depend on it.

    The seed is the method's own, since the result does depend on that.

    Attributes
    ----------
    threads : number of threads; None for one per core.
    progress : receives titles, counts and notes.
    checkpoint : file from which an interrupted run resumes; None for none.
    workers : workers that train class shards or shards of rows; None to train in this process.
        Only methods that have `Method.supports_workers` use them.
    products : Gram matrices that several runs on rows of the same source share; None to
        compute them for each.
    """

    threads: int | None = None
    progress: Progress = SILENT
    checkpoint: Checkpoint | None = None
    workers: TrainingWorkers | None = None
    products: RowProducts | None = None

    @contextmanager
    def open(self) -> Iterator[RunningContext]:
        """Yield the context of a running training, which has threads; BLAS has one thread."""
        from myriad.parallel import open_threads

        with open_threads(self.threads) as pool:
            yield RunningContext(
                threads=self.threads,
                progress=self.progress,
                checkpoint=self.checkpoint,
                workers=self.workers,
                products=self.products,
                pool=pool,
            )


@dataclass(frozen=True, kw_only=True)
class RunningContext(Context):
    """The context of a running training.

    Attributes
    ----------
    pool : the threads.
    """

    pool: ThreadPool


DEFAULT_CONTEXT = Context()
