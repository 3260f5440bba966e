"""One-vs-rest in the dual a shard of classes at a time: see `class_shards`, which does it for SGD.

Classes share the rows and the moment at which training stops. Workers train some classes for an
epoch, or certify them, and leave variables and weights in a file.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import Advance
from myriad.store import LocalRows, Rows, SharedRows, open_rows
from myriad.training.distributed.workers import TrainingWorkers, make_mapped
from myriad.training.dual.ascent import Certificate
from myriad.training.dual.one_vs_rest import SHARD, BinaryAscent
from myriad.training.engine.linear_trainer import class_shards

COPIES = 6
"""Bytes that a weight takes in training and in certificates, over the four of a float32."""
Make = Callable[[Rows, int, float, range], BinaryAscent]
TABLE = ("starts", "counts", "classes", "values")


def needs_shards(workers: TrainingWorkers, n_classes: int, dim: int) -> bool:
    """Tell whether classes are better trained in pieces."""
    return workers.executor.remote or COPIES * 4 * n_classes * dim > workers.memory


@dataclass(frozen=True)
class DualPiece:
    """Some classes to be trained for an epoch, or to be certified.

    Attributes
    ----------
    make : makes the variables of some classes.
    own : the classes.
    lam : what they are trained with from now on.
    seed : of the epoch; None to certify.
    source, target : the files that they begin from, None for zeros, and end in.
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


def run_dual(piece: DualPiece) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Do a piece and leave it in its file; return primal and dual values if it certifies."""
    rows, own = open_rows(piece.rows), piece.own
    kept = read_arrays(piece.source) if piece.source is not None else {}
    lam = float(kept["lam"][0]) if kept else piece.lam
    ascent = piece.make(rows, piece.n_classes, lam, own)
    if kept:
        ascent.duals.restore(**{name: kept[name] for name in TABLE})
        ascent.V[...], ascent.constants[...] = kept["V"], kept["constants"]
    ascent.change_lam(piece.lam)
    ascent.epoch = piece.epoch
    arrays, values = {}, None
    with open_threads(piece.threads) as pool:
        if piece.seed is not None:
            ascent.run_epoch(seed=piece.seed, pool=pool, advance=lambda n: None)
        else:
            certificate = ascent.certify(pool)
            values = certificate.primals, certificate.duals
            W, b = ascent.weights()
            arrays = {"W": W.astype(np.float32), "b": b.astype(np.float32)}
    arrays |= dict(zip(TABLE, ascent.duals.table(), strict=True))
    arrays |= {"V": ascent.V, "constants": ascent.constants, "lam": np.array([piece.lam])}
    with atomic_write(piece.target, lasting=False) as beside:
        write_arrays(beside, arrays)
    return values


class DualShards:
    """One-vs-rest in the dual by the workers of a workers; see `Ascending`.

    Its variables and weights are those of `BinaryAscent`, bit for bit.
    """

    certificate: Certificate
    estimates = False
    estimate: float | None = None

    def __init__(
        self, make: Make, rows: Rows, n_classes: int, lam: float, workers: TrainingWorkers
    ) -> None:
        self.rows, self.n_classes, self.lam, self.epoch = rows, n_classes, lam, 0
        self._make, self._workers = make, workers
        self._address = workers.leave(rows)
        size = COPIES * 4 * n_classes * rows.dim
        n_pieces = max(workers.executor.n_workers, -(-size // workers.memory))
        self._pieces = cut_classes(n_classes, n_pieces)
        self._files: list[Path] = []
        self._folder, self._written = workers.begin("dual"), 0
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def run_epoch(self, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once over the rows, in the order that the seed gives this epoch."""
        self._work(seed, advance)
        self.epoch += 1

    def certify(self, pool: ThreadPool) -> Certificate:
        """Make the weights anew from the variables; return the values of both, kept too."""
        found = [values for values in self._work(None, lambda n: None) if values is not None]
        primals, duals = zip(*found, strict=True)
        self.certificate = Certificate(np.concatenate(primals), np.concatenate(duals))
        return self.certificate

    def _work(self, seed: int | None, advance: Advance) -> list[Any]:
        targets = [
            self._folder / f"{self._written}-{number}.safetensors"
            for number in range(len(self._pieces))
        ]
        jobs = [
            DualPiece(
                self._make,
                self._address,
                self.n_classes,
                own,
                self.lam,
                seed,
                self.epoch,
                self._files[number] if self._files else None,
                targets[number],
                self._workers.threads,
            )
            for number, own in enumerate(self._pieces)
        ]
        found = []
        for number, values in enumerate(self._workers.executor.map(run_dual, jobs)):
            found.append(values)
            done = [self.rows.n_rows * n // len(jobs) for n in (number, number + 1)]
            advance(done[1] - done[0])
        self._take(targets)
        return found

    def _take(self, files: list[Path]) -> None:
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files, self._written = files, self._written + 1

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as last certified; they lie in a file of their own."""
        W = make_mapped(self._folder, (self.n_classes, self.rows.dim), np.float32)
        b = np.zeros(self.n_classes, np.float32)
        for own, path in zip(self._pieces, self._files, strict=True):
            kept = read_arrays(path)
            W[own.start : own.stop], b[own.start : own.stop] = kept["W"], kept["b"]
        return W, b

    def change_lam(self, lam: float) -> None:
        """Go on with another `lam`: pieces shrink their variables when they are next done."""
        self.lam = lam

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `Ascent.state`: the variables of all classes, row by row."""
        rows, classes, values = [], [], []
        for own, path in zip(self._pieces, self._files, strict=True):
            kept = read_arrays(path)
            counts = kept["counts"]
            ends = np.cumsum(counts)
            places = np.arange(ends[-1]) + np.repeat(kept["starts"] - (ends - counts), counts)
            rows.append(np.repeat(np.arange(len(counts)), counts))
            classes.append(kept["classes"][places] + np.int32(own.start))
            values.append(kept["values"][places])
        order = np.argsort(np.concatenate(rows), kind="stable")
        counts = np.bincount(np.concatenate(rows), minlength=self.rows.n_rows)
        return {
            "starts": np.cumsum(counts) - counts,
            "counts": counts.astype(np.int32),
            "classes": np.concatenate(classes)[order],
            "values": np.concatenate(values)[order],
        }

    def restore(self, arrays: dict[str, NDArray[Any]], epoch: int, pool: ThreadPool) -> None:
        """Go on from arrays that `state` returned after so many epochs, here or of an `Ascent`."""
        files = []
        for number, own in enumerate(self._pieces):
            shape = len(own), self.rows.dim
            kept = split_table(arrays, own)
            kept |= {"V": np.zeros(shape, np.float32), "constants": np.zeros(len(own), np.float32)}
            path = self._folder / f"kept-{number}.safetensors"
            write_arrays(path, kept | {"lam": np.array([self.lam])})
            files.append(path)
        self._take(files)
        self.epoch = epoch
        self.certify(pool)


def cut_classes(n_classes: int, n_pieces: int) -> list[range]:
    """Cut classes into so many pieces, between two shards, or as many as there are shards."""
    shards = class_shards(n_classes, SHARD)
    pieces = np.array_split(np.arange(len(shards)), min(n_pieces, len(shards)))
    return [range(shards[piece[0]].start, shards[piece[-1]].stop) for piece in pieces]


def split_table(arrays: Mapping[str, NDArray[Any]], own: range) -> dict[str, NDArray[Any]]:
    """Return the variables of some classes, counted from the first of them, row by row."""
    starts, counts, classes, values = (arrays[name] for name in TABLE)
    ends = np.cumsum(counts)
    places = np.arange(ends[-1]) + np.repeat(starts - (ends - counts), counts)
    rows = np.repeat(np.arange(len(counts)), counts)
    inside = (classes[places] >= own.start) & (classes[places] < own.stop)
    sizes = np.bincount(rows[inside], minlength=len(counts))
    return {
        "starts": np.cumsum(sizes) - sizes,
        "counts": sizes.astype(np.int32),
        "classes": classes[places][inside] - np.int32(own.start),
        "values": values[places][inside],
    }
