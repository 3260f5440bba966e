"""Joint objectives on many workers: rounds of local SGD on shards of rows, weights averaged.

Every step of a joint objective may touch every class, so its rows cannot be shared out exactly. In
a round each worker begins at the same weights and steps through a part of its own rows; then the
mean of all weights is taken, and so on. A mean of K shards moves as far as one of them, with a K-th
of the rows; so that a pass still gets as far as a single run, steps are K times larger meanwhile,
and each counts for K where steps shrink with their number. The result depends on the number of
shards and rounds, and on nothing else: neither on who did a piece nor on who died meanwhile.
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
"""Runs of rows that lie together, of each shard: few are kind to the disk, many mix well."""
Arrays = Mapping[str, NDArray[Any]]


class Stepper(Protocol):
    """What is trained in rounds: a `Joint` or an `Embedding`."""

    epoch: int

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass over some rows."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training changes."""

    def restore(self, arrays: Arrays) -> None:
        """Take the arrays that `state` gave."""


@dataclass(frozen=True)
class RoundPiece:
    """The part that one worker has in a round.

    Attributes
    ----------
    make : makes what is trained, at its beginning.
    runs : the rows, as (first, one after the last).
    source, target : the files that it begins from and ends in.
    """

    make: Callable[[], Stepper]
    rows: SharedRows | LocalRows
    runs: tuple[tuple[int, int], ...]
    seed: int
    epoch: int
    source: Path
    target: Path


def run_round(piece: RoundPiece) -> int:
    """Train a piece and leave it in its file; return the number of its rows."""
    stepper = piece.make()
    stepper.restore(read_arrays(piece.source))
    stepper.epoch = piece.epoch
    chosen = np.concatenate([np.arange(*run) for run in piece.runs])
    with open_threads(1) as pool:
        stepper.run_epoch(
            open_rows(piece.rows).select(chosen),
            seed=piece.seed,
            pool=pool,
            advance=lambda n: None,
        )
    with atomic_write(piece.target, lasting=False) as beside:
        write_arrays(beside, stepper.state())
    return len(chosen)


class Rounds:
    """An epoch of rounds by the workers of a workers.

    Attributes
    ----------
    rounds : in an epoch.
    shards : of the rows, as many as there were workers at the beginning.
    """

    def __init__(self, workers: TrainingWorkers, rounds: int) -> None:
        self.workers, self.rounds, self.shards = workers, rounds, workers.executor.n_workers

    def run_epoch(
        self,
        stepper: Stepper,
        make: Callable[[], Stepper],
        merge: Callable[[list[Arrays]], None],
        rows: Rows,
        *,
        seed: int,
        advance: Advance,
    ) -> None:
        """Train for an epoch; `merge` makes one of the states that the workers of a round leave."""
        address, folder = self.workers.leave(rows), self.workers.begin("rounds")
        try:
            dealt = deal_runs(rows.n_rows, self.shards, self.rounds, seed=seed, epoch=stepper.epoch)
            for number, shares in enumerate(dealt):
                source = folder / f"{number}.safetensors"
                write_arrays(source, stepper.state())
                jobs = [
                    RoundPiece(
                        make,
                        address,
                        runs,
                        (seed + 1_000_003 * (1 + shard) + 7919 * number) % 2**63,
                        stepper.epoch,
                        source,
                        folder / f"{number}-{shard}.safetensors",
                    )
                    for shard, runs in enumerate(shares)
                    if runs
                ]
                for n_rows in self.workers.executor.map(run_round, jobs):
                    advance(n_rows)
                merge([read_arrays(job.target) for job in jobs])
                for job in jobs:
                    job.target.unlink()
                source.unlink()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        stepper.epoch += 1


def deal_runs(
    n_rows: int, shards: int, rounds: int, *, seed: int, epoch: int
) -> list[list[tuple[tuple[int, int], ...]]]:
    """Return the runs of rows of each round and shard; a row keeps to its shard in all epochs."""
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
    """A joint objective trained in rounds; averages and adagrad by feature are not."""

    def __init__(
        self, *arguments: Any, workers: TrainingWorkers, rounds: int, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._rounds = Rounds(workers, rounds)
        self._given = options | {"gain": self._rounds.shards}

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once more over the rows, in rounds."""
        make = partial(Joint, self.settings, self.n_classes, self.V.shape[1], **self._given)
        self._rounds.run_epoch(self, make, self._merge, rows, seed=seed, advance=advance)
        self._check_finite()

    @np.errstate(over="ignore", invalid="ignore")
    def _merge(self, states: list[Arrays]) -> None:
        """Take the mean of weights, biases and steps, and the sum of what else has been counted."""
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
            head["alpha"] - self._class_states["alpha"] for head in class_states
        )
        self._class_states["factor"] = 1.0
        self._states["t"] = np.mean([end["t"] for end in ends], axis=0).astype(np.int64)
        self._states["sigma"] = 1.0
        self._take_norms()


class EmbeddingRounds(Embedding):
    """An embedding trained in rounds."""

    def __init__(
        self, *arguments: Any, workers: TrainingWorkers, rounds: int, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._rounds = Rounds(workers, rounds)
        self._make = partial(Embedding, *arguments, **options)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once more over the rows, in rounds."""
        self._rounds.run_epoch(self, self._make, self._merge, rows, seed=seed, advance=advance)

    def _merge(self, states: list[Arrays]) -> None:
        """Take the mean of map and prototypes, and the sum of what has been counted."""
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
                mine["last"] = ends[0]["last"]
        self._axes["sigma"] = 1.0
        self.take(V, P)


def sum_of(states: list[Arrays], name: str) -> NDArray[Any]:
    """Return the sum of an array over states, in their order."""
    total = states[0][name].copy()
    for state in states[1:]:
        total += state[name]
    return total
