"""Multiclass, ranking, warp and softmax objectives by SGD [GP, 3 and 4; LS].

Rows are trained on one after the other, because every step may change every class. Threads share
the product that scores a block or, when several settings are trained together, take a setting
each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.objectives import JOINT_OBJECTIVES
from myriad.objectives.joint import SOFTMAX, WARP
from myriad.panels import PackedWeights, count_panels, pack_in_place, unpack_in_place
from myriad.parallel import ThreadPool
from myriad.parallel.work_queue import LATE, close_queue, make_queue
from myriad.store.rows import refuse_bad
from myriad.tiles import LANES
from myriad.training.dual.method import check_k
from myriad.training.engine.chunks import CHUNK_ROWS, Chunk, ChunkLayout, EpochCost
from myriad.training.engine.linear_trainer import LinearTrainer
from myriad.training.engine.steps import StoredWeights
from myriad.training.engine.targets import BlockedRows, RowLabels
from myriad.training.optimiser import FIXED, PLAIN_SGD, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.drawn_class_kernels import (
    DRAWN_STEP,
    REFUSED,
    DrawnWork,
    ScatteredRows,
    run_drawn_chunk,
    run_drawn_worker,
)
from myriad.training.sgd.joint_chunk_kernels import PairWork, run_pairs_chunk, run_pairs_worker
from myriad.training.sgd.joint_kernels import (
    CLASS_STATE,
    JOINT_SETTING,
    PAIR_STEP,
    STATE,
    ClassMemory,
    begin_epoch,
    step_sampled_pairs,
)
from myriad.training.sgd.method import WarpOptions
from myriad.training.sgd.softmax_kernels import (
    SoftmaxWork,
    run_softmax_chunk,
    run_softmax_worker,
)

SAMPLED_BYTES = 4 << 20
"""Bytes of a chunk whose rows are compared with few classes each: steps are short then, and wait
for the first chunk to be read."""
DRAWN_OBJECTIVES = ("ranking", "auc")
"""Objectives that draw the two classes of a row without scores: two dot products are enough."""
ZERO_COPY_ROWS, DRAWN_BYTES = 8192, 32 << 20
"""Maximum number of rows of a zero-copy chunk, where a single setting is trained, and of bytes of
their drawn classes."""
TAKEN_BYTES = 32 << 10
"""Maximum size, in bytes of rows, of a task of such a chunk."""
CLASSES_PER_ROW = 8
"""A task has at most one row for this many classes, times the square of the classes of a row, so
that two threads rarely need the same class."""
MOST_DECAY = 0.1
"""Maximum weight decay of a step whose learning rate is multiplied by a gain."""


def count_sampled_rows(row_bytes: int) -> int:
    """Return the number of rows of a chunk where each row is compared with few classes."""
    return min(CHUNK_ROWS, max(1, SAMPLED_BYTES // row_bytes))


def bound_gain(setting: Setting, gain: float) -> float:
    """Return the gain of the learning rate, reduced if the decay of a step would be too large."""
    decay = setting.eta * setting.lam
    return max(1.0, min(gain, MOST_DECAY / decay)) if decay > 0 else gain


def make_records(
    n_settings: int, objective: int, warp: WarpOptions | None, n_classes: int, k: int
) -> NDArray[Any]:
    """Return records of `JOINT_SETTING` with the objective and the options of ``warp`` set."""
    if k > 1:
        check_k(k, n_classes)
    warp = warp or WarpOptions()
    records = np.zeros(n_settings, JOINT_SETTING)
    records["objective"], records["n_hidden"] = objective, k - 1
    options = records["warp"]
    options["replacement"], options["exact"] = warp.replacement, warp.exact_rank
    options["constant"] = warp.constant_weight
    options["max_draws"] = warp.max_draws or n_classes
    options["chain"] = min(warp.last_violators, n_classes)
    return records


def make_harmonic(n_classes: int) -> NDArray[np.float64]:
    """Return the harmonic numbers of all ranks, from ``l_0 = 0`` on."""
    return np.cumsum(np.r_[0.0, 1.0 / np.arange(1, max(2, n_classes))])


class Joint(LinearTrainer):
    """Trainer of a joint objective.

    Parameters
    ----------
    settings : one or several.
    n_classes, dim : the shape of the weights.
    objective : one of `JOINT_OBJECTIVES`.
    bias_rate : the learning rate of the bias as a fraction of `eta`.
    schedule : how the learning rate shrinks.
    sampled : whether only the compared classes are scored; by default if they are
        drawn without scores.
    k : of softmax: the k - 1 largest wrong scores are left out.
    negatives : of softmax: wrong classes drawn for each row; None for all.
    gain : factor of the learning rates of the settings; see `distributed.rounds`.
    more : see `LinearTrainer`.
    """

    BLOCK = 64
    """Rows whose scores come from one product where few weights change: the Gram matrices of larger
    blocks would cost more (measured)."""
    SOFTMAX_BLOCK = 96
    """The same for softmax, whose steps change all weights by a product too."""

    _changing = ("V", "Q", "_biases", "_last", "_class_states", "_states")

    def __init__(
        self,
        settings: Sequence[Setting],
        n_classes: int,
        dim: int,
        *,
        objective: str,
        bias_rate: float,
        warp: WarpOptions | None = None,
        schedule: Schedule = FIXED,
        dtype: Any = np.float32,
        block: int | None = None,
        sampled: bool | None = None,
        k: int = 1,
        negatives: int | None = None,
        gain: float = 1.0,
        **more: Any,
    ) -> None:
        self.objective = JOINT_OBJECTIVES[objective]
        is_drawn = objective in DRAWN_OBJECTIVES or negatives is not None
        if block is None:
            dense = self.objective == SOFTMAX and not is_drawn
            block = self.SOFTMAX_BLOCK if dense else self.BLOCK
        super().__init__(settings, n_classes, dim, dtype=dtype, block=block, **more)
        shape = len(self.settings), n_classes
        self._biases = np.zeros(shape)
        self._last = np.full(shape, -1, np.int64)
        self._class_states = np.zeros(shape, CLASS_STATE)
        self._class_states["pending_factor"] = 1.0
        self._states = np.zeros(len(self.settings), STATE)
        self._states["sigma"] = 1.0
        self._harmonic = make_harmonic(n_classes)
        choice = make_records(len(self.settings), self.objective, warp, n_classes, k)
        self._records = self._fill_records(choice, bias_rate, schedule, gain)
        if sampled is None:
            sampled = is_drawn
        if sampled and not is_drawn and objective != "warp":
            raise InputError(f"The objective {objective} uses all classes of every row.")
        if self.objective == SOFTMAX and self.optimiser.max_norm < np.inf:
            raise InputError("max_norm cannot be combined with the objective softmax: use lam.")
        self._sampled = sampled
        self._n_drawn = min(negatives or 1, n_classes - 1)
        self._packed: list[tuple[PackedWeights, PackedWeights]] = []  # V and Q during an epoch

    @classmethod
    def cost(
        cls, objective: str, n_classes: int, dim: int, negatives: int | None = None
    ) -> EpochCost:
        """Return the cost of an epoch."""
        if objective in DRAWN_OBJECTIVES:
            negatives = 1
        drawn = negatives is not None
        compared = n_classes if negatives is None else min(n_classes, 1 + negatives)
        layout = ChunkLayout(
            cls.SOFTMAX_BLOCK if objective == "softmax" and not drawn else cls.BLOCK,
            grams=not drawn,
            rows=count_sampled_rows(4 * dim),
        )
        kind = "softmax, sampled" if objective == "softmax" and drawn else objective
        return EpochCost(kind, float(compared) * dim, layout)

    def _fill_records(
        self, records: NDArray[Any], bias_rate: float, schedule: Schedule, gain: float
    ) -> NDArray[Any]:
        gains = np.array([bound_gain(setting, gain) for setting in self.settings])
        records["eta"] = gains * [setting.eta for setting in self.settings]
        records["lam"] = [setting.lam for setting in self.settings]
        records["bias_rate"] = bias_rate
        records["schedule"] = schedule.number
        records["t0"] = [schedule.delay(setting) for setting in self.settings] / gains
        records["max_norm"] = self.optimiser.max_norm
        records["adagrad"] = self.optimiser.adagrad == "class"
        records["has_options"] = self.optimiser != PLAIN_SGD
        records["inverse_dim"] = 1.0 / self.V.shape[1]
        return records

    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""
        return np.repeat(self._states["sigma"], self.n_classes)

    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""
        return self._biases.ravel()

    def _set_biases(self, biases: NDArray[np.float64]) -> None:
        self._biases[...] = biases.reshape(self._biases.shape)

    def _compute_norms(self) -> None:
        squares = np.einsum("ij,ij->i", self.V, self.V, dtype=np.float64)
        self._class_states["squared_norm"] = squares.reshape(self._class_states.shape)

    def _averages(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        number = rows.start // self.n_classes
        state = self._states[number]
        biases = self._biases[number] * state["n_averaged"]
        biases -= self._class_states[number]["bias_lag"]
        return np.full(self.n_classes, state["sigma_sum"]), biases, state["n_averaged"]

    def _reset_averages(self) -> None:
        self._states["n_averaged"], self._states["sigma_sum"] = 0, 0.0
        self._class_states["bias_lag"] = 0.0

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        chosen = list(numbers)
        for name in ("_biases", "_last", "_class_states", "_states", "_records"):
            setattr(self, name, getattr(self, name)[chosen])
        super().keep(numbers)

    def _begin_epoch(self, seed: int) -> None:
        begin_epoch(self._states, np.uint64(seed), np.uint64(self.epoch))
        if self.objective == SOFTMAX and not self._drawn:
            self._packed = [
                (pack_in_place(V), pack_in_place(Q))
                for V, Q in map(self._stored, range(len(self.settings)))
            ]

    def _end_epoch(self) -> None:
        for number, (V, Q) in enumerate(self._packed):
            for stored, packed in zip(self._stored(number), (V, Q), strict=True):
                unpack_in_place(stored, packed.rest)
        self._packed = []

    def _rescale(self, number: int, change: NDArray[Any]) -> None:
        if not self._packed:
            super()._rescale(number, change)
            return
        for stored in self._packed[number]:
            for panels in stored:
                panels *= change[:, None] if panels.size else 1.0

    @property
    def _layout(self) -> ChunkLayout:
        rows = count_sampled_rows(self._row_bytes)
        zero_copy = 0
        if self._drawn:
            most = min(ZERO_COPY_ROWS, max(1, DRAWN_BYTES // (8 * (1 + self._n_drawn))))
            zero_copy = most if len(self.settings) == 1 else rows
        return ChunkLayout(self.block, grams=not self._sampled, rows=rows, zero_copy_rows=zero_copy)

    @property
    def _row_bytes(self) -> int:
        return self.V.itemsize * self.V.shape[1]

    @property
    def _drawn(self) -> bool:
        """Whether the classes of a step are drawn without scores."""
        return self._sampled and self.objective != WARP

    def _train_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        if len(self.settings) == 1:
            self._train_setting(0, views[0], pool)
            return
        if self.rates is None:  # settings share the chunk, but not the sums of squared gradients
            views = [replace(view, targets=view.targets.copy()) for view in views]
        pool.share(
            lambda number: self._train_setting(number, views[number]), range(len(self.settings))
        )

    @np.errstate(over="ignore", invalid="ignore")
    def _train_setting(self, number: int, chunk: Chunk, pool: ThreadPool | None = None) -> None:
        """Train one setting on a chunk; threads share the products."""
        weights = StoredWeights(*self._stored(number))
        memory = ClassMemory(self._biases[number], self._last[number], self._class_states[number])
        setting, state = self._records[number : number + 1], self._states[number : number + 1]
        labelled = RowLabels(chunk.targets, chunk.classes)
        if self._drawn:
            self._train_drawn(chunk, weights, memory, setting, state, pool)
            return
        if self._sampled:
            step_sampled_pairs(chunk.X, labelled, weights, memory, self._harmonic, setting, state)
            return
        assert chunk.products is not None
        rows = BlockedRows(chunk.X, chunk.products.panels, chunk.products.grams)
        dtype, queue = weights.V.dtype, make_queue()
        S = np.empty((self.block, self.n_classes), dtype)
        if self.objective == SOFTMAX:
            shape = count_panels(self.n_classes), LANES * count_panels(self.block), LANES
            work = SoftmaxWork(S, np.empty(shape, dtype), np.empty(shape[1], dtype))
            packed = self._packed[number]
            assist = partial(run_softmax_worker, rows, work, *packed, self.block, queue)
            train = partial(run_softmax_chunk, rows, labelled, setting, work, *packed)
        else:
            pairs = PairWork(S, np.zeros(self.block, PAIR_STEP))
            assist = partial(run_pairs_worker, rows, pairs, weights, memory, self.block, queue)
            train = partial(
                run_pairs_chunk, rows, labelled, self._harmonic, setting, pairs, weights
            )
        with _assisted(pool, assist, queue):
            train(memory, state, queue, self.block)

    def _train_drawn(
        self,
        chunk: Chunk,
        weights: StoredWeights,
        memory: ClassMemory,
        setting: Any,
        state: Any,
        pool: ThreadPool | None,
    ) -> None:
        """Train one setting on a chunk by `drawn_class_kernels`."""
        n, X = len(chunk.index), chunk.X.view()
        X.flags.writeable = False  # as zero-copy rows are: one compiled kernel serves both
        positions = np.arange(n) if chunk.positions is None else chunk.positions
        marks = np.zeros(n, np.int64)
        shape = n, 1 + self._n_drawn
        drawn, after = np.empty(shape, np.int32), np.empty(shape, np.int32)
        work = DrawnWork(np.zeros(n + 1, np.int64), np.empty(n, DRAWN_STEP), drawn, after, marks)
        needed = shape[1] ** 2  # pairs of a class of one row and a class of another
        most = self.n_classes // (CLASSES_PER_ROW * needed)
        size = max(1, min(TAKEN_BYTES // self._row_bytes, most))
        queue, rows = make_queue(), ScatteredRows(X, positions)
        labelled = RowLabels(chunk.targets, chunk.classes)
        shared = work, weights, memory, setting
        assist = partial(run_drawn_worker, rows, chunk.targets, *shared, queue)
        alone = pool is None or needed > self.n_classes or not pool.backoff.should_share()
        with _assisted(None if alone else pool, assist, queue):
            run_drawn_chunk(rows, labelled, *shared, state, queue, size)
        if pool is not None:
            pool.backoff.record(late=bool(queue[LATE]))
        refused = np.flatnonzero(marks == REFUSED)
        numbers = chunk.index if chunk.positions is None else chunk.positions
        refuse_bad(X[positions[refused]], numbers[refused])


def _assisted(
    pool: ThreadPool | None, assist: Callable[[], Any], queue: NDArray[np.int64]
) -> AbstractContextManager[None]:
    """Return a context in which the helper threads of a pool, if any, call `assist`."""
    return nullcontext() if pool is None else pool.assisted(assist, partial(close_queue, queue))
