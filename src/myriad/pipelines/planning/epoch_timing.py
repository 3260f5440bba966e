"""Measure the speed of training: timed epochs of a job's trainer on random rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myriad.parallel import open_threads
from myriad.pipelines.planning.machine import is_rate, read_cached, write_cached
from myriad.progress import SILENT, Progress
from myriad.store import ArrayRows
from myriad.training import SGD
from myriad.training.engine.chunks import EpochCost
from myriad.training.optimiser import OptimiserOptions
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import make_trainer

MOST_DIM, MOST_NUMBERS, MOST_READ = 8192, 1 << 24, 1 << 26
"""Most features of a row, most numbers of all weights or of all rows, and of all weights where each
row reads those of its own draws, in a timed epoch."""
PRODUCTS = 8e9
"""Multiply-adds of an epoch that is long enough to be timed."""
FEWEST_CHUNKS, MOST_CHUNKS = 2, 16
SECONDS, TIMED = 0.9, 3
"""How long epochs are timed, and how many after the first of a training."""
STEP = 0.3


@dataclass(frozen=True)
class Epochs:
    """Epochs of SGD.

    Attributes
    ----------
    objective : what is trained.
    classes, dim : the shape of the weights.
    beta : negatives for each positive of ``ovr``, else None.
    negatives : wrong classes drawn for each row of ``softmax``; None for all.
    average : average the weights.
    """

    objective: str
    classes: int
    dim: int
    beta: float | None = None
    negatives: int | None = None
    average: bool = False

    @property
    def cost(self) -> EpochCost:
        """The cost of an epoch, as stated by the method."""
        return self.method().cost(self.classes, self.dim)

    def method(self, **options: Any) -> SGD:
        """Return the method, with further options."""
        return SGD(
            objective=self.objective,
            beta=self.beta,
            negatives=self.negatives,
            optimiser=OptimiserOptions(average=self.average),
            **options,
        )

    @property
    def kind(self) -> str:
        """Epochs of the same kind have the same speed."""
        return self.cost.kind

    @property
    def work(self) -> float:
        """Multiply-adds of a row with the classes that it is compared with."""
        return self.cost.multiply_adds

    def shrink(self) -> Epochs:
        """Return epochs of the same kind that are small enough to be timed.

        Where each row reads the weights of its own draws, these are too large for the caches, as
        those of the job are.
        """
        by_row = not self.cost.layout.grams and self.beta is None
        dim, most = min(self.dim, MOST_DIM), MOST_READ if by_row else MOST_NUMBERS
        classes = min(self.classes, max(2, most // dim))
        beta = self.beta
        if beta is not None and classes < self.classes:  # the share of classes stays the same
            beta = max(0.5, (1 + beta) * classes / self.classes - 1)
        return replace(self, classes=classes, dim=dim, beta=beta)

    def count_rows(self) -> int:
        """Return the number of rows of an epoch that is timed: several chunks."""
        chunk = self.cost.layout.count_rows(self.dim)
        rows = min(MOST_CHUNKS * chunk, max(FEWEST_CHUNKS * chunk, int(PRODUCTS / self.work)))
        return max(FEWEST_CHUNKS, min(rows, MOST_NUMBERS // self.dim))


def measure_speed(
    epochs: Epochs, threads: int, *, again: bool = False, progress: Progress = SILENT
) -> float:
    """Return the multiply-adds per second of all threads, as measured last unless `again`."""
    small = epochs.shrink()
    name = f"{small} on {threads} threads"
    kept: Any = None if again else read_cached(name)
    if is_rate(kept):
        return float(kept)
    with progress.step(f"Timing epochs of {small.objective}"):
        pace = time_epochs(small, threads)
    write_cached({name: pace}, more=True, progress=progress)
    return pace


def time_epochs(epochs: Epochs, threads: int, *, clock: Callable[[], float] | None = None) -> float:
    """Return the multiply-adds per second of epochs on a number of threads.

    Training restarts after a few epochs, because so few rows are soon fitted and then cause no more
    updates. Other load on the machine slows down a few seconds far more than hours of training, so
    the speed is that of the faster epochs.
    """
    rows, clock = draw_rows(epochs), clock or time.perf_counter
    method = epochs.method(eta=STEP)
    taken: list[float] = []
    with open_threads(threads) as pool:
        while sum(taken) < SECONDS:
            trainer = make_trainer(method, [Setting(STEP, epochs.beta)], rows, epochs.classes, 1.0)
            seen = []
            for _ in range(1 + TIMED):
                began = clock()
                trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
                seen.append(clock() - began)
            taken += seen[1:]
    return rows.n_rows * epochs.work / float(np.quantile(taken, 0.25))


def draw_rows(epochs: Epochs) -> ArrayRows:
    """Return rows of unit length around the means of their classes."""
    random = np.random.default_rng(0)
    n_rows = epochs.count_rows()
    labels = random.integers(epochs.classes, size=n_rows)
    means = random.standard_normal((min(epochs.classes, n_rows), epochs.dim), dtype=np.float32)
    X = means[labels % len(means)]
    X += 2 * random.standard_normal(X.shape, dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return ArrayRows(X, labels, [str(c) for c in range(epochs.classes)])
