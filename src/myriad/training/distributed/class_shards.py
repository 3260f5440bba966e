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
    """A one-vs-rest problem: the arguments of `OneVsRest`.

    Attributes
    ----------
    counts : int64 array of shape (n_classes,), training rows of each class.
    """

    settings: tuple[Setting, ...]
    counts: NDArray[np.int64]
    dim: int
    options: dict[str, Any]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.counts)

    def cut(self, n_ranges: int) -> list[range]:
        """Return at most `n_ranges` ranges of the columns of all settings; see `cut_columns`."""
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


class ShardTrainer(OneVsRest):
    """`OneVsRest` with the columns of a class shard only.

    Attributes
    ----------
    own : the range of these columns.
    """

    def __init__(self, problem: Problem, own: range) -> None:
        super().__init__(problem.settings, problem.counts, 1, **problem.options)
        self.own, shape = own, (len(own), problem.dim)
        some = slice(own.start, own.stop)
        dense, sampled = super()._shards()
        self._own_shards = self._select(dense, own), self._select(sampled, own)
        self.columns, self.states = self.columns[some].copy(), self.states[some].copy()
        self.columns["inverse_dim"] = 1.0 / problem.dim
        self.V = np.zeros(shape, self.V.dtype)
        self.Q = np.zeros(shape if self.optimiser.average else (0, 0), self.V.dtype)

    @staticmethod
    def _select(shards: list[slice], own: range) -> list[slice]:
        """Return the shards that lie in a range of columns, relative to its start."""
        return [
            slice(shard.start - own.start, shard.stop - own.start)
            for shard in shards
            if shard.start in own
        ]

    def _shards(self) -> tuple[list[slice], list[slice]]:
        return self._own_shards

    def _check_finite(self, pool: ThreadPool | None = None) -> None:
        """Do nothing: `ClassShards` checks the weights of all classes."""

    def stored_rows(self, number: int) -> slice:
        """Return the rows of V that belong to a setting; there may be none."""
        first = number * self.n_classes - self.own.start
        ends = np.clip([first, first + self.n_classes], 0, len(self.columns))
        return slice(int(ends[0]), int(ends[1]))

    def classes(self, number: int) -> slice:
        """Return the classes of a setting that belong to this shard."""
        rows, first = self.stored_rows(number), self.own.start - number * self.n_classes
        return slice(rows.start + first, rows.stop + first)

    def attach(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Use the arrays that `state` returned without a copy, for reading only."""
        self.V, self.Q = arrays["V"], arrays.get("Q", self.Q)
        self.states = arrays["states"].view(self.states.dtype).reshape(-1)
        self.epoch = max(1, self.epoch)

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Start from the weights and biases of all classes instead of zero."""
        own = np.arange(self.own.start, self.own.start + len(self.columns)) % self.n_classes
        self.V[...] = W[own]
        self._set_biases(b[own].astype(np.float64))
        self._compute_norms()


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
    trainer = ShardTrainer(task.problem, task.own)
    if task.source is not None:
        trainer.restore(read_arrays(task.source, mapped=MAPPED_BYTES))
    trainer.epoch = task.epoch
    with open_threads(task.threads) as pool:
        trainer.run_epoch(open_rows(task.rows), seed=task.seed, pool=pool, advance=lambda n: None)
    save_shard(task.target, trainer.state())
    return [trainer.is_finite(number) for number in range(len(trainer.settings))]


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
    trainers = [open_shard(problem, own, path) for own, path in task.files]
    scorers = [
        [scorer for trainer in trainers for scorer in trainer.scorers(number)]
        for number in range(len(problem.settings))
    ]
    ranks: list[Any] = [None] * len(task.ranges)

    def rank(number: int) -> None:
        ranks[number] = rank_range(scorers, rows, task.ranges[number], problem.n_classes)

    with open_threads(task.threads) as pool:
        pool.share(rank, range(len(ranks)))
    return np.concatenate(ranks, axis=1)


def open_shard(problem: Problem, own: range, path: Path) -> ShardTrainer:
    """Return the trainer of a class shard with the state in a file, for reading only."""
    trainer = ShardTrainer(problem, own)  # its zeros are never touched, so they take no memory
    trainer.attach(read_arrays(path))
    return trainer


class ClassShards:
    """The trainer of one-vs-rest by workers; see `SettingsTrainer`.

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
        shared, runner = self.workers.share(rows), self._runner
        tasks = [
            EpochTask(
                self.problem,
                own,
                shared,
                seed,
                self.epoch,
                runner.files.get(own),
                runner.next_path(number),
                self.workers.threads,
            )
            for number, own in enumerate(self.shards)
        ]
        finite = np.ones(len(self.settings), bool)
        for found in runner.map(run_task, tasks, n_rows=rows.n_rows, advance=advance):
            finite &= found
        runner.replace_files({task.own: task.target for task in tasks})
        self.epoch += 1
        if not finite.any():
            raise overflow(self.settings, self.epoch)

    def epoch_statistics(self) -> dict[str, float]:
        """Return further entries for the history of the last epoch: none."""
        return {}

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (n_settings, n_rows)."""
        shared = self.workers.share(rows)
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
        for trainer in self._open_shards():
            classes = trainer.classes(number)
            if classes.start < classes.stop:
                W[classes], b[classes] = trainer.weights(number)
        return W, b

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        chosen, n = list(numbers), self.n_classes
        state = self.state()
        rows = np.concatenate([np.arange(s * n, (s + 1) * n) for s in chosen])
        self.settings = [self.settings[s] for s in chosen]
        self.problem = replace(self.problem, settings=tuple(self.settings))
        self._write_state(state, rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `OneVsRest.state`, memory-mapped."""
        whole: Arrays = {}
        height = len(self.settings) * self.n_classes
        for trainer in self._open_shards():
            own = trainer.own
            for name, array in trainer.state().items():
                if name not in whole:
                    width = array.size // len(own)
                    whole[name] = self._runner.make_mapped((height, width), array.dtype)
                whole[name][own.start : own.stop] = array.reshape(len(own), -1)
        return whole

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` of this class or of `OneVsRest` returned."""
        self._write_state(arrays, np.arange(len(self.settings) * self.n_classes))

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Start every setting from the given weights instead of zero."""
        files = {}
        for number, own in enumerate(self.shards):
            trainer = ShardTrainer(self.problem, own)
            trainer.begin_from(W, b)
            files[own] = self._write(number, trainer)
        self._runner.replace_files(files)

    def _write_state(self, arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> None:
        """Write some rows of the arrays of a state into the files of new class shards."""
        files = {}
        for number, own in enumerate(self.shards if arrays else []):
            trainer, some = ShardTrainer(self.problem, own), rows[own.start : own.stop]
            height = arrays["V"].size // self.problem.dim
            trainer.restore({n: a.reshape(height, -1)[some] for n, a in arrays.items()})
            files[own] = self._write(number, trainer)
        self._runner.replace_files(files)

    def _open_shards(self) -> Iterator[ShardTrainer]:
        for own, path in self._runner.files.items():
            yield open_shard(self.problem, own, path)

    def _write(self, number: int, trainer: ShardTrainer) -> Path:
        path = self._runner.next_path(number)
        save_shard(path, trainer.state())
        return path
