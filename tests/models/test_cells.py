"""Searching cells: against a plain search of the same cells, ties, empty cells, counts of cells."""

import numpy as np
import pytest

from myriad.models.cells import Cells


def make_points(n=400, dim=6, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, dim)).astype(np.float32)
    centres = points[rng.choice(n, 20, replace=False)] + np.float32(0.1)
    return points, centres, rng.standard_normal((50, dim)).astype(np.float32)


def search_plainly(points, offsets, centres, Z, *, scale, probes, k, nearest):
    """The best classes of each row among those of its nearest cells, one row at a time."""
    P, centres, Z = (values.astype(np.float64) for values in (points, centres, Z))
    cell = ((P[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    labels = []
    for z in Z:
        closeness = -((z - centres) ** 2).sum(axis=1) if nearest else centres @ z
        inside = np.flatnonzero(np.isin(cell, np.argsort(-closeness)[:probes]))
        scores = scale * P[inside] @ z + offsets[inside]
        labels.append(inside[np.argsort(-scores, kind="stable")[:k]])
    return labels


def search(cells, Z, offsets, scale, probes, k):
    labels = np.full((len(Z), k), -1, np.int32)
    best = np.full((len(Z), k), -np.inf, np.float32)
    cells.search(Z, offsets, scale, probes, labels, best)
    return labels, best


@pytest.mark.parametrize("nearest", [True, False])
@pytest.mark.parametrize("probes", [1, 4, 20, 50])
def test_finds_what_a_plain_search_of_the_same_cells_finds(nearest, probes):
    points, centres, Z = make_points()
    offsets = -np.square(points).sum(axis=1) if nearest else np.zeros(400, np.float32)
    scale = 2.0 if nearest else 1.0
    cells = Cells.of(points, centres, nearest=nearest)
    labels, best = search(cells, Z, offsets, scale, probes, 3)
    expected = search_plainly(
        points, offsets, centres, Z, scale=scale, probes=probes, k=3, nearest=nearest
    )
    for row, wanted in zip(labels, expected, strict=True):
        assert row[: len(wanted)].tolist() == wanted.tolist()
        assert (row[len(wanted) :] == -1).all()
    scores = scale * Z @ points.T + offsets
    found = labels >= 0
    np.testing.assert_allclose(
        best[found], np.take_along_axis(scores, labels, axis=1)[found], atol=1e-5
    )


def test_ties_go_to_the_lowest_class_whatever_its_cell():
    points = np.zeros((8, 2), np.float32)
    cells = Cells.of(points, np.eye(2, dtype=np.float32), nearest=True)
    mixed = Cells(
        cells.centres, cells.offsets, np.array([0, 4, 8]),
        np.array([1, 3, 5, 7, 0, 2, 4, 6], np.int32), points,
    )  # fmt: skip
    labels, _ = search(mixed, np.ones((1, 2), np.float32), np.zeros(8, np.float32), 1.0, 2, 5)
    assert labels.tolist() == [[0, 1, 2, 3, 4]]


def test_a_centre_without_prototypes_is_an_empty_cell():
    points, centres, Z = make_points()
    far = np.full((1, centres.shape[1]), 100, np.float32)
    cells = Cells.of(points, np.concatenate([centres, far]), nearest=True)
    assert np.diff(cells.starts)[-1] == 0
    labels, _ = search(cells, Z + far, np.zeros(400, np.float32), 1.0, 1, 3)
    assert (labels == -1).all()


@pytest.mark.parametrize("part", [0.5, 0.95, 1.0])
def test_counts_the_cells_that_are_needed_and_not_one_more(part):
    points, centres, Z = make_points()
    offsets = -np.square(points).sum(axis=1)
    cells = Cells.of(points, centres, nearest=True)
    exact = np.argsort(-(2 * Z @ points.T + offsets), axis=1)[:, :5].astype(np.int32)

    def recall(probes):
        found = search(cells, Z, offsets, 2.0, probes, 5)[0]
        return (exact[:, :, None] == found[:, None]).any(axis=2).mean()

    probes = cells.count_probes(Z, exact, part)
    assert recall(probes) >= part
    assert probes == 1 or recall(probes - 1) < part
