"""The embedding model: a linear map to few dimensions and a prototype of each class [HM].

The best prototypes of a row are found exactly or approximately. Exact search multiplies tiles of
rows and prototypes that fit into the cache, and merges the k best classes tile by tile. Approximate
search uses an inverted file: it probes only the cells nearest to a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.models.cells import Cells
from myriad.models.model import Model
from myriad.models.ranking import merge_top
from myriad.objectives import DISCRIMINANTS
from myriad.parallel import LearningContext, ThreadPool, open_threads
from myriad.serialisation import check_array, check_count

RECALL, RECALL_AT = 0.95, 5
"""Default fraction of the best classes that an index should find, and how many are the best."""
CELLS = 4.0
"""Number of cells of an index, as a multiple of the square root of the number of classes."""


@dataclass(frozen=True, eq=False)
class EmbeddingModel(Model, kind="embedding"):
    """Scores of classes by their prototypes.

    The Euclidean discriminant is ``2 P_c z - |P_c|^2`` for ``z = V x``, the negative squared
    distance up to a constant that all classes share; the linear discriminant is ``P_c z``.

    Attributes
    ----------
    map : float32 array V of shape (embedding, n_features)
    prototypes : float32 array P of shape (n_classes, embedding)
    discriminant : ``euclidean`` or ``linear``.
    centres : float32 array (n_cells, embedding): ranking searches only the `probes` cells nearest
        to a row; None for exact ranking. Scores are always exact.
    """

    map: Float
    prototypes: Float
    discriminant: str = "euclidean"
    centres: Float | None = None
    probes: int = 1

    def __post_init__(self) -> None:
        if self.discriminant not in DISCRIMINANTS:
            raise InputError(f"The discriminant of an embedding cannot be {self.discriminant!r}.")
        check_array(self.map, "The map of an embedding", (None, None))
        dim = len(self.map)
        check_array(self.prototypes, "The prototypes of an embedding", (None, dim))
        if self.centres is not None:
            check_array(self.centres, "The centres of an embedding", (None, dim))
        check_count(self.probes, "The number of probed cells")

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.prototypes)

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return int(self.map.shape[1])

    @cached_property
    def _search(self) -> Prototypes:
        offsets = -np.square(self.prototypes).sum(axis=1, dtype=np.float32)
        if self.discriminant == "linear":
            offsets[:] = 0.0
        scale = DISCRIMINANTS[self.discriminant].scale
        return Prototypes(self.prototypes, offsets, scale, self.centres, self.probes)

    def embed(self, X: Float) -> Float:
        """Return the embedding of rows, float32 of shape (n_samples, embedding)."""
        Z: Float = X @ self.map.T
        return Z

    def scores_of(self, X: Float, classes: slice) -> Float:
        """Return the scores of some classes only."""
        search = self._search
        Z = self.embed(X)
        Z *= np.float32(search.scale)
        scores: Float = Z @ self.prototypes[classes].T
        scores += search.offsets[classes]
        return scores

    def scores(self, X: Float) -> Float:
        """Return the scores of rows, float32 of shape (n_samples, n_classes)."""
        return self.scores_of(X, slice(None))

    def rank(self, X: Float, k: int) -> tuple[NDArray[np.int32], Float]:
        """Return the `k` best classes of each row and their scores, best first; see `Model.rank`.

        With `centres` the search is approximate: a class may be missed.
        """
        return self._search.rank(X, self.best_of(k), map=self.map)

    def class_weights(self, label: int) -> tuple[Float, float]:
        """Return the weights and the bias of a class."""
        weights: Float = np.float32(self._search.scale) * (self.prototypes[label] @ self.map)
        return weights, float(self._search.offsets[label])

    def uncentred(self, mean: Float) -> EmbeddingModel:
        """Return the model for rows from which `mean` (n_features,) was not subtracted.

        Distances do not change if rows and prototypes move together.
        """
        if self.discriminant != "euclidean":
            raise InputError("Centred rows need the Euclidean discriminant.")
        shift = self.map @ mean
        centres = None if self.centres is None else self.centres + shift
        return replace(self, prototypes=self.prototypes + shift, centres=centres)

    def neighbours(self, label: int, k: int) -> tuple[NDArray[np.int64], Float]:
        """Return the `k` classes with the nearest prototypes to that of a class, and distances."""
        differences = self.prototypes - self.prototypes[label]
        distances = np.sqrt(np.einsum("cd,cd->c", differences, differences))
        distances[label] = -1.0  # the class itself sorts first and is dropped
        order = np.argsort(distances, kind="stable")[1 : k + 1]
        return order, distances[order]


def concatenate(models: Sequence[EmbeddingModel]) -> EmbeddingModel:
    """Return the ensemble of models, whose scores are the sums of their scores [HM, 8.3]."""
    kinds = {(model.discriminant, model.n_classes, model.dim) for model in models}
    if len(kinds) != 1:
        raise InputError("An ensemble needs embeddings of the same classes and features.")
    maps = np.concatenate([model.map for model in models])
    prototypes = np.concatenate([model.prototypes for model in models], axis=1)
    return EmbeddingModel(maps, prototypes, models[0].discriminant)


def add_index(
    model: EmbeddingModel, X: Float, *, seed: int = 0, recall: float = RECALL
) -> tuple[EmbeddingModel, float]:
    """Return the model with an index for approximate ranking, and the index's recall on `X`.

    The number of probed cells is the smallest with which the rows `X` find the fraction `recall`
    of their `RECALL_AT` best classes.
    """
    from myriad.vocabularies.kmeans import learn_centres

    k = min(RECALL_AT, model.n_classes)
    n_cells = int(max(1, min(CELLS * model.n_classes**0.5, model.n_classes / 8)))
    centres = learn_centres(model.prototypes, n_cells, LearningContext(seed, threads=1))
    exact = replace(model, centres=None).rank(X, k)[0]
    cells = replace(model, centres=centres)._search.cells
    probes = cells.count_probes(model.embed(X), exact, recall)
    indexed = replace(model, centres=centres, probes=probes)
    return indexed, find_recall(exact, indexed.rank(X, k)[0])


TILE_ROWS, TILE_CLASSES = 256, 2048
PROBED_ROWS = 1024
"""Rows that probe cells together: the more, the larger the matrix products."""
SHARED_FROM = 1 << 24
"""Least number of rows times classes that is shared among threads."""


@dataclass(frozen=True, eq=False)
class Prototypes:
    """A point per class; the best class has the largest ``scale P_c z + offset_c``.

    Attributes
    ----------
    points : float32 array P of shape (n_classes, dim)
    offsets : float32 array of shape (n_classes,)
    scale : 2 to find the nearest point, 1 to find the largest inner product.
    centres : float32 array of shape (n_cells, dim), or None for exact search.
    probes : number of cells that are probed.
    """

    points: Float
    offsets: Float
    scale: float
    centres: Float | None = None
    probes: int = 1

    def rank(
        self, X: Float, k: int, *, map: Float | None = None
    ) -> tuple[NDArray[np.int32], Float]:
        """Return the `k` best classes of rows and their scores, best first.

        The rows are embedded, unless there is a `map` of shape (dim, n_features) that embeds them.
        """
        labels = np.full((len(X), k), -1, np.int32)
        best = np.full((len(X), k), -np.inf, np.float32)
        exact = self.centres is None
        search, size = (self._search, TILE_ROWS) if exact else (self._probe, PROBED_ROWS)
        if not exact:
            self.cells  # noqa: B018  computed before threads use them
        tiles = [slice(start, min(start + size, len(X))) for start in range(0, len(X), size)]

        def rank_tile(tile: slice) -> None:
            Z = X[tile] if map is None else X[tile] @ map.T
            search(Z, labels[tile], best[tile])

        if len(X) * len(self.points) < SHARED_FROM:
            ThreadPool(1, None).share(rank_tile, tiles)
        else:
            with open_threads() as pool:
                pool.share(rank_tile, tiles)
        return labels, best

    def _search(self, Z: Float, labels: NDArray[np.int32], best: Float) -> None:
        """Write the best classes of a tile of rows, from all classes."""
        scaled = np.float32(self.scale) * Z
        for first in range(0, len(self.points), TILE_CLASSES):
            tile = slice(first, first + TILE_CLASSES)
            products = scaled @ self.points[tile].T
            merge_top(products, self.offsets[tile], labels, best, first)

    def _probe(self, Z: Float, labels: NDArray[np.int32], best: Float) -> None:
        """Write the best classes of a tile of rows, from the probed cells."""
        self.cells.search(Z, self.offsets, self.scale, self.probes, labels, best)
        short = labels[:, -1] < 0
        if short.any():  # the probed cells have fewer than k classes: search all
            some_labels = np.full((int(short.sum()), labels.shape[1]), -1, np.int32)
            some_best = np.full(some_labels.shape, -np.inf, np.float32)
            self._search(Z[short], some_labels, some_best)
            labels[short], best[short] = some_labels, some_best

    @cached_property
    def cells(self) -> Cells:
        """The prototypes grouped by cell; computed at first use."""
        assert self.centres is not None
        return Cells.of(self.points, self.centres, nearest=self.scale != 1.0)


def find_recall(exact: NDArray[np.int32], found: NDArray[np.int32]) -> float:
    """Return the fraction of the exact best classes that was found, both (n_samples, k)."""
    hits = (exact[:, :, None] == found[:, None, :]).any(axis=2)
    return float(hits.mean()) if hits.size else 1.0
