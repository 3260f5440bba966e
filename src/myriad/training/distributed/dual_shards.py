"""One-vs-rest in the dual in class shards: see `shard_runner`.

The classes share the rows and the epoch in which training stops. Workers train a class shard for an
epoch, or certify it, and write its variables and weights to a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from myriad.training.dual.ascent import Certificate, DualTrainer
from myriad.training.dual.one_vs_rest import SHARD, BinaryAscent
from myriad.training.engine.shards import class_shards

COPIES = 6
"""Bytes of each weight in training and certificates, relative to the four of a float32."""
Make = Callable[[Rows, int, float, range], BinaryAscent]
TABLE = ("starts", "counts", "classes", "values")


def needs_shards(workers: TrainingWorkers, n_classes: int, dim: int) -> bool:
    """Return whether classes are trained in shards: on remote workers, or if memory is short."""
    return workers.executor.remote or COPIES * 4 * n_classes * dim > workers.memory


@dataclass(frozen=True)
class DualTask:
    """A class shard to be trained for an epoch, or to be certified.

    Attributes
    ----------
    make : returns the trainer of a class shard.
    own : the range of its classes.
    lam : regularisation strength; that of the state before may differ.
    seed : of the epoch; None to certify.
    source, target : the files with its state before, None for zeros, and after.
    """

    make: Make
    rows: SharedRows | LocalRows
    n_classes: int
    own: range
    lam: float
    seed: int | None
    epoch: int
    source: Path | None
    target: Path
    threads: int | None


def run_task(task: DualTask) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Train or certify a class shard and write its state.

    Returns the primal and the dual value of each class if it was certified, else None.
    """
    rows, own = open_rows(task.rows), task.own
    kept = read_arrays(task.source) if task.source is not None else {}
    lam = float(kept["lam"][0]) if kept else task.lam
    ascent = task.make(rows, task.n_classes, lam, own)
    if kept:
        ascent.restore({name: kept[name] for name in TABLE})
        ascent.V[...], ascent.constants[...] = kept["V"], kept["constants"]
    ascent.change_lam(task.lam)
    ascent.epoch = task.epoch
    arrays, values = {}, None
    with open_threads(task.threads) as pool:
        if task.seed is not None:
            ascent.run_epoch(rows, seed=task.seed, pool=pool, advance=lambda n: None)
        else:
            certificate = ascent.certify(pool)
            values = certificate.primals, certificate.duals
            W, b = ascent.weights()
            arrays = {"W": W.astype(np.float32), "b": b.astype(np.float32)}
    arrays |= ascent.state()
    arrays |= {"V": ascent.V, "constants": ascent.constants, "lam": np.array([task.lam])}
    save_shard(task.target, arrays)
    return values


class DualShards(DualTrainer):
    """The trainer of one-vs-rest in the dual by workers.

    Its variables and weights are those of `BinaryAscent`, bit for bit.
    """

    def __init__(
        self, make: Make, rows: Rows, n_classes: int, lam: float, workers: TrainingWorkers
    ) -> None:
        self.rows, self.n_classes, self.lam, self.epoch = rows, n_classes, lam, 0
        self._make, self._shared = make, workers.share(rows)
        self._runner = ShardRunner(workers, "dual")
        n_shards = self._runner.count_shards(COPIES * 4 * n_classes * rows.dim)
        starts = [shard.start for shard in class_shards(n_classes, SHARD)]
        self._shards = cut_columns(starts, n_classes, n_shards)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch on the trainer's own rows, in the order of the seed."""
        self._run_tasks(seed, advance)
        self.epoch += 1

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Certify all class shards; return the values of every class."""
        found = [values for values in self._run_tasks(None, lambda n: None) if values is not None]
        primals, duals = zip(*found, strict=True)
        return Certificate(np.concatenate(primals), np.concatenate(duals))

    def _run_tasks(self, seed: int | None, advance: Advance) -> list[Any]:
        """Train all class shards for an epoch or, without a seed, certify them."""
        runner = self._runner
        tasks = [
            DualTask(
                self._make,
                self._shared,
                self.n_classes,
                own,
                self.lam,
                seed,
                self.epoch,
                runner.files.get(own),
                runner.next_path(number),
                runner.workers.threads,
            )
            for number, own in enumerate(self._shards)
        ]
        found = list(runner.map(run_task, tasks, n_rows=self.rows.n_rows, advance=advance))
        runner.replace_files({task.own: task.target for task in tasks})
        return found

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights, memory-mapped, and biases as they were last certified."""
        W = self._runner.make_mapped((self.n_classes, self.rows.dim), np.float32)
        b = np.zeros(self.n_classes, np.float32)
        for own, path in self._runner.files.items():
            kept = read_arrays(path)
            W[own.start : own.stop], b[own.start : own.stop] = kept["W"], kept["b"]
        return W, b

    def change_lam(self, lam: float) -> None:
        """Continue with another `lam`: shards shrink their variables in their next task."""
        self.lam = lam

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `Ascent.state`: the variables of all classes, row by row."""
        rows, classes, values = [], [], []
        for own, path in self._runner.files.items():
            kept = read_arrays(path)
            counts = kept["counts"]
            ends = np.cumsum(counts)
            at = np.arange(ends[-1]) + np.repeat(kept["starts"] - (ends - counts), counts)
            rows.append(np.repeat(np.arange(len(counts)), counts))
            classes.append(kept["classes"][at] + np.int32(own.start))
            values.append(kept["values"][at])
        order = np.argsort(np.concatenate(rows), kind="stable")
        counts = np.bincount(np.concatenate(rows), minlength=self.rows.n_rows)
        return {
            "starts": np.cumsum(counts) - counts,
            "counts": counts.astype(np.int32),
            "classes": np.concatenate(classes)[order],
            "values": np.concatenate(values)[order],
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` of this class or of `Ascent` returned."""
        files = {}
        for number, own in enumerate(self._shards):
            shape = len(own), self.rows.dim
            kept = split_table(arrays, own)
            kept |= {"V": np.zeros(shape, np.float32), "constants": np.zeros(len(own), np.float32)}
            files[own] = self._runner.next_path(number)
            save_shard(files[own], kept | {"lam": np.array([self.lam])})
        self._runner.replace_files(files)


def split_table(arrays: Mapping[str, NDArray[Any]], own: range) -> dict[str, NDArray[Any]]:
    """Return the variables of a class shard, row by row; classes are counted from its first."""
    starts, counts, classes, values = (arrays[name] for name in TABLE)
    ends = np.cumsum(counts)
    at = np.arange(ends[-1]) + np.repeat(starts - (ends - counts), counts)
    rows = np.repeat(np.arange(len(counts)), counts)
    inside = (classes[at] >= own.start) & (classes[at] < own.stop)
    sizes = np.bincount(rows[inside], minlength=len(counts))
    return {
        "starts": np.cumsum(sizes) - sizes,
        "counts": sizes.astype(np.int32),
        "classes": classes[at][inside] - np.int32(own.start),
        "values": values[at][inside],
    }
