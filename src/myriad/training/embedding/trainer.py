"""An embedding in training: the map, the prototypes and their learning rates [HM, Table 3].

Rows are trained on one after the other; threads share the products of a block and prepare the next
rows. Lengths are counted in units of the data: a row whose squared norm is the mean one has length
1, and so has its embedding before training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from myriad.errors import WorkError
from myriad.models.embedding import EmbeddingModel
from myriad.objectives import DISCRIMINANTS
from myriad.parallel import ThreadPool
from myriad.products import add_product
from myriad.progress import Advance
from myriad.randomness import draw_in_ball, generator, mix
from myriad.store import Rows
from myriad.training.embedding.kernels import (
    AXIS,
    BY_COUNTS,
    BY_GRADIENTS,
    FIXED_STEP,
    STATE,
    step_block,
)
from myriad.training.embedding.method import EmbeddingOptions
from myriad.training.embedding.second_stage import ClassConfusion
from myriad.training.embedding.violators import CLASS_MEMORY, PrototypeNorms
from myriad.training.engine.chunks import Chunk, ChunkLayout, read_chunks
from myriad.training.engine.scores import score_block, share
from myriad.training.engine.shards import class_shards
from myriad.training.engine.targets import RowLabels
from myriad.training.trainer import pack_state, unpack_state
from myriad.training.validation import ModelRanker, count_block_rows

ADAGRAD = {False: FIXED_STEP, True: BY_GRADIENTS, "count": BY_COUNTS}
CHECKED_DIM = 24
"""Random signs of more rows are of full rank for all practical purposes."""
MAP_SHARD = 64
"""Rows of the map that one product changes."""
LARGEST_SQUARE = 1e24
"""Squared lengths of map and prototypes from which training counts as having overflowed."""
RANKED_ROWS, RANKED_BYTES = 512, 8 << 20
"""Most held-out rows that are ranked at a time, and most bytes of their features or scores."""
ALL_FROM = 0.2
"""Draws for each row, as a fraction of the classes, from which the product with all prototypes is
faster (measured)."""


class Embedding:
    """Trainer of a map and a prototype of each class.

    Parameters
    ----------
    n_classes, n_features, dim : prototypes are (n_classes, dim), the map is (dim, n_features).
    square : mean squared norm of the rows.
    eta, margin : learning rate, and by how much the true class should outscore any other.
    seed : seed of the initial map.
    dtype : of map and prototypes; float64 is for tests.
    block : rows whose embeddings come from one product.
    score_all : whether the products of a block with all prototypes are computed; None decides by
        the number of draws per row. The result does not depend on it.
    confusion : frequent confusions, whose steps are discounted; None for no discount.

    Attributes
    ----------
    V, P : map and prototypes.
    n_classes : number of classes.
    epoch : number of epochs finished.
    forgets : whether last violators are cleared before each epoch.
    """

    BLOCK = 128
    """Rows that are mapped by one product, and whose steps change the map by another."""

    _changing = ("V", "P", "_bounds", "_memory", "_axes", "_state")

    def __init__(
        self,
        n_classes: int,
        n_features: int,
        dim: int,
        *,
        square: float,
        eta: float,
        margin: float,
        options: EmbeddingOptions,
        seed: int = 0,
        dtype: DTypeLike = np.float32,
        block: int = BLOCK,
        score_all: bool | None = None,
        confusion: ClassConfusion | None = None,
    ) -> None:
        self.block, self.score_all = block, score_all
        self.n_classes, self.epoch, self.forgets = n_classes, 0, False
        self._discriminant = options.discriminant
        self._counts_before: dict[str, int] = {}  # the counts before the last epoch
        self._n_rows = 1  # of the last epoch
        self._mean_draws = 0.0  # draws per row, as a running mean over chunks
        self._unit = 1.0 / square
        self._confusion = confusion or ClassConfusion.none(n_classes)
        self.V, self.P = self._begin(n_features, dim, options, seed, dtype)
        self._bounds = np.zeros((2, n_classes), dtype)
        self._bounds[0] = np.square(self.P).sum(axis=1)
        self._memory = np.zeros(n_classes, CLASS_MEMORY)
        self._memory["last_violator"] = -1
        self._axes = np.zeros(dim, AXIS)
        self._axes["sigma"] = 1.0
        self._state = self._make_state(eta, margin, options)
        if options.max_norm is not None:
            self._bound_map(options.max_norm)

    def _begin(
        self, n_features: int, dim: int, options: EmbeddingOptions, seed: int, dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the initial map and prototypes."""
        shape = self.n_classes, dim
        if options.init == "ball":
            radius = options.max_norm or 1.0
            V = draw_in_ball(dim, n_features, radius, generator(seed, "map"))
            P = draw_in_ball(*shape, radius, generator(seed, "prototypes"))
            return (V * math.sqrt(self._unit)).astype(dtype), P.astype(dtype)
        V = draw_signs(dim, n_features, seed).astype(dtype)
        V *= math.sqrt(self._unit / dim)
        return V, np.zeros(shape, dtype)

    def _make_state(self, eta: float, margin: float, options: EmbeddingOptions) -> NDArray[Any]:
        n_classes = len(self.P)
        state = np.zeros(1, STATE)
        state["scale"] = DISCRIMINANTS[options.discriminant].scale
        state["margin"], state["eta"] = margin, eta
        state["adagrad"] = ADAGRAD[options.adagrad]
        state["rank_weight"], state["replacement"] = options.rank_weight, options.replacement
        state["max_norm"] = options.max_norm or 0.0
        state["max_draws"] = 1 if options.sampling == "auc" else options.max_draws or n_classes
        state["chain"] = min(options.last_violators, n_classes)
        state["n_features"] = self.V.shape[1]
        return state

    def _bound_map(self, most: float) -> None:
        """Shrink the rows of the map whose norm exceeds `most`, and store the squared norms."""
        squares = np.einsum("ij,ij->i", self.V, self.V, dtype=np.float64) / self._unit
        self.V *= np.minimum(1.0, most / np.sqrt(squares))[:, None].astype(self.V.dtype)
        self._axes["square"] = np.minimum(squares, most**2)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of draws, steps and skipped rows so far."""
        return {name: int(self._state[name][0]) for name in ("draws", "steps", "passed")}

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, in the order that the seed gives it.

        Raises `WorkError` if the embedding overflows.
        """
        self._begin_epoch(rows)
        # A kernel returns plain integers, of which the largest would not fit its arguments.
        root = np.uint64(mix(np.uint64(seed), np.uint64(0xE3BED)))
        root = np.uint64(mix(root, np.uint64(self.epoch)))
        options: dict[str, Any] = {"seed": seed, "epoch": self.epoch, "dtype": self.V.dtype}
        for chunk in read_chunks(rows, layout=ChunkLayout(self.block), pool=pool, **options):
            before = self.counts["draws"]
            make_keys(chunk.targets, root)
            self._train_chunk(chunk, pool)
            draws = (self.counts["draws"] - before) / len(chunk.X)
            self._mean_draws += (draws - self._mean_draws) / 4
            advance(len(chunk.X))
        self.epoch += 1
        if not self._is_bounded():
            eta = float(self._state["eta"][0])
            raise WorkError(
                f"The embedding overflowed in epoch {self.epoch} with eta={eta:g}. "
                f"Try a smaller learning rate, such as {eta / 10:.1g}."
            )

    def _begin_epoch(self, rows: Rows) -> None:
        """Clear the last violators if `forgets` is set; then skipped rows are trained on again."""
        if self.forgets:
            self._memory["last_violator"] = -1
        self._counts_before, self._n_rows = self.counts, rows.n_rows

    def epoch_statistics(self) -> dict[str, float]:
        """Return the mean numbers of draws, steps and skips per row of the last epoch."""
        return {
            name: round((count - self._counts_before[name]) / self._n_rows, 3)
            for name, count in self.counts.items()
        }

    def model(self) -> EmbeddingModel:
        """Return the current model; it shares the arrays of the trainer."""
        return EmbeddingModel(self.V, self.P, self._discriminant)

    def weights(self, number: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return copies of map and prototypes."""
        return self.V.copy(), self.P.copy()

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (1, n_rows)."""
        size = count_block_rows(rows.dim, self.n_classes, most=RANKED_ROWS, most_bytes=RANKED_BYTES)
        return ModelRanker(self.model(), size).rank(rows, pool=pool)

    @np.errstate(over="ignore", invalid="ignore")
    def _is_bounded(self) -> bool:
        """Return whether map and prototypes are far from overflowing; their norms start near 1."""
        mapped = float(np.square(self.V).sum()) / self._unit
        return bool(mapped < LARGEST_SQUARE and float(self._bounds[0].max()) < LARGEST_SQUARE)

    @np.errstate(over="ignore", invalid="ignore")
    def _train_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        """Train on a chunk, block by block."""
        score_all = (
            self._mean_draws > ALL_FROM * len(self.P) if self.score_all is None else self.score_all
        )
        for gram, block in zip(chunk.grams, chunk.blocks(self.block), strict=True):
            X = chunk.X[block]
            Z = X @ self.V.T
            S = np.empty((len(X), 0), self.V.dtype)
            if score_all:
                S = score_block(Z, self.P, pool)
                np.sqrt(self._bounds[0], out=self._bounds[1])
            gram *= self._unit
            stepped = step_block(
                gram, RowLabels(chunk.targets[block], chunk.classes), S, Z, self.P,
                PrototypeNorms(*self._bounds), self._memory, self._confusion, self._axes,
                self._state,
            )  # fmt: skip
            if len(stepped):
                self._add(Z[stepped], X[stepped], pool)

    def _add(self, A: NDArray[Any], X: NDArray[Any], pool: ThreadPool) -> None:
        """Add the rows of a block, times the coefficients of their steps, to the map."""
        A *= self._unit

        def add(shard: slice) -> None:
            add_product(np.ascontiguousarray(A[:, shard].T), X, self.V[shard])

        share(pool, add, class_shards(len(self.V), MAP_SHARD))
        if (self._axes["sigma"] != 1.0).any():
            self.V *= self._axes["sigma"][:, None].astype(self.V.dtype)
            self._axes["sigma"] = 1.0

    def start_from(self, V: NDArray[Any], P: NDArray[Any]) -> None:
        """Set map and prototypes to copies of trained ones."""
        self.V[...], self.P[...] = V, P
        self._bounds[0] = np.square(self.P).sum(axis=1)
        if self._state["max_norm"][0] > 0:
            self._bound_map(float(self._state["max_norm"][0]))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint; structured arrays as bytes."""
        return pack_state(self._arrays())

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned."""
        unpack_state(arrays, self._arrays())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training changes, by their names in a checkpoint."""
        return {name.strip("_"): getattr(self, name) for name in self._changing}


def draw_signs(dim: int, n_features: int, seed: int) -> NDArray[np.int8]:
    """Return random signs, int8 (dim, n_features), of full rank.

    With prototypes that begin at zero, all steps stay in the column space of the initial map, so a
    lower rank could never grow. It is only checked for small `dim`; larger ones are nearly certain.
    """
    random = generator(seed, "embedding")
    while True:
        signs = 2 * random.integers(0, 2, (dim, n_features), dtype=np.int8) - 1
        if dim > CHECKED_DIM or np.linalg.matrix_rank(signs) == dim:
            return signs


def make_keys(targets: NDArray[Any], root: np.uint64) -> None:
    """Replace the row numbers in ``targets["key"]`` by the keys of random draws, in place."""
    with np.errstate(over="ignore"):
        targets["key"] = mix.py_func(root, targets["key"])
