"""One-vs-rest a shard of classes at a time: on many workers, or where weights exceed the memory.

Classes share nothing but the rows, so a worker trains some of them for an epoch, streaming all
rows, and leaves their weights in a file. Workers keep nothing: one that dies costs the piece that
it had under way. Where pieces are cut does not change the weights, since it is always between two
shards of `OneVsRest`, whose bounds the number of classes fixes.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import Advance
from myriad.store import LocalRows, Rows, SharedRows, open_rows
from myriad.training.distributed.workers import TrainingWorkers, make_mapped
from myriad.training.engine.linear_trainer import class_shards, scored_shards
from myriad.training.settings import Setting
from myriad.training.sgd.one_vs_rest import SHARD, OneVsRest
from myriad.training.trainer import Weights, overflow
from myriad.training.validation import cut_ranges, rank_range

MAPPED_BYTES = 1 << 20
"""Weights that are copied from a file as it is mapped; reading them first would copy them twice."""
RANGES = 8
"""Ranges of held-out rows that a worker ranks in one go: it maps all weights for them."""
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

    def cut(self, n_pieces: int) -> list[range]:
        """Cut the columns of all settings into so many pieces, or as many as there are shards."""
        bounds = [
            {shard.start for shard in shards}
            for shards in (class_shards(self.n_classes, SHARD), scored_shards(self.n_classes))
        ]
        starts = [
            number * self.n_classes + start
            for number in range(len(self.settings))
            for start in sorted(bounds[0] & bounds[1])
        ]
        height = len(self.settings) * self.n_classes
        cuts = [0]
        n_pieces = min(n_pieces, len(starts))
        for number in range(1, n_pieces):  # the shard that begins nearest to an equal part
            left = range(cuts[-1] + 1, len(starts) - (n_pieces - number) + 1)
            ideal = number * height / n_pieces
            cuts.append(min(left, key=lambda shard: abs(starts[shard] - ideal)))
        ends = [*(starts[cut] for cut in cuts), height]
        return [range(*piece) for piece in pairwise(ends)]


class Columns(OneVsRest):
    """Some columns of a problem, from shard to shard; the other ones take no memory."""

    def __init__(self, problem: Problem, own: range) -> None:
        super().__init__(problem.settings, problem.counts, 1, **problem.options)
        self.own, shape = own, (len(own), problem.dim)
        some = slice(own.start, own.stop)
        dense, sampled = super()._shards()
        self._own_shards = self._own(dense, own), self._own(sampled, own)
        self.columns, self.states = self.columns[some].copy(), self.states[some].copy()
        self.columns["feature_share"] = 1.0 / problem.dim
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
        """Leave it to who knows all classes."""

    def part(self, number: int) -> slice:
        """Return the rows of V that belong to a setting; none of them may be here."""
        first = number * self.n_classes - self.own.start
        ends = np.clip([first, first + self.n_classes], 0, len(self.columns))
        return slice(int(ends[0]), int(ends[1]))

    def classes(self, number: int) -> slice:
        """Return the classes of a setting that are here."""
        part, first = self.part(number), self.own.start - number * self.n_classes
        return slice(part.start + first, part.stop + first)

    def attach(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays that `state` gave as they are, mapped perhaps, for reading only."""
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
class EpochPiece:
    """An epoch of some columns.

    Attributes
    ----------
    own : the columns.
    source : the file that they begin from; None for zeros.
    target : the file that they end in.
    """

    problem: Problem
    own: range
    rows: SharedRows | LocalRows
    seed: int
    epoch: int
    source: Path | None
    target: Path
    threads: int | None


def run_piece(piece: EpochPiece) -> list[bool]:
    """Train a piece and leave it in its file; return which settings are still numbers."""
    columns = Columns(piece.problem, piece.own)
    if piece.source is not None:
        columns.restore(read_arrays(piece.source, mapped=MAPPED_BYTES))
    columns.epoch = piece.epoch
    with open_threads(piece.threads) as pool:
        columns.run_epoch(open_rows(piece.rows), seed=piece.seed, pool=pool, advance=lambda n: None)
    with atomic_write(piece.target, lasting=False) as beside:
        write_arrays(beside, columns.state())
    return [columns.is_finite(number) for number in range(len(columns.settings))]


@dataclass(frozen=True)
class RankPiece:
    """Held-out rows to be ranked by the weights in some files; see `EpochPiece`."""

    problem: Problem
    files: tuple[tuple[range, Path], ...]
    rows: SharedRows | LocalRows
    ranges: tuple[range, ...]
    threads: int | None


def rank_piece(piece: RankPiece) -> NDArray[np.int32]:
    """Return the ranks of the truths of the rows, (n_settings, n_rows)."""
    rows, problem = open_rows(piece.rows), piece.problem
    held = [attach(problem, own, path) for own, path in piece.files]
    scorers = [
        [scorer for columns in held for scorer in columns.scorers(number)]
        for number in range(len(problem.settings))
    ]
    ranks: list[Any] = [None] * len(piece.ranges)

    def rank(number: int) -> None:
        ranks[number] = rank_range(scorers, rows, piece.ranges[number], problem.n_classes)

    with open_threads(piece.threads) as pool:
        pool.share(rank, range(len(ranks)))
    return np.concatenate(ranks, axis=1)


def attach(problem: Problem, own: range, path: Path) -> Columns:
    """Return columns as a file has them."""
    columns = Columns(problem, own)  # its zeros are never touched, so they take no memory
    columns.attach(read_arrays(path))
    return columns


class ClassShards:
    """One-vs-rest in training by the workers of a workers; see `Trainer`.

    Its weights are those of `OneVsRest`, bit for bit.
    """

    def __init__(self, problem: Problem, workers: TrainingWorkers) -> None:
        self.problem, self.workers = problem, workers
        self.settings, self.n_classes, self.epoch = list(problem.settings), problem.n_classes, 0
        self._folder = workers.begin("classes")
        self._files: dict[range, Path] = {}
        self._written = 0
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    @property
    def pieces(self) -> list[range]:
        """The columns of each piece: as many as there are workers, more if memory is short."""
        copies = 2 if self.problem.options["optimiser"].average else 1
        size = 4 * len(self.settings) * self.n_classes * self.problem.dim * copies
        return self.problem.cut(
            max(self.workers.executor.n_workers, -(-size // self.workers.memory))
        )

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once more over the rows, piece by piece."""
        address, pieces = self.workers.leave(rows), self.pieces
        old = dict(self._files)
        jobs = [
            EpochPiece(
                self.problem,
                own,
                address,
                seed,
                self.epoch,
                old.get(own),
                self._name(number),
                self.workers.threads,
            )
            for number, own in enumerate(pieces)
        ]
        sound = np.ones(len(self.settings), bool)
        for number, found in enumerate(self.workers.executor.map(run_piece, jobs)):
            sound &= found
            done = [rows.n_rows * n // len(jobs) for n in (number, number + 1)]
            advance(done[1] - done[0])
        self._take({job.own: job.target for job in jobs})
        self.epoch += 1
        if not sound.any():
            raise overflow(self.settings, self.epoch)

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the rank of the truth of held-out rows, (n_settings, n_rows)."""
        address, ranges = self.workers.leave(rows), cut_ranges(rows, self.n_classes)
        size = min(RANGES, -(-len(ranges) // self.workers.executor.n_workers)) or 1
        jobs = (
            RankPiece(
                self.problem,
                tuple(self._files.items()),
                address,
                tuple(ranges[start : start + size]),
                self.workers.threads,
            )
            for start in range(0, len(ranges), size)
        )
        found = list(self.workers.executor.map(rank_piece, jobs))
        return np.concatenate([np.empty((len(self.settings), 0), np.int32), *found], axis=1)

    def weights(self, number: int = 0) -> Weights:
        """Return the weights and biases of one setting; the weights lie in a file of their own."""
        W = make_mapped(self._folder, (self.n_classes, self.problem.dim), np.float32)
        b = np.zeros(self.n_classes, np.float32)
        for columns in self._held():
            classes = columns.classes(number)
            if classes.start < classes.stop:
                W[classes], b[classes] = columns.weights(number)
        return W, b

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""
        chosen, n = list(numbers), self.n_classes
        state = self.state()
        rows = np.concatenate([np.arange(s * n, (s + 1) * n) for s in chosen])
        self.settings = [self.settings[s] for s in chosen]
        self.problem = replace(self.problem, settings=tuple(self.settings))
        self._put(state, rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `OneVsRest.state`; the large ones lie in files of their own."""
        whole: Arrays = {}
        height = len(self.settings) * self.n_classes
        for columns in self._held():
            own = columns.own
            for name, array in columns.state().items():
                if name not in whole:
                    width = array.size // len(own)
                    whole[name] = make_mapped(self._folder, (height, width), array.dtype)
                whole[name][own.start : own.stop] = array.reshape(len(own), -1)
        return whole

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays that `state` gave, here or of a `OneVsRest`."""
        self._put(arrays, np.arange(len(self.settings) * self.n_classes))

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Begin every setting at some weights instead of at zero."""
        files = {}
        for number, own in enumerate(self.pieces):
            columns = Columns(self.problem, own)
            columns.begin_from(W, b)
            files[own] = self._write(number, columns)
        self._take(files)

    def _put(self, arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> None:
        """Write some rows of the arrays of a state into the files of new pieces."""
        files = {}
        for number, own in enumerate(self.pieces if arrays else []):
            columns, some = Columns(self.problem, own), rows[own.start : own.stop]
            height = arrays["V"].size // self.problem.dim
            columns.restore({n: a.reshape(height, -1)[some] for n, a in arrays.items()})
            files[own] = self._write(number, columns)
        self._take(files)

    def _held(self) -> Iterator[Columns]:
        for own, path in self._files.items():
            yield attach(self.problem, own, path)

    def _write(self, number: int, columns: Columns) -> Path:
        path = self._name(number)
        with atomic_write(path, lasting=False) as beside:
            write_arrays(beside, columns.state())
        return path

    def _name(self, number: int) -> Path:
        return self._folder / f"{self._written}-{number}.safetensors"

    def _take(self, files: dict[range, Path]) -> None:
        for path in self._files.values():
            path.unlink(missing_ok=True)
        self._files, self._written = files, self._written + 1
