"""Classes in an embedding: groups that are close together, and a map of all [HM, 9.1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.models import EmbeddingModel, FactoredModel, Model

MOST_GROUPS, MOST_NAMES = 24, 8
MOST_POINTS = 5000
"""Maximum number of classes on the map; a random sample of more is shown."""
CLOSE = 0.25
"""Fraction of the distances from a class to its nearest neighbour that counts as close."""


def describe_embedding(model: Model, class_names: Sequence[str]) -> dict[str, Any]:
    """Return groups of close classes, and the position of each class on the map, if any.

    The keys are those of a report's evidence: ``groups`` and ``places``.
    """
    points = locate_classes(model)
    if points is None or len(points) < 3:
        return {}
    nearest, distances = find_nearest(points)
    groups = [
        {"names": [class_names[c] for c in group[:MOST_NAMES]], "size": len(group)}
        for group in find_groups(nearest, distances)[:MOST_GROUPS]
    ]
    chosen = np.arange(model.n_classes)
    if model.n_classes > MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).permutation(model.n_classes)[:MOST_POINTS])
    coordinates = [
        {"name": class_names[c], "x": round(float(x), 2), "y": round(float(y), 2)}
        for c, (x, y) in zip(chosen.tolist(), map_points(points[chosen]), strict=True)
    ]
    return {"groups": groups, "places": coordinates}


def locate_classes(model: Model) -> Float | None:
    """Return the positions of classes in the latent space of a model, (n_classes, dim), if any."""
    if isinstance(model, EmbeddingModel):
        return model.prototypes
    if isinstance(model, FactoredModel) and model.n_latents:
        return model.class_latents
    return None


def find_nearest(points: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nearest other point of each, and its distance."""
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    squares, numbers = index.search(points, 2)
    itself = numbers[:, 0] == np.arange(len(points))
    nearest = np.where(itself, 1, 0)  # of two equal points the other one may come first
    rows = np.arange(len(points))
    return numbers[rows, nearest], np.sqrt(np.maximum(squares[rows, nearest], 0))


def find_groups(
    nearest: NDArray[np.int64], distances: NDArray[np.float32]
) -> list[NDArray[np.int64]]:
    """Return groups of points that are linked to near neighbours, the closest groups first."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(nearest)
    close = np.flatnonzero(distances <= np.quantile(distances, CLOSE))
    links = coo_matrix((np.ones(len(close)), (close, nearest[close])), shape=(n, n))
    _, labels = connected_components(links, directed=False)
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    groups = [some[np.argsort(distances[some], kind="stable")] for some in members if len(some) > 1]
    return sorted(groups, key=lambda group: float(distances[group].min()))


def map_points(points: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return coordinates between 0 and 100 for each point: its first two principal components."""
    from sklearn.decomposition import PCA  # which takes longer to import than all of `train`

    if points.shape[1] < 2:
        points = np.repeat(points, 2, axis=1)
    flat = PCA(2, random_state=0).fit_transform(points.astype(np.float64))
    low, high = flat.min(axis=0), flat.max(axis=0)
    return np.asarray(100.0 * (flat - low) / np.maximum(high - low, 1e-12))
