"""Rows that are left by address are the rows that were meant."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.store import ArrayRows, BalancedRows, LocalRows, Rows, ScaledRows, open_rows, share_rows
from tests.pipelines.studying import make_store


def rows_of(n=50, dim=4):
    X = np.random.default_rng(0).standard_normal((n, dim)).astype(np.float32)
    return ArrayRows(X, np.arange(n) % 5, weights=1.0 + np.arange(n))


def check_same(found: Rows, meant: Rows) -> None:
    assert (found.n_rows, found.dim) == (meant.n_rows, meant.dim)
    np.testing.assert_array_equal(found.labels, meant.labels)
    np.testing.assert_array_equal(
        found.read(np.arange(found.n_rows)), meant.read(np.arange(meant.n_rows))
    )
    for epoch in range(2):
        np.testing.assert_array_equal(
            found.order(seed=3, epoch=epoch), meant.order(seed=3, epoch=epoch)
        )


@pytest.mark.parametrize(
    "see",
    [
        lambda rows: rows,
        lambda rows: rows.select(np.arange(3, 40)),
        lambda rows: ScaledRows(rows.select(np.arange(3, 40)), np.arange(1, 5, dtype=np.float32)),
        BalancedRows,
    ],
)
@pytest.mark.parametrize("kind", ["array", "store"])
def test_rows_come_back(tmp_path, see, kind):
    source = rows_of() if kind == "array" else make_store(tmp_path / "s", dim=4).rows("train")
    meant = see(source)
    found = open_rows(share_rows(meant, tmp_path / "left"))
    check_same(found, meant)
    if kind == "array":
        np.testing.assert_array_equal(found.weights, meant.weights)
    assert type(found) is type(meant)


def test_label_sets_come_back(tmp_path):
    sets = LabelSets.from_lists([[0, 2], [1], []])
    meant = ArrayRows(np.eye(3, dtype=np.float32), sets)
    found = open_rows(share_rows(meant, tmp_path))
    np.testing.assert_array_equal(found.sets.classes, sets.classes)
    np.testing.assert_array_equal(found.sets.starts, sets.starts)


def test_the_same_rows_are_written_once(tmp_path):
    first, second = share_rows(rows_of(), tmp_path), share_rows(rows_of(), tmp_path)
    assert first == second
    assert len(list(tmp_path.iterdir())) == 2


def test_rows_of_this_process_need_no_files():
    rows = rows_of()
    assert open_rows(LocalRows(rows)) is rows


def test_other_rows_are_refused(tmp_path):
    class Other(ArrayRows):
        pass

    with pytest.raises(InputError, match="a store or an array"):
        share_rows(Other(np.eye(2, dtype=np.float32)), tmp_path)
