"""Multiclass, ranking, warp and softmax objectives by SGD [GP, 3 and 4; LS].

Rows follow one another, because every step may touch every class. Threads share the product that
scores a block or, when several settings are trained together, take a setting each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.objectives.joint import JOINT_OBJECTIVES, SOFTMAX, WARP
from myriad.panels import count_panels, pack_here, unpack_here
from myriad.parallel import ThreadPool
from myriad.parallel.work_queue import LATE, close_queue, make_queue
from myriad.store.rows import refuse_bad
from myriad.tiles import LANES
from myriad.training.engine.chunks import CHUNK_ROWS, Chunk, ChunkLayout
from myriad.training.engine.linear_trainer import BLOCK, SMALL_BLOCK, LinearTrainer
from myriad.training.engine.optimiser_options import PLAIN_SGD
from myriad.training.schedules import FIXED, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.joint_chunk_kernels import help_pairs, walk_pairs
from myriad.training.sgd.joint_kernels import (
    CLASS_STATE,
    JOINT,
    PAIR,
    STATE,
    begin_epoch,
    step_sampled_pairs,
)
from myriad.training.sgd.random_pair_kernels import DRAWN, REFUSED, help_drawn, walk_drawn
from myriad.training.sgd.softmax_kernels import help_softmax, walk_softmax

SAMPLED_BYTES = 4 << 20
"""Bytes of a chunk whose rows are looked at by few classes each: steps are short then, and wait for
the first chunk to be read."""
DRAWN_OBJECTIVES = ("ranking", "auc")
"""Those whose two classes a row are drawn without looking at scores: two products are enough."""
LENT_ROWS = 8192
"""Rows of a chunk whose rows are lent, where one setting alone looks at them."""
PIECE_BYTES = 32 << 10
"""Bytes of the rows that a thread takes at a time then."""
CROWD = 32
"""It takes one for so many classes at most: two threads' pieces then seldom have one in common."""
MOST_DECAY = 0.1
"""The part of the weights that a larger step may decay."""


@dataclass(frozen=True)
class WarpOptions:
    """How `warp` looks for violators; see `objectives.warp`.

    Attributes
    ----------
    replacement : draw with replacement, as [GP] does.
    exact_rank : count all violators instead of estimating their number.
    constant_weight : weigh all steps alike.
    max_draws : draw at most so many; None for C - 1.
    last_violators : how long a chain of last violators to look at [HM, 6].
    """

    replacement: bool = True
    exact_rank: bool = False
    constant_weight: bool = False
    max_draws: int | None = None
    last_violators: int = 0

    def __post_init__(self) -> None:
        if self.max_draws is not None and self.max_draws < 1:
            raise InputError(f"max_draws must be at least 1, not {self.max_draws}.")
        if self.last_violators < 0:
            raise InputError(f"last_violators must not be negative, not {self.last_violators}.")


def count_sampled_rows(row_bytes: int) -> int:
    """Return how many rows a chunk holds that few classes look at."""
    return min(CHUNK_ROWS, max(1, SAMPLED_BYTES // row_bytes))


def bound_gain(setting: Setting, gain: float) -> float:
    """Return a gain of steps at which one of them does not decay all of the weights."""
    decay = setting.eta * setting.lam
    return max(1.0, min(gain, MOST_DECAY / decay)) if decay > 0 else gain


class Joint(LinearTrainer):
    """The weights of a joint objective while they are trained.

    Parameters
    ----------
    settings : one or several.
    n_classes, dim : the shape of the weights.
    objective : one of `JOINT_OBJECTIVES`.
    bias_rate : the step of the bias as a part of `eta`.
    schedule : how steps shrink.
    sampled : whether only the classes looked at are scored; by default if they are drawn blindly.
    gain : how many times larger steps are than those of the settings; see `rounds`.
    more : see `LinearTrainer`.
    """

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
        gain: float = 1.0,
        **more: Any,
    ) -> None:
        self.objective = JOINT_OBJECTIVES[objective]
        if block is None:
            block = BLOCK if self.objective == SOFTMAX else SMALL_BLOCK
        super().__init__(settings, n_classes, dim, dtype=dtype, block=block, **more)
        shape = len(self.settings), n_classes
        self._biases = np.zeros(shape)
        self._last = np.full(shape, -1, np.int64)
        self._class_states = np.zeros(shape, CLASS_STATE)
        self._class_states["factor"] = 1.0
        self._states = np.zeros(len(self.settings), STATE)
        self._states["sigma"] = 1.0
        self._harmonic = np.cumsum(np.r_[0.0, 1.0 / np.arange(1, max(2, n_classes))])
        self._records = self._make_records(warp or WarpOptions(), bias_rate, schedule, gain)
        if sampled is None:
            sampled = objective in DRAWN_OBJECTIVES
        if sampled and objective not in (*DRAWN_OBJECTIVES, "warp"):
            raise InputError(f"The objective {objective} looks at all classes of every row.")
        if self.objective == SOFTMAX and self.optimiser.max_norm < np.inf:
            raise InputError("max_norm does not go with the objective softmax: use lam.")
        self._sampled = sampled
        self._packed: list[tuple[Any, Any]] = []  # weights and averages while an epoch packs them

    def _make_records(
        self, warp: WarpOptions, bias_rate: float, schedule: Schedule, gain: float
    ) -> NDArray[Any]:
        records = np.zeros(len(self.settings), JOINT)
        records["objective"] = self.objective
        gains = np.array([bound_gain(setting, gain) for setting in self.settings])
        records["eta"] = gains * [setting.eta for setting in self.settings]
        records["lam"] = [setting.lam for setting in self.settings]
        records["bias_rate"] = bias_rate
        records["schedule"] = schedule.number
        records["t0"] = [schedule.delay(setting) for setting in self.settings] / gains
        records["max_norm"] = self.optimiser.max_norm
        records["adagrad"] = self.optimiser.adagrad == "class"
        records["conditioned"] = self.optimiser != PLAIN_SGD
        records["feature_share"] = 1.0 / self.V.shape[1]
        options = records["warp"]
        options["replacement"], options["exact"] = warp.replacement, warp.exact_rank
        options["constant"] = warp.constant_weight
        options["max_draws"] = warp.max_draws or self.n_classes
        options["chain"] = min(warp.last_violators, self.n_classes)
        return records

    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""
        return np.repeat(self._states["sigma"], self.n_classes)

    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""
        return self._biases.ravel()

    def _set_biases(self, biases: NDArray[np.float64]) -> None:
        self._biases[...] = biases.reshape(self._biases.shape)

    def _take_norms(self) -> None:
        squares = np.einsum("ij,ij->i", self.V, self.V, dtype=np.float64)
        self._class_states["square"] = squares.reshape(self._class_states.shape)

    def _averages(self, part: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        number = part.start // self.n_classes
        state = self._states[number]
        biases = self._biases[number] * state["window"] - self._class_states[number]["late"]
        return np.full(self.n_classes, state["scales"]), biases, state["window"]

    def _begin_window(self) -> None:
        self._states["window"], self._states["scales"], self._class_states["late"] = 0, 0.0, 0.0

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""
        chosen = list(numbers)
        for name in ("_biases", "_last", "_class_states", "_states", "_records"):
            setattr(self, name, getattr(self, name)[chosen])
        super().keep(numbers)

    def _begin_epoch(self, seed: int) -> None:
        begin_epoch(self._states, np.uint64(seed), np.uint64(self.epoch))
        if self.objective == SOFTMAX:
            self._packed = [
                (pack_here(V), pack_here(Q))
                for V, Q in map(self._stored, range(len(self.settings)))
            ]

    def _end_epoch(self) -> None:
        for number, (V, Q) in enumerate(self._packed):
            for stored, (_, left_over) in zip(self._stored(number), (V, Q), strict=True):
                unpack_here(stored, left_over)
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
        lent = (LENT_ROWS if len(self.settings) == 1 else rows) if self._drawn else 0
        return ChunkLayout(self.block, grams=not self._sampled, rows=rows, zero_copy_rows=lent)

    @property
    def _row_bytes(self) -> int:
        return self.V.itemsize * self.V.shape[1]

    @property
    def _drawn(self) -> bool:
        """Whether the classes of a step are drawn without looking at scores, and only these."""
        return self._sampled and self.objective != WARP

    def _walk_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        if len(self.settings) == 1:
            self._walk(0, views[0], pool)
            return
        if self.rates is None:  # all settings share the chunk, and each adds up its own energy
            views = [replace(view, targets=view.targets.copy()) for view in views]
        pool.share(lambda number: self._walk(number, views[number]), range(len(self.settings)))

    @np.errstate(over="ignore", invalid="ignore")
    def _walk(self, number: int, chunk: Chunk, pool: ThreadPool | None = None) -> None:
        """Step one setting through a chunk; a team shares the products."""
        V, Q = self._stored(number)
        biases, last, class_states = (
            self._biases[number],
            self._last[number],
            self._class_states[number],
        )
        setting, state = self._records[number : number + 1], self._states[number : number + 1]
        known = chunk.targets, chunk.classes
        if self._drawn:
            self._walk_drawn(chunk, (V, Q), (biases, class_states), setting, state, pool)
            return
        if self._sampled:
            step_sampled_pairs(
                chunk.X, *known, (V, Q), biases, last, class_states, self._harmonic, setting, state
            )
            return
        assert chunk.products is not None
        rows = chunk.X, chunk.products.panels, chunk.products.grams
        S = np.empty((self.block, self.n_classes), V.dtype)
        queue, memory = make_queue(), (biases, last, class_states)
        if self.objective == SOFTMAX:
            shape = count_panels(self.n_classes), LANES * count_panels(self.block), LANES
            made = S, np.empty(shape, V.dtype), np.empty(shape[1], V.dtype)
            weights = self._packed[number]
            assist = partial(help_softmax, rows, *made, *weights, self.block, queue)
            walk = partial(walk_softmax, rows, known, setting, made, *weights)
        else:
            pairs = np.zeros(self.block, PAIR)
            assist = partial(help_pairs, rows, S, pairs, (V, Q), class_states, self.block, queue)
            walk = partial(walk_pairs, rows, known, self._harmonic, setting, (S, pairs), (V, Q))
        with _assisted(pool, assist, queue):
            walk(memory, state, queue, self.block)

    def _walk_drawn(
        self,
        chunk: Chunk,
        weights: Any,
        memory: Any,
        setting: Any,
        state: Any,
        pool: ThreadPool | None,
    ) -> None:
        """Step one setting through a chunk by pairs of classes that are drawn beforehand."""
        n, X = len(chunk.index), chunk.X.view()
        X.flags.writeable = False  # as those are that others lend: one kernel for all
        places = np.arange(n) if chunk.places is None else chunk.places
        drawn, marks, bounds = np.empty(n, DRAWN), np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
        size = max(1, min(PIECE_BYTES // self._row_bytes, self.n_classes // CROWD))
        queue, rows, known = make_queue(), (X, places), (chunk.targets, chunk.classes)
        made = chunk.targets, drawn, marks
        assist = partial(help_drawn, bounds, rows, *made, weights, memory, setting, queue)
        alone = pool is None or not pool.backoff.asks()
        with _assisted(None if alone else pool, assist, queue):
            walk_drawn(bounds, rows, known, made[1:], weights, memory, setting, state, queue, size)
        if pool is not None:
            pool.backoff.learn(late=bool(queue[LATE]))
        refused = np.flatnonzero(marks == REFUSED)
        numbers = chunk.index if chunk.places is None else chunk.places
        refuse_bad(X[places[refused]], numbers[refused])


def _assisted(
    pool: ThreadPool | None, assist: Callable[[], Any], queue: NDArray[np.int64]
) -> AbstractContextManager[None]:
    """Return a context in which a team, if there is one, does pieces from a board."""
    return nullcontext() if pool is None else pool.assisted(assist, partial(close_queue, queue))
