"""The sources that trainers read: every row once, in the order that is announced."""

import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import myriad.store.mapped_shards as mapped_shards
import myriad.store.rows as rows_module
import myriad.store.store as store_module
from myriad.errors import InputError
from myriad.store import ArrayRows, BalancedRows, ScaledRows, SparseRows
from myriad.store.rows import shuffle_groups, window_size
from tests.store.making import DIM, all_rows, make_rows, write_store

SIZES = (10, 7, 10, 0, 3)


@pytest.fixture(
    params=["array", "memmap", "store", "coded", "selected", "selected-store", "sparse", "scaled"]
)
def source(request, tmp_path):
    """Return a source of rows and the rows it should give."""
    X = all_rows(SIZES)
    y = np.arange(len(X)) % 4
    if request.param == "array":
        return ArrayRows(X, y), X
    if request.param == "memmap":
        np.save(tmp_path / "x.npy", X.astype(np.float16))
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        return ArrayRows(mapped, y), X.astype(np.float16).astype(np.float32)
    if request.param == "sparse":
        return SparseRows(csr_matrix(X), y), X
    if request.param == "scaled":
        scale = np.linspace(0.5, 2.0, X.shape[1]).astype(np.float32)
        return ScaledRows(ArrayRows(X, y), scale), X * scale
    chosen = np.array([3, 29, 11, 5, 17, 18, 19, 28, 0])
    if request.param == "selected":
        return ArrayRows(X.astype(np.float64), y).select(chosen), X[chosen]
    store = write_store(tmp_path / "s", SIZES, kind="pq" if request.param == "coded" else "float32")
    if request.param == "selected-store":
        return store.rows().select(chosen), X[chosen]
    if request.param == "coded":
        X = store.code.decode(store.code.encode(X))
    return store.rows(), X


def gather(blocks):
    blocks = list(blocks)
    return np.concatenate([b.index for b in blocks]), np.concatenate([b.X for b in blocks])


@pytest.mark.parametrize("size", [1, 4, 9, 1000])
def test_stored_order(source, size):
    rows, X = source
    index, read = gather(rows.blocks(size))
    np.testing.assert_array_equal(index, np.arange(rows.n_rows))
    np.testing.assert_array_equal(read, X)


@pytest.mark.parametrize("size", [1, 4, 9, 1000])
def test_shuffled_order(source, size):
    rows, X = source
    blocks = list(rows.blocks(size, seed=3, epoch=2))
    index, read = gather(blocks)
    np.testing.assert_array_equal(index, rows.order(seed=3, epoch=2))
    np.testing.assert_array_equal(np.sort(index), np.arange(rows.n_rows))
    np.testing.assert_array_equal(read, X[index])
    assert all(len(block.X) == size for block in blocks[:-1])
    for block in blocks:
        assert block.X.dtype == np.float32
        assert block.X.flags.c_contiguous
        assert block.index.dtype == np.int64


def test_order_depends_on_seed_and_epoch_alone(source):
    rows, _ = source
    first = rows.order(seed=3, epoch=0)
    np.testing.assert_array_equal(first, rows.order(seed=3, epoch=0))
    assert (first != rows.order(seed=3, epoch=1)).any()
    assert (first != rows.order(seed=4, epoch=0)).any()
    assert (first != np.arange(rows.n_rows)).any()


def test_shape_and_labels(source):
    rows, X = source
    assert (rows.n_rows, rows.dim) == X.shape
    assert rows.labels.shape == (len(X),)
    assert rows.labels.dtype == np.int32
    assert len(rows.class_names) == 4


def test_selected_rows_keep_their_labels(source):
    rows, X = source
    chosen = [4, 1, 1, 7]
    selected = rows.select(chosen)
    np.testing.assert_array_equal(selected.labels, rows.labels[chosen])
    np.testing.assert_array_equal(gather(selected.blocks(3))[1], X[chosen])
    np.testing.assert_array_equal(selected.read([2, 0]), X[[1, 4]])
    assert selected.class_names == rows.class_names
    assert selected.select([]).n_rows == 0


def test_blocks_can_be_read_from_another_thread(source):
    rows, X = source
    found = {}
    threads = [
        threading.Thread(
            target=lambda e=e: found.update({e: gather(rows.blocks(4, seed=1, epoch=e))})
        )
        for e in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for epoch in range(4):
        np.testing.assert_array_equal(found[epoch][1], X[rows.order(seed=1, epoch=epoch)])


@pytest.mark.parametrize("bad", [[-1], [30], [0.5], [[1]], "x"])
def test_refuses_rows_that_do_not_exist(source, bad):
    for use in (source[0].select, source[0].read):
        with pytest.raises(InputError, match="ow"):
            use(bad)


def test_refuses_empty_blocks(source):
    with pytest.raises(InputError, match="at least one row"):
        source[0].blocks(0)


def test_windows_bound_the_shuffling():
    groups = np.split(np.arange(1000), range(10, 1000, 10))
    order = shuffle_groups(groups, 5, seed=0, epoch=0)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    for start in range(0, 1000, 50):
        assert len(np.unique(order[start : start + 50] // 10)) == 5
    inside = order[:50] // 10
    assert np.count_nonzero(np.diff(inside)) > 25  # groups do not come one after the other


def test_every_order_is_equally_likely():
    first = [shuffle_groups([np.arange(4)], 1, seed=s, epoch=0)[0] for s in range(2000)]
    assert np.bincount(first).min() > 400


def test_window_size():
    assert window_size(64 << 20) == 8
    assert window_size(1 << 40) == 1
    assert window_size(1) == 64


def test_shards_are_listed_by_first_use(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "LISTED_ROWS", 7)
    store = write_store(tmp_path / "s", (4,) * 9)
    rows = store.rows()
    order = rows.order(seed=1, epoch=0)
    used = [int(np.searchsorted(store.starts, rows.chosen[i], side="right")) - 1 for i in order]
    assert rows._list_shards(order) == list(dict.fromkeys(used))
    assert len(set(used)) > 1


def test_only_a_window_of_shards_is_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_shards, "WINDOW_GROUPS", 2)
    monkeypatch.setattr(store_module, "window_size", lambda size: 2)
    store = write_store(tmp_path / "s", (4,) * 9)
    mapped = []
    plain = store.read_shard
    store.read_shard = lambda number: mapped.append(number) or plain(number)
    gather(store.rows().blocks(3, seed=5))
    assert sorted(mapped) == list(range(9))  # each once, though only four are kept at a time


def test_large_arrays_are_shuffled_in_windows(monkeypatch):
    monkeypatch.setattr(rows_module, "_RUN_BYTES", 4 * DIM * 5)
    monkeypatch.setattr(rows_module, "window_size", lambda size, most: 3)
    order = ArrayRows(make_rows(100)).order(seed=0, epoch=0)
    np.testing.assert_array_equal(np.sort(order), np.arange(100))
    assert len(np.unique(order[:15] // 5)) == 3


def test_small_arrays_are_shuffled_completely():
    order = ArrayRows(np.zeros((5000, 300), np.float32)).order(seed=0, epoch=0)
    assert abs(np.corrcoef(order, np.arange(5000))[0, 1]) < 0.05


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int16, ">f4"])
def test_arrays_of_any_type(dtype):
    X = (10 * make_rows(20)).astype(dtype)
    (block,) = ArrayRows(X).blocks(20)
    np.testing.assert_array_equal(block.X, X.astype(np.float32))
    assert ArrayRows(X).labels.tolist() == [-1] * 20


def test_float64_blocks_on_request():
    X = make_rows(9).astype(np.float64) + 1e-12
    (block,) = ArrayRows(X, dtype=np.float64).select(np.arange(9)).blocks(9)
    np.testing.assert_array_equal(block.X, X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_bad_values_name_their_row(value):
    X = make_rows(20).astype(np.float64)
    X[13, 4] = value
    with pytest.raises(InputError, match="Row 13 "):
        list(ArrayRows(X).blocks(6))


def test_opposite_infinities_are_found():
    X = make_rows(5)
    X[2, :2] = np.inf, -np.inf
    with pytest.raises(InputError, match="Row 2 "):
        ArrayRows(X).read([0, 2])


@pytest.mark.parametrize("view", [lambda rows: rows, BalancedRows])
def test_zero_copy_blocks_have_the_same_rows(view):
    X = make_rows(30)
    rows = view(ArrayRows(X, np.arange(30) % 3).select(np.arange(29, 4, -1)))
    shared = rows.zero_copy_blocks(7, seed=3, epoch=1)
    for block, other in zip(shared, rows.blocks(7, seed=3, epoch=1), strict=True):
        np.testing.assert_array_equal(block.index, other.index)
        assert np.shares_memory(block.X, X)
        assert not block.X.flags.writeable
        np.testing.assert_array_equal(block.X[block.positions], other.X)
    assert X.flags.writeable


def test_computed_or_mapped_rows_are_not_zero_copy(tmp_path):
    X = make_rows(30)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    sources = [
        mapped,
        np.asarray(mapped)[:20],
        np.asfortranarray(X),
        X.astype(np.float16),
        X[:, :2],
    ]
    rows = [*map(ArrayRows, sources), ScaledRows(ArrayRows(X), np.ones(DIM))]
    rows += [SparseRows(csr_matrix(X)), write_store(tmp_path / "s", SIZES).rows()]
    for source in rows:
        assert source.zero_copy_blocks(7, seed=3, epoch=1) is None


def test_huge_values_are_no_error():
    X = np.full((4, DIM), 3e38, np.float32)
    np.testing.assert_array_equal(ArrayRows(X).read([1, 2]), X[:2])


@pytest.mark.parametrize(
    ("X", "y", "names"),
    [
        (np.zeros(3), None, None),
        ([[1.0]], None, None),
        (np.zeros((2, 2), bool), None, None),
        (np.zeros((2, 2)), [0], None),
        (np.zeros((2, 2)), [0.0, 1.0], None),
        (np.zeros((2, 2)), [0, -2], None),
        (np.zeros((2, 2)), [0, 2], ["a", "b"]),
    ],
)
def test_bad_arrays_are_refused(X, y, names):
    with pytest.raises(InputError):
        ArrayRows(X, y, names)


def test_selection_copies_nothing_and_names_the_row_of_the_array():
    X = make_rows(20)
    X[13] = np.nan
    selected = ArrayRows(X).select(np.arange(5, 20)).select([1, 8])
    assert selected.X is X
    np.testing.assert_array_equal(selected.read([0]), X[[6]])
    with pytest.raises(InputError, match="Row 13 "):
        selected.read([1])


@pytest.mark.parametrize("kind", ["float32", "float16", "scalar"])
@pytest.mark.parametrize("groups", [1, 64])
def test_rows_of_many_shards_are_read_when_few_stay_mapped(tmp_path, monkeypatch, kind, groups):
    monkeypatch.setattr(mapped_shards, "WINDOW_GROUPS", groups)
    store = write_store(tmp_path / "s", SIZES, kind=kind)
    rows, order = store.rows(), np.random.default_rng(0).permutation(sum(SIZES))
    expected = np.stack([rows.read([number])[0] for number in range(rows.n_rows)])
    np.testing.assert_array_equal(rows.read(order), expected[order])
    for block in rows.blocks(7, seed=1):
        np.testing.assert_array_equal(block.X, expected[block.index])
