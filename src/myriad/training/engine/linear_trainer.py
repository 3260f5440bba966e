"""The base class of trainers of linear models, with the weights of one or several settings.

Weights are stored as ``scale * V``, so that decaying all weights of a class is one multiplication;
see `steps`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.engine.chunks import Chunk, ChunkLayout, read_chunks
from myriad.training.engine.feature_rates import FeatureRates
from myriad.training.engine.scores import Scorer, rank_range
from myriad.training.engine.shards import scored_shards
from myriad.training.optimiser import PLAIN_SGD, OptimiserOptions, begins_window
from myriad.training.settings import Setting
from myriad.training.trainer import Weights, overflow, pack_state, unpack_state
from myriad.training.validation import count_block_rows, rank_ranges

CHECKED_BYTES = 4 << 20
"""Bytes of weights that one thread checks for overflow at a time."""
UNSEEN_BIAS = -1e6
"""The bias of a class without training rows in one-vs-rest: its score of 0 would beat the negative
scores of all other classes."""


class LinearTrainer(ABC):
    """The base class of trainers of linear models.

    Parameters
    ----------
    settings : one or several; class c under setting s is row ``s * n_classes + c`` of V.
    n_classes, dim : the shape of the weights of one setting.
    dtype : of weights and scores; float64 is for tests.
    block : rows whose scores come from one product.
    optimiser : AdaGrad, averaging and bounds of norms.
    moments : float array of shape (dim,), mean squares of the features; for AdaGrad by feature.

    Attributes
    ----------
    V : float array of shape (n_settings * n_classes, n_features), stored weights; the weights are
        these times a scale.
    Q : shaped like V where averages are kept, else empty: the sum of all that was added to V, each
        times the sum of scales before it.
    epoch : number of epochs finished.
    unseen : bool array of shape (n_classes,), classes without training rows, ranked last.
    safe_rate : learning rate to suggest if the weights overflow; infinity if not known.
    """

    _changing: tuple[str, ...] = ("V", "Q")

    def __init__(
        self,
        settings: Sequence[Setting],
        n_classes: int,
        dim: int,
        *,
        dtype: Any,
        block: int,
        optimiser: OptimiserOptions = PLAIN_SGD,
        moments: NDArray[Any] | None = None,
    ) -> None:
        self.settings = list(settings)
        self.n_classes = n_classes
        self.epoch = 0
        self.unseen = np.zeros(n_classes, np.bool_)
        self.safe_rate = math.inf
        self.block = block
        self.optimiser = optimiser
        self.V = np.zeros((len(self.settings) * n_classes, dim), dtype)
        self.Q = np.zeros(self.V.shape if optimiser.average else (0, 0), dtype)
        self.rates: FeatureRates | None = None
        if optimiser.adagrad == "feature":
            start = np.ones(dim) if moments is None else moments
            self.rates = FeatureRates.begin(start, len(self.settings))

    @abstractmethod
    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""

    @abstractmethod
    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""

    @abstractmethod
    def _averages(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        """Return sums of scales and of biases for rows of V, and the number of averaged steps."""

    @abstractmethod
    def _reset_averages(self) -> None:
        """Restart the averages."""

    @abstractmethod
    def _begin_epoch(self, seed: int) -> None:
        """Prepare the draws of this epoch."""

    def _end_epoch(self) -> None:  # noqa: B027 - most trainers have nothing to do
        """Convert the weights from their layout within an epoch to `V`."""

    @abstractmethod
    def _train_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        """Train all settings on a chunk; each has its own view of it."""

    @property
    @abstractmethod
    def _layout(self) -> ChunkLayout:
        """How chunks are cut and what is computed for them before they are trained on."""

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        rows = self.rows_of(numbers)
        self.settings = [self.settings[n] for n in numbers]
        self.V = self.V[rows]
        self.Q = self.Q[rows] if self.Q.size else self.Q
        if self.rates is not None:
            self.rates = self.rates.select(numbers)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, in the order that the seed gives it.

        Raises `WorkError` if the weights overflow, unless those of another setting that is trained
        side by side are finite.
        """
        if self.optimiser.average and begins_window(self.epoch):
            self.Q[...] = 0.0
            self._reset_averages()
        self._begin_epoch(seed)
        layout, rates = self._layout, self.rates
        # Feature rates change after each chunk, so rows are scaled and multiplied after reading.
        raw = layout if rates is None else ChunkLayout(self.block, grams=False)
        order: dict[str, Any] = {"seed": seed, "epoch": self.epoch, "dtype": self.V.dtype}
        try:
            for chunk in read_chunks(rows, layout=raw, pool=pool, **order):
                if rates is None:
                    self._train_chunk(chunk, [chunk] * len(self.settings), pool)
                else:
                    views = [chunk.scaled(roots, layout) for roots in rates.roots(self.V.dtype)]
                    self._train_chunk(chunk, views, pool)
                    self._update_rates(rates, chunk, views)
                advance(len(chunk.index))
        finally:
            self._end_epoch()
        self.epoch += 1
        self._check_finite(pool)

    def _update_rates(self, rates: FeatureRates, chunk: Chunk, views: list[Chunk]) -> None:
        """Update the rates of features after a chunk, and rescale the stored weights."""
        for number, view in enumerate(views):
            # The mean over classes: with the sum, rates would shrink by sqrt(n_classes), too far
            # for the learning rates that a search tries.
            mean_squares = view.targets["squared_gradient"] / self.n_classes
            change = rates.update(number, chunk.X, mean_squares)
            self._rescale(number, change.astype(self.V.dtype))

    def epoch_statistics(self) -> dict[str, float]:
        """Return further entries for the history of the last epoch: none."""
        return {}

    def _rescale(self, number: int, change: NDArray[Any]) -> None:
        """Multiply the stored weights and averages of a setting by a factor for each feature."""
        for stored in self._stored(number):
            stored *= change if stored.size else 1.0

    def _stored(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows of V and of Q, if averages are kept, that belong to a setting."""
        rows = self.stored_rows(number)
        return self.V[rows], self.Q[rows] if self.Q.size else self.Q

    def _check_finite(self, pool: ThreadPool | None = None) -> None:
        if not any(self.is_finite(number, pool) for number in range(len(self.settings))):
            raise overflow(self.settings, self.epoch, self.safe_rate)

    @np.errstate(over="ignore", invalid="ignore")
    def is_finite(self, number: int, pool: ThreadPool | None = None) -> bool:
        """Return whether the weights of a setting are finite; threads share the work."""
        rows = self.stored_rows(number)
        V, sums = self.V[rows], [self.biases()[rows].sum()]
        size = max(1, CHECKED_BYTES // (V.itemsize * V.shape[1]))
        starts = range(0, len(V), size)

        @np.errstate(over="ignore", invalid="ignore")  # NumPy's error state is per thread
        def add_up(first: int) -> None:
            sums.append(V[first : first + size].sum())

        if pool is None:
            list(map(add_up, starts))
        else:
            pool.share(add_up, starts)
        return bool(np.isfinite(sums).all())

    def stored_rows(self, number: int) -> slice:
        """Return the rows of V that belong to a setting."""
        return slice(number * self.n_classes, (number + 1) * self.n_classes)

    def classes(self, number: int) -> slice:
        """Return the range of classes of a setting that this trainer has: all."""
        return slice(0, self.n_classes)

    @np.errstate(over="ignore", invalid="ignore")
    def weights(self, number: int = 0) -> Weights:
        """Return copies of the weights and biases of one setting, averaged if so configured."""
        rows = self.stored_rows(number)
        if self.Q.size and self.epoch > 0:
            scales, biases, steps = self._averages(rows)
            steps = np.maximum(steps, 1)
            W = self.V[rows] * (scales / steps).astype(self.V.dtype)[:, None]
            W -= self.Q[rows] / np.broadcast_to(steps, scales.shape).astype(self.V.dtype)[:, None]
            b = biases / steps
        else:
            W = self.V[rows] * self.scales()[rows].astype(self.V.dtype)[:, None]
            b = self.biases()[rows]
        if self.rates is not None:
            W *= self.rates.roots(self.V.dtype)[number]
        return W, self._mask_unseen(b, number).astype(self.V.dtype)

    def _mask_unseen(self, biases: NDArray[Any], number: int) -> NDArray[Any]:
        """Return the biases of a setting, with `UNSEEN_BIAS` for unseen classes."""
        return np.where(self.unseen[self.classes(number)], UNSEEN_BIAS, biases)

    def scorers(self, number: int) -> list[Scorer]:
        """Return the scorers of one setting; weights are copied only if they are averaged."""
        rows = self.stored_rows(number)
        if self.Q.size or self.rates is not None:
            V, biases = self.weights(number)
            scales = np.ones(len(V))
        else:
            V, scales = self.V[rows], self.scales()[rows]
            biases = self._mask_unseen(self.biases()[rows], number)
        classes, found = self.classes(number), []
        for shard in scored_shards(self.n_classes):
            if classes.start <= shard.start < classes.stop:
                own = slice(shard.start - classes.start, shard.stop - classes.start)
                small = scales[own].astype(np.float32), biases[own].astype(np.float32)
                found.append(Scorer(shard, V[own], *small))
        return found

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (n_settings, n_rows)."""
        scorers = [self.scorers(number) for number in range(len(self.settings))]
        return rank_ranges(
            lambda some: rank_range(scorers, rows, some, self.n_classes),
            rows,
            n_settings=len(scorers),
            size=count_block_rows(rows.dim, self.n_classes),
            pool=pool,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint; structured arrays as bytes."""
        return pack_state(self._arrays())

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned."""
        unpack_state(arrays, self._arrays())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training changes, by their names in a checkpoint."""
        arrays = {name.strip("_"): getattr(self, name) for name in self._changing}
        return arrays if self.rates is None else arrays | {"rates": self.rates.squares}

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Start every setting from the given weights instead of zero."""
        for number in range(len(self.settings)):
            self.V[self.stored_rows(number)] = W
        self._set_biases(np.tile(b.astype(np.float64), len(self.settings)))
        self._compute_norms()

    @abstractmethod
    def _set_biases(self, biases: NDArray[np.float64]) -> None:
        """Set the bias of each row of V."""

    @abstractmethod
    def _compute_norms(self) -> None:
        """Compute the squared norms of the stored weights, which steps keep up to date."""

    def copy_from(self, other: LinearTrainer) -> None:
        """Copy the state of a trainer of the same single setting, with at most as many classes."""
        for name in self._changing:
            mine, theirs = getattr(self, name), getattr(other, name)
            mine[tuple(slice(0, n) for n in theirs.shape)] = theirs
        if self.rates is not None and other.rates is not None:
            self.rates.squares[...] = other.rates.squares
        self.epoch = other.epoch

    def rows_of(self, numbers: Sequence[int]) -> NDArray[np.int64]:
        """Return the rows of V that belong to some settings."""
        return np.concatenate([np.arange(self.V.shape[0])[self.stored_rows(n)] for n in numbers])
