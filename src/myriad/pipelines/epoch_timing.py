"""Passes of the very trainer of a job over a few drawn rows, timed: what its passes will take."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myriad.parallel import open_threads
from myriad.pipelines.machine import is_rate, recall, remember
from myriad.progress import SILENT, Progress
from myriad.store import ArrayRows
from myriad.training import SGD
from myriad.training.engine.chunks import ChunkLayout
from myriad.training.engine.linear_trainer import BLOCK, SMALL_BLOCK
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import make_trainer
from myriad.training.sgd.joint import DRAWN_OBJECTIVES, count_sampled_rows
from myriad.training.sgd.one_vs_rest import SAMPLED_BELOW

MOST_DIM, MOST_NUMBERS = 8192, 1 << 24
"""Features of a row, and numbers of all weights or of all rows, that are rehearsed with."""
PRODUCTS = 8e9
"""Multiply-adds of a pass that is long enough to be timed."""
FEWEST_CHUNKS, MOST_CHUNKS = 2, 16
SECONDS, TIMED = 0.9, 3
"""How long passes are timed, and how many after the first of a training."""
STEP = 0.3


@dataclass(frozen=True)
class Passes:
    """Passes of SGD over rows.

    Attributes
    ----------
    objective : what is trained.
    classes, dim : the shape of the weights.
    beta : negatives a positive of ``ovr``, else None.
    """

    objective: str
    classes: int
    dim: int
    beta: float | None = None

    @property
    def kind(self) -> str:
        """What passes of the same pace have in common, sizes apart."""
        if self.beta is None:
            return self.objective
        return "dense" if 1 + self.beta >= SAMPLED_BELOW * self.classes else "sampled"

    @property
    def few(self) -> bool:
        """Whether a row is multiplied with few classes, one at a time."""
        return self.objective in DRAWN_OBJECTIVES or self.kind == "sampled"

    @property
    def wanted(self) -> ChunkLayout:
        """What is made of blocks of rows on the way."""
        if self.beta is not None or self.objective == "softmax":
            return ChunkLayout(BLOCK, grams=not self.few)
        return ChunkLayout(SMALL_BLOCK, grams=not self.few, rows=count_sampled_rows(4 * self.dim))

    @property
    def work(self) -> float:
        """Multiply-adds of a row and the classes that look at it."""
        drawn = 2.0 if self.objective in DRAWN_OBJECTIVES else float(self.classes)
        if self.beta is not None and self.kind == "sampled":
            drawn = 1 + self.beta
        return drawn * self.dim

    def shrink(self) -> Passes:
        """Return passes of the same kind that are small enough to be rehearsed."""
        dim = min(self.dim, MOST_DIM)
        classes = min(self.classes, max(2, MOST_NUMBERS // dim))
        beta = self.beta
        if beta is not None and classes < self.classes:  # the share of classes stays the same
            beta = max(0.5, (1 + beta) * classes / self.classes - 1)
        return replace(self, classes=classes, dim=dim, beta=beta)

    def count_rows(self) -> int:
        """Return how many rows make a pass that can be timed: several chunks."""
        chunk = self.wanted.count_rows(self.dim)
        rows = min(MOST_CHUNKS * chunk, max(FEWEST_CHUNKS * chunk, int(PRODUCTS / self.work)))
        return max(FEWEST_CHUNKS, min(rows, MOST_NUMBERS // self.dim))


def measure_speed(
    passes: Passes, threads: int, *, again: bool = False, progress: Progress = SILENT
) -> float:
    """Return multiply-adds a second of all threads, as measured last unless `again`."""
    small = passes.shrink()
    name = f"{small} on {threads} threads"
    kept: Any = None if again else recall(name)
    if is_rate(kept):
        return float(kept)
    with progress.step(f"Rehearsing {small.objective}"):
        pace = time_epochs(small, threads)
    remember({name: pace}, more=True, progress=progress)
    return pace


def time_epochs(passes: Passes, threads: int) -> float:
    """Return multiply-adds a second of passes by so many threads.

    Training begins anew after a few passes: so few rows are soon learned by heart, and then there
    are no more steps to make. Threads that wait for each other suffer far more from other work in
    a second than in an hour, so the pace is that of the quicker passes.
    """
    rows = draw_rows(passes)
    method = SGD(objective=passes.objective, eta=STEP, beta=passes.beta)
    taken: list[float] = []
    with open_threads(threads) as pool:
        while sum(taken) < SECONDS:
            trainer = make_trainer(method, [Setting(STEP, passes.beta)], rows, passes.classes, 1.0)
            seen = []
            for _ in range(1 + TIMED):
                began = time.perf_counter()
                trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
                seen.append(time.perf_counter() - began)
            taken += seen[1:]
    return rows.n_rows * passes.work / float(np.quantile(taken, 0.25))


def draw_rows(passes: Passes) -> ArrayRows:
    """Return rows of unit length around the means of their classes."""
    random = np.random.default_rng(0)
    n_rows = passes.count_rows()
    labels = random.integers(passes.classes, size=n_rows)
    X = random.standard_normal((passes.classes, passes.dim), dtype=np.float32)[labels]
    X += 2 * random.standard_normal(X.shape, dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return ArrayRows(X, labels, [str(c) for c in range(passes.classes)])
