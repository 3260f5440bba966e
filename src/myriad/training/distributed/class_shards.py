"""One-vs-rest by SGD in class shards: see `shard_runner`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.files import read_arrays
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import Advance
from myriad.store import LocalRows, Rows, SharedRows, open_rows
from myriad.training.distributed.shard_runner import ShardRunner, cut_columns, save_shard
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.engine.scores import rank_range
from myriad.training.engine.shards import class_shards, scored_shards
from myriad.training.settings import Setting
from myriad.training.sgd.one_vs_rest import SHARD, OneVsRest
from myriad.training.trainer import Weights, overflow
from myriad.training.validation import count_block_rows, cut_ranges

MAPPED_BYTES = 1 << 20
"""Arrays from this size on are copied from the memory-mapped file; reading them first would copy
them twice."""
RANGES = 8
"""Ranges of held-out rows that a task ranks: it maps all weights for them."""
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Problem:
    """What is trained: the settings, the classes and the options of `OneVsRest`."""

    settings: tuple[Setting, ...]
    counts: NDArray[np.int64]
    dim: int
    options: dict[str, Any]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.counts)

    def cut(self, n_ranges: int) -> list[range]:
        """Cut the columns of all settings into so many ranges, or as many as there are shards."""
        bounds = [
            {shard.start for shard in shards}
            for shards in (class_shards(self.n_classes, SHARD), scored_shards(self.n_classes))
        ]
        starts = [
            number * self.n_classes + start
            for number in range(len(self.settings))
            for start in sorted(bounds[0] & bounds[1])
        ]
        return cut_columns(starts, len(self.settings) * self.n_classes, n_ranges)


class Columns(OneVsRest):
    """The columns of a class shard; the other columns of the problem take no memory."""

    def __init__(self, problem: Problem, own: range) -> None:
        super().__init__(problem.settings, problem.counts, 1, **problem.options)
        self.own, shape = own, (len(own), problem.dim)
        some = slice(own.start, own.stop)
        dense, sampled = super()._shards()
        self._own_shards = self._own(dense, own), self._own(sampled, own)
        self.columns, self.states = self.columns[some].copy(), self.states[some].copy()
        self.columns["inverse_dim"] = 1.0 / problem.dim
        self.V = np.zeros(shape, self.V.dtype)
        self.Q = np.zeros(shape if self.optimiser.average else (0, 0), self.V.dtype)

    @staticmethod
    def _own(shards: list[slice], own: range) -> list[slice]:
        return [
            slice(shard.start - own.start, shard.stop - own.start)
            for shard in shards
            if shard.start in own
        ]

    def _shards(self) -> tuple[list[slice], list[slice]]:
        return self._own_shards

    def _check_finite(self, pool: ThreadPool | None = None) -> None:
        """Leave it to `ClassShards`, which knows all classes."""

    def stored_rows(self, number: int) -> slice:
        """Return the rows of V that belong to a setting; there may be none."""
        first = number * self.n_classes - self.own.start
        ends = np.clip([first, first + self.n_classes], 0, len(self.columns))
        return slice(int(ends[0]), int(ends[1]))

    def classes(self, number: int) -> slice:
        """Return the classes of a setting that are here."""
        rows, first = self.stored_rows(number), self.own.start - number * self.n_classes
        return slice(rows.start + first, rows.stop + first)

    def attach(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays that `state` returned without a copy, for reading only."""
        self.V, self.Q = arrays["V"], arrays.get("Q", self.Q)
        self.states = arrays["states"].view(self.states.dtype).reshape(-1)
        self.epoch = max(1, self.epoch)

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Begin at weights and biases of all classes."""
        own = np.arange(self.own.start, self.own.start + len(self.columns)) % self.n_classes
        self.V[...] = W[own]
        self._set_biases(b[own].astype(np.float64))
        self._take_norms()


@dataclass(frozen=True)
class EpochTask:
    """An epoch of a class shard.

    Attributes
    ----------
    own : its columns.
    source : the file with its state before the epoch; None for zeros.
    target : the file for its state after it.
    """

    problem: Problem
    own: range
    rows: SharedRows | LocalRows
    seed: int
    epoch: int
    source: Path | None
    target: Path
    threads: int | None


def run_task(task: EpochTask) -> list[bool]:
    """Train a class shard and write its state; return which settings have finite weights."""
    columns = Columns(task.problem, task.own)
    if task.source is not None:
        columns.restore(read_arrays(task.source, mapped=MAPPED_BYTES))
    columns.epoch = task.epoch
    with open_threads(task.threads) as pool:
        columns.run_epoch(open_rows(task.rows), seed=task.seed, pool=pool, advance=lambda n: None)
    save_shard(task.target, columns.state())
    return [columns.is_finite(number) for number in range(len(columns.settings))]


@dataclass(frozen=True)
class RankTask:
    """Held-out rows to be ranked by the weights in some files; see `EpochTask`."""

    problem: Problem
    files: tuple[tuple[range, Path], ...]
    rows: SharedRows | LocalRows
    ranges: tuple[range, ...]
    threads: int | None


def rank_task(task: RankTask) -> NDArray[np.int32]:
    """Return the ranks of the true labels of the rows, of shape (n_settings, n_rows)."""
    rows, problem = open_rows(task.rows), task.problem
    held = [attach(problem, own, path) for own, path in task.files]
    scorers = [
        [scorer for columns in held for scorer in columns.scorers(number)]
        for number in range(len(problem.settings))
    ]
    ranks: list[Any] = [None] * len(task.ranges)

    def rank(number: int) -> None:
        ranks[number] = rank_range(scorers, rows, task.ranges[number], problem.n_classes)

    with open_threads(task.threads) as pool:
        pool.share(rank, range(len(ranks)))
    return np.concatenate(ranks, axis=1)


def attach(problem: Problem, own: range, path: Path) -> Columns:
    """Return the columns in a file."""
    columns = Columns(problem, own)  # its zeros are never touched, so they take no memory
    columns.attach(read_arrays(path))
    return columns


class ClassShards:
    """One-vs-rest in training by workers; see `SettingsTrainer`.

    Its weights are those of `OneVsRest`, bit for bit.
    """

    def __init__(self, problem: Problem, workers: TrainingWorkers) -> None:
        self.problem, self.workers = problem, workers
        self.settings, self.n_classes, self.epoch = list(problem.settings), problem.n_classes, 0
        self._runner = ShardRunner(workers, "classes")

    @property
    def shards(self) -> list[range]:
        """The columns of each class shard."""
        copies = 2 if self.problem.options["optimiser"].average else 1
        size = 4 * len(self.settings) * self.n_classes * self.problem.dim * copies
        return self.problem.cut(self._runner.count_shards(size))

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, a class shard at a time."""
        shared, runner = self.workers.leave(rows), self._runner
        tasks = [
            EpochTask(
                self.problem,
                own,
                shared,
                seed,
                self.epoch,
                runner.files.get(own),
                runner.name(number),
                self.workers.threads,
            )
            for number, own in enumerate(self.shards)
        ]
        finite = np.ones(len(self.settings), bool)
        for found in runner.map(run_task, tasks, n_rows=rows.n_rows, advance=advance):
            finite &= found
        runner.take({task.own: task.target for task in tasks})
        self.epoch += 1
        if not finite.any():
            raise overflow(self.settings, self.epoch)

    def epoch_statistics(self) -> dict[str, float]:
        """Return further entries for the history of the last epoch: none."""
        return {}

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (n_settings, n_rows)."""
        shared = self.workers.leave(rows)
        ranges = cut_ranges(rows, count_block_rows(rows.dim, self.n_classes))
        size = min(RANGES, -(-len(ranges) // self.workers.executor.n_workers)) or 1
        tasks = (
            RankTask(
                self.problem,
                tuple(self._runner.files.items()),
                shared,
                tuple(ranges[start : start + size]),
                self.workers.threads,
            )
            for start in range(0, len(ranges), size)
        )
        found = list(self.workers.executor.map(rank_task, tasks))
        return np.concatenate([np.empty((len(self.settings), 0), np.int32), *found], axis=1)

    def weights(self, number: int = 0) -> Weights:
        """Return the weights, memory-mapped, and the biases of one setting."""
        W = self._runner.make_mapped((self.n_classes, self.problem.dim), np.float32)
        b = np.zeros(self.n_classes, np.float32)
        for columns in self._held():
            classes = columns.classes(number)
            if classes.start < classes.stop:
                W[classes], b[classes] = columns.weights(number)
        return W, b

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        chosen, n = list(numbers), self.n_classes
        state = self.state()
        rows = np.concatenate([np.arange(s * n, (s + 1) * n) for s in chosen])
        self.settings = [self.settings[s] for s in chosen]
        self.problem = replace(self.problem, settings=tuple(self.settings))
        self._put(state, rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `OneVsRest.state`, memory-mapped."""
        whole: Arrays = {}
        height = len(self.settings) * self.n_classes
        for columns in self._held():
            own = columns.own
            for name, array in columns.state().items():
                if name not in whole:
                    width = array.size // len(own)
                    whole[name] = self._runner.make_mapped((height, width), array.dtype)
                whole[name][own.start : own.stop] = array.reshape(len(own), -1)
        return whole

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays that `state` returned, here or of a `OneVsRest`."""
        self._put(arrays, np.arange(len(self.settings) * self.n_classes))

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Start every setting from the given weights instead of zero."""
        files = {}
        for number, own in enumerate(self.shards):
            columns = Columns(self.problem, own)
            columns.begin_from(W, b)
            files[own] = self._write(number, columns)
        self._runner.take(files)

    def _put(self, arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> None:
        """Write some rows of the arrays of a state into the files of new class shards."""
        files = {}
        for number, own in enumerate(self.shards if arrays else []):
            columns, some = Columns(self.problem, own), rows[own.start : own.stop]
            height = arrays["V"].size // self.problem.dim
            columns.restore({n: a.reshape(height, -1)[some] for n, a in arrays.items()})
            files[own] = self._write(number, columns)
        self._runner.take(files)

    def _held(self) -> Iterator[Columns]:
        for own, path in self._runner.files.items():
            yield attach(self.problem, own, path)

    def _write(self, number: int, columns: Columns) -> Path:
        path = self._runner.name(number)
        save_shard(path, columns.state())
        return path
