"""Counting by ranges: the same information, bit for bit, as in one pass on one machine."""

import numpy as np
import pytest

from myriad.codes import draw_rotation
from myriad.measures import LabelSets
from myriad.parallel import LocalExecutor, Workers
from myriad.store import ArrayRows, counting, feature_information

DIM, CLASSES = 12, 6


def make_rows(n=500, *, several=False):
    rng = np.random.default_rng(3)
    labels = rng.integers(-1, CLASSES, n)
    X = (rng.standard_normal((n, DIM)) + 0.3 * labels[:, None]).astype(np.float32)
    if not several:
        return ArrayRows(X, labels, list("abcdef"))
    sets = [sorted({c, *rng.integers(0, CLASSES, 2)}) if c >= 0 else [] for c in labels.tolist()]
    return ArrayRows(X, LabelSets.from_lists(sets), list("abcdef"))


class Noting(LocalExecutor):
    """A mapper that notes how many ranges it was given."""

    def __init__(self):
        super().__init__(2)
        self.ranges = []

    def map(self, function, items):
        items = list(items)
        self.ranges.append(len(items))
        return super().map(function, items)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("bins", [None, 4])
@pytest.mark.parametrize("rotated", [False, True])
def test_workers_change_nothing(tmp_path, monkeypatch, several, bins, rotated):
    rows = make_rows(several=several)
    rotation = draw_rotation(rows.X) if rotated else None
    here = feature_information(rows, bins=bins, row_map=rotation, threads=1)
    monkeypatch.setattr(counting, "READ_BYTES", 4 * DIM * 37)
    executor = Noting()
    workers = Workers(executor, tmp_path / "ranges")
    there = feature_information(rows, bins=bins, row_map=rotation, workers=workers)
    np.testing.assert_array_equal(here, there)
    assert here.max() > 0
    assert len(executor.ranges) == (1 if bins is None else 2)
    assert min(executor.ranges) >= 2
    assert list((tmp_path / "ranges").iterdir()) == []


def test_ranges_end_where_blocks_do(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "READ_BYTES", 4 * DIM * 37)
    workers = Workers(LocalExecutor(3), tmp_path)
    counter = counting.DistributedCounter(make_rows(), None, workers, lambda n: None)
    ranges = counter._cut(1)
    assert [first % 37 for first, _ in ranges] == [0] * 12
    assert [last for _, last in ranges] == [first for first, _ in ranges[1:]] + [500]
    assert len(counter._cut(1 << 40)) == 3  # counters larger than the rows: one range per worker
    counter.close()
