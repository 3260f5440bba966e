"""Multiclass, ranking, warp and softmax objectives by SGD [GP, 3 and 4; LS].

Rows follow one another, because every step may touch every class. Threads share the product that
scores a block or, when several settings are trained together, take a setting each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.objectives.joint import JOINT_OBJECTIVES, RANKING, SOFTMAX, WARP
from myriad.parallel import Team
from myriad.products import add_product
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.chunks import Chunk, read_chunks
from myriad.training.joint_kernels import (
    JOINT,
    STATE,
    add_pairs,
    begin_epoch,
    fold_scale,
    step_pairs,
    step_sampled_pairs,
    step_softmax,
)
from myriad.training.settings import Setting
from myriad.training.steps import FIXED, Schedule
from myriad.training.trainer import BLOCK, Trainer, class_shards

SHARD = 256
"""Classes that one product scores."""
SUB_BLOCK = 16
"""Rows of a block that softmax corrects one by one; the rest is corrected by products."""
SAMPLED_ABOVE = 250
"""From so many classes on, two dot products a row beat the product with all (measured)."""


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


class Joint(Trainer):
    """The weights of a joint objective while they are trained.

    Parameters
    ----------
    settings : one or several.
    n_classes, dim : the shape of the weights.
    objective : one of `JOINT_OBJECTIVES`.
    bias_rate : the step of the bias as a part of `eta`.
    schedule : how steps shrink.
    dtype : of weights and scores; float64 is for tests.
    block : rows whose scores come from one product.
    sampled : whether only the classes looked at are scored; None decides by their number.
    """

    _changing = ("V", "_biases", "_last", "_states")

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
        block: int = BLOCK,
        sampled: bool | None = None,
    ) -> None:
        self.settings = list(settings)
        self.n_classes = n_classes
        self.block = block
        self.objective = JOINT_OBJECTIVES[objective]
        self.V = np.zeros((len(self.settings) * n_classes, dim), dtype)
        self._biases = np.zeros((len(self.settings), n_classes))
        self._last = np.full((len(self.settings), n_classes), -1, np.int64)
        self._states = np.zeros(len(self.settings), STATE)
        self._states["sigma"] = 1.0
        self._harmonic = np.cumsum(np.r_[0.0, 1.0 / np.arange(1, max(2, n_classes))])
        self._records = self._make_records(warp or WarpOptions(), bias_rate, schedule)
        if sampled is None:
            sampled = self.objective == RANKING and n_classes >= SAMPLED_ABOVE
        if sampled and self.objective not in (RANKING, WARP):
            raise InputError(f"The objective {objective} looks at all classes of every row.")
        self._sampled = sampled

    def _make_records(
        self, warp: WarpOptions, bias_rate: float, schedule: Schedule
    ) -> NDArray[Any]:
        records = np.zeros(len(self.settings), JOINT)
        records["objective"] = self.objective
        records["eta"] = [setting.eta for setting in self.settings]
        records["lam"] = [setting.lam for setting in self.settings]
        records["bias_rate"] = bias_rate
        records["schedule"] = schedule.number
        records["t0"] = [schedule.delay(setting) for setting in self.settings]
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

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""
        chosen = list(numbers)
        self.V = self.V[self.rows_of(chosen)]
        self.settings = [self.settings[n] for n in chosen]
        self._biases, self._last = self._biases[chosen], self._last[chosen]
        self._states, self._records = self._states[chosen], self._records[chosen]

    def _pass(self, rows: Rows, *, seed: int, team: Team, advance: Advance) -> None:
        begin_epoch(self._states, np.uint64(seed), np.uint64(self.epoch))
        for chunk in read_chunks(
            rows,
            block=self.block,
            seed=seed,
            epoch=self.epoch,
            with_grams=not self._sampled,
            dtype=self.V.dtype,
            team=team,
        ):
            if len(self.settings) == 1:
                self._walk(0, chunk, team)
            else:
                team.share(partial(self._walk, chunk=chunk), range(len(self.settings)))
            advance(len(chunk.X))

    @np.errstate(over="ignore", invalid="ignore")
    def _walk(self, number: int, chunk: Chunk, team: Team | None = None) -> None:
        """Step one setting through a chunk; a team shares the products."""
        V = self.V[self.part(number)]
        biases, last = self._biases[number], self._last[number]
        setting, state = self._records[number : number + 1], self._states[number : number + 1]
        if self._sampled:
            step_sampled_pairs(
                chunk.X, chunk.labels, chunk.index, V, biases, last, self._harmonic, setting, state
            )
            return
        for gram, part in zip(chunk.grams, chunk.blocks(self.block), strict=True):
            X, labels = chunk.X[part], chunk.labels[part]
            S = score_block(X, V, team)
            if self.objective == SOFTMAX:
                A = step_softmax_block(gram, labels, S, biases, setting, state)
                add_block(A, X, V, team)
            else:
                classes, coefficients = step_pairs(
                    gram, labels, chunk.index[part], S, biases, last, self._harmonic, setting, state
                )
                add_pairs(X, labels, classes, coefficients, V)
            fold_scale(V, state)


def step_softmax_block(
    gram: NDArray[Any],
    labels: NDArray[np.int32],
    S: NDArray[Any],
    biases: NDArray[np.float64],
    setting: NDArray[Any],
    state: NDArray[Any],
) -> NDArray[Any]:
    """Step through a block by softmax; return the coefficients (B, n_classes) of its rows.

    Rows are corrected one by one within a sub-block, and by one product from sub-block to
    sub-block. `S`, `biases` and `state` are changed.
    """
    A = np.empty_like(S)
    for first in range(0, len(labels), SUB_BLOCK):
        last = min(first + SUB_BLOCK, len(labels))
        step_softmax(gram, labels, S, A, biases, setting, state, first, last)
        if last < len(labels):
            S[last:] += gram[last:, first:last] @ A[first:last]
    return A


def add_block(A: NDArray[Any], X: NDArray[Any], V: NDArray[Any], team: Team | None) -> None:
    """Add ``A^T X`` to the stored weights, a shard of classes at a time."""

    def add(shard: slice) -> None:
        add_product(np.ascontiguousarray(A[:, shard].T), X, V[shard])

    share(team, add, class_shards(len(V), SHARD))


def score_block(X: NDArray[Any], V: NDArray[Any], team: Team | None) -> NDArray[Any]:
    """Return ``X V^T``, made a shard of classes at a time."""
    S = np.empty((len(X), len(V)), V.dtype)

    @np.errstate(over="ignore", invalid="ignore")
    def score(shard: slice) -> None:
        np.matmul(X, V[shard].T, out=S[:, shard])

    share(team, score, class_shards(len(V), SHARD))
    return S


def share(team: Team | None, function: Callable[[slice], None], shards: list[slice]) -> None:
    """Let a team work through shards, or do it here where the team has other work."""
    if team is not None:
        team.share(function, shards)
        return
    for shard in shards:
        function(shard)
