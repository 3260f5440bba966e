"""Joint objectives on many workers: rounds of local SGD on shards of rows, weights averaged.

Every step of a joint objective may change every class, so its rows cannot be distributed exactly.
In a round each worker begins at the same weights and trains on some of its own rows; then the mean
of all weights is taken, and so on. The mean over K shards moves as far as one of them, with a K-th
of the rows; so that an epoch still moves as far as on one machine, learning rates are K times
larger, and each step counts for K where learning rates shrink with the number of steps. The result
depends on the number of shards and rounds alone: not on which worker ran a task or died.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import Advance
from myriad.randomness import generator
from myriad.store import LocalRows, Rows, SharedRows, open_rows
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.embedding.trainer import Embedding
from myriad.training.sgd.joint import Joint
from myriad.training.sgd.joint_kernels import STATE

RUNS = 64
"""Runs of consecutive rows in each shard: fewer are faster to read, more are mixed better."""
Arrays = Mapping[str, NDArray[Any]]


class RoundsTrainer(Protocol):
    """A trainer that can be trained in rounds: a `Joint` or an `Embedding`."""

    epoch: int

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for an epoch on some rows."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training changes."""

    def restore(self, arrays: Arrays) -> None:
        """Restore the arrays that `state` returned."""


@dataclass(frozen=True)
class RoundTask:
    """The shard of rows of one worker in a round.

    Attributes
    ----------
    make : returns a new trainer.
    runs : ranges of consecutive rows, as (first, one after the last).
    source, target : the files with its state before and after the round.
    """

    make: Callable[[], RoundsTrainer]
    rows: SharedRows | LocalRows
    runs: tuple[tuple[int, int], ...]
    seed: int
    epoch: int
    source: Path
    target: Path


def run_round(task: RoundTask) -> int:
    """Train on a shard of rows and write the state; return the number of rows."""
    trainer = task.make()
    trainer.restore(read_arrays(task.source))
    trainer.epoch = task.epoch
    chosen = np.concatenate([np.arange(*run) for run in task.runs])
    with open_threads(1) as pool:
        trainer.run_epoch(
            open_rows(task.rows).select(chosen),
            seed=task.seed,
            pool=pool,
            advance=lambda n: None,
        )
    with atomic_write(task.target, durable=False) as partial_path:
        write_arrays(partial_path, trainer.state())
    return len(chosen)


class Rounds:
    """Runs epochs in rounds on workers.

    Attributes
    ----------
    rounds : rounds in an epoch.
    shards : shards of rows, as many as there were workers when training began.
    """

    def __init__(self, workers: TrainingWorkers, rounds: int) -> None:
        self.workers, self.rounds, self.shards = workers, rounds, workers.executor.n_workers

    def run_epoch(
        self,
        trainer: RoundsTrainer,
        make: Callable[[], RoundsTrainer],
        merge: Callable[[list[Arrays]], None],
        rows: Rows,
        *,
        seed: int,
        advance: Advance,
    ) -> None:
        """Train for an epoch; `merge` combines the states that the workers of a round wrote."""
        shared, folder = self.workers.share(rows), self.workers.make_folder("rounds")
        try:
            assigned_rounds = assign_runs(
                rows.n_rows, self.shards, self.rounds, seed=seed, epoch=trainer.epoch
            )
            for number, shards in enumerate(assigned_rounds):
                source = folder / f"{number}.safetensors"
                write_arrays(source, trainer.state())
                tasks = [
                    RoundTask(
                        make,
                        shared,
                        runs,
                        (seed + 1_000_003 * (1 + shard) + 7919 * number) % 2**63,
                        trainer.epoch,
                        source,
                        folder / f"{number}-{shard}.safetensors",
                    )
                    for shard, runs in enumerate(shards)
                    if runs
                ]
                for n_rows in self.workers.executor.map(run_round, tasks):
                    advance(n_rows)
                merge([read_arrays(task.target) for task in tasks])
                for task in tasks:
                    task.target.unlink()
                source.unlink()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        trainer.epoch += 1


def assign_runs(
    n_rows: int, shards: int, rounds: int, *, seed: int, epoch: int
) -> list[list[tuple[tuple[int, int], ...]]]:
    """Return the runs of rows of each round and shard; a row stays in its shard in all epochs."""
    n_runs = min(n_rows, max(RUNS, rounds) * shards)
    bounds = np.linspace(0, n_rows, n_runs + 1).astype(np.int64)
    own = np.array_split(generator(seed, "shards of rows").permutation(n_runs), shards)
    draw = generator(seed, f"rounds of epoch {epoch}")
    mixed = [np.array_split(draw.permutation(runs), rounds) for runs in own]
    return [
        [
            tuple((int(bounds[run]), int(bounds[run + 1])) for run in np.sort(mixed[shard][number]))
            for shard in range(shards)
        ]
        for number in range(rounds)
    ]


class JointRounds(Joint):
    """A joint objective trained in rounds, without averaging and without AdaGrad by feature."""

    def __init__(
        self, *arguments: Any, workers: TrainingWorkers, rounds: int, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._rounds = Rounds(workers, rounds)
        self._joint_options = options | {"gain": self._rounds.shards}

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, in rounds."""
        make = partial(Joint, self.settings, self.n_classes, self.V.shape[1], **self._joint_options)
        self._rounds.run_epoch(self, make, self._merge, rows, seed=seed, advance=advance)
        self._check_finite()

    @np.errstate(over="ignore", invalid="ignore")
    def _merge(self, states: list[Arrays]) -> None:
        """Set weights, biases and step counts to means over workers; add up squared gradients."""
        ends = [state["states"].view(STATE).reshape(-1) for state in states]
        V = np.zeros_like(self.V)
        for state, end in zip(states, ends, strict=True):
            factors = np.repeat(end["sigma"], self.n_classes) / len(states)
            V += state["V"] * factors.astype(V.dtype)[:, None]
        self.V[...] = V
        self._biases[...] = np.mean([state["biases"] for state in states], axis=0)
        self._last[...] = states[0]["last"]
        class_states = [
            s["class_states"].view(self._class_states.dtype).reshape(self._class_states.shape)
            for s in states
        ]
        self._class_states["alpha"] += sum(
            each["alpha"] - self._class_states["alpha"] for each in class_states
        )
        self._class_states["pending_factor"] = 1.0
        self._states["t"] = np.mean([end["t"] for end in ends], axis=0).astype(np.int64)
        self._states["sigma"] = 1.0
        self._compute_norms()


class EmbeddingRounds(Embedding):
    """An embedding trained in rounds."""

    def __init__(
        self, *arguments: Any, workers: TrainingWorkers, rounds: int, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._rounds = Rounds(workers, rounds)
        self._make = partial(Embedding, *arguments, **options)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, in rounds."""
        self._begin_epoch(rows)
        self._rounds.run_epoch(self, self._make, self._merge, rows, seed=seed, advance=advance)

    def _merge(self, states: list[Arrays]) -> None:
        """Set map and prototypes to their means over workers; add up all counts."""
        V, P = (sum_of(states, name) / np.float32(len(states)) for name in ("V", "P"))
        for name, counted in (
            ("memory", ("alpha",)),
            ("axes", ("alpha",)),
            ("state", ("draws", "steps", "passed")),
        ):
            mine = getattr(self, f"_{name}")
            ends = [state[name].view(mine.dtype).reshape(mine.shape) for state in states]
            for field in counted:
                mine[field] += sum(end[field] - mine[field] for end in ends)
            if name == "memory":
                mine["last_violator"] = ends[0]["last_violator"]
        self._axes["sigma"] = 1.0
        self.start_from(V, P)


def sum_of(states: list[Arrays], name: str) -> NDArray[Any]:
    """Return the sum of an array over states, in their order."""
    total = states[0][name].copy()
    for state in states[1:]:
        total += state[name]
    return total
