"""Ready-made rows to a store and back: the same rows, resumable, in place or copied."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from myriad.errors import InputError
from myriad.pipelines.run import Run
from myriad.pipelines.stores import importing
from myriad.pipelines.stores.exporting import export
from myriad.pipelines.stores.importing import ImportOptions, import_rows
from myriad.store import Store
from tests.store.formats.writing import WRITERS, X, Y, write_npy


def labelled(folder):
    return ImportOptions(labels=(str(folder / "label.npy"),))


def read_all(store):
    """Return the rows and labels in the order of the files they come from."""
    order = np.argsort([int(path.rpartition(":")[2]) for path in store.paths])
    return store.rows().read(order), store.labels[order], store.splits[order]


@pytest.mark.parametrize("form", ["npz", "parquet", "svmlight"])
def test_rows_are_copied_in_random_order(tmp_path, monkeypatch, form):
    monkeypatch.setattr(importing, "BLOCK_BYTES", 200)
    found = import_rows(WRITERS[form](tmp_path), tmp_path / "store")
    store = found.store
    rows, labels, splits = read_all(store)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, Y)
    assert [path.rpartition(":")[2] for path in store.paths] != [str(i) for i in range(50)]
    assert set(splits) == {"train", "val"}
    assert store.plan["validation"] == "drawn"
    assert found.to_json()["rows"] == 50
    assert not (tmp_path / "store" / "staged.npy").exists()


def test_a_store_is_the_same_on_any_number_of_threads_and_other_for_a_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "shard_rows", lambda row_bytes: 8)
    files = write_npy(tmp_path)
    for name, seed, threads in (("a", 0, 1), ("b", 0, 3), ("c", 1, 1)):
        run = Run(seed=seed, threads=threads)
        import_rows(files, tmp_path / name, options=labelled(tmp_path), run=run)
    first, second, third = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "abc"
    )
    assert first == second
    assert len(first) == 4 + 7
    assert first["shard-00000.arrow"] != third["shard-00000.arrow"]


def test_an_interrupted_import_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "shard_rows", lambda row_bytes: 8)
    files = WRITERS["parquet"](tmp_path)
    import_rows(files, tmp_path / "whole", run=Run(threads=1))
    written = []
    write = importing.StoreWriter.write_shard

    def fail(self, number, *rest, **options):
        if number == 3:
            raise KeyboardInterrupt
        written.append(number)
        write(self, number, *rest, **options)

    monkeypatch.setattr(importing.StoreWriter, "write_shard", fail)
    with pytest.raises(KeyboardInterrupt):
        import_rows(files, tmp_path / "store", run=Run(threads=1))
    assert (tmp_path / "store" / "staged.npy").exists()
    with pytest.raises(InputError, match="unfinished"):
        Store.open(tmp_path / "store")
    with pytest.raises(InputError, match="seed = 0, and now it is 1"):
        import_rows(files, tmp_path / "store", run=Run(resume=True, seed=1))
    monkeypatch.setattr(importing.StoreWriter, "write_shard", write)
    import_rows(files, tmp_path / "store", run=Run(resume=True))
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "store" / path.name).read_bytes() == path.read_bytes()
    assert len(list((tmp_path / "store").iterdir())) == len(list((tmp_path / "whole").iterdir()))


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_rows_in_place_are_those_of_the_file(tmp_path, kind):
    files = write_npy(tmp_path, X.astype(kind))
    options = ImportOptions(labels=(str(tmp_path / "label.npy"),), in_place=True)
    store = import_rows(files, tmp_path / "store", options=options).store
    assert not list((tmp_path / "store").glob("shard-*"))
    assert (store.dtype, store.n_rows) == (kind, 50)
    np.testing.assert_array_equal(store.rows().read(np.arange(50)), X.astype(kind))
    np.testing.assert_array_equal(store.labels, Y)
    blocks = list(store.rows("train").blocks(16, seed=1))
    seen = np.concatenate([block.index for block in blocks])
    assert sorted(seen) == list(range(store.rows("train").n_rows))


def test_files_that_a_store_refers_to_are_watched(tmp_path):
    (path,) = files = write_npy(tmp_path)
    options = ImportOptions(labels=(str(tmp_path / "label.npy"),), in_place=True)
    import_rows(files, tmp_path / "store", options=options)
    os.utime(path)  # touched, yet the same
    assert Store.open(tmp_path / "store").rows().read([3]).shape == (1, 6)
    changed = X.copy()
    changed[7] += 1
    np.save(path, changed)
    with pytest.raises(InputError, match=r"rows\.npy was changed"):
        Store.open(tmp_path / "store").rows().read([3])
    np.save(path, X[:5])
    with pytest.raises(InputError, match=r"rows\.npy has \d+ bytes"):
        Store.open(tmp_path / "store")
    path.unlink()
    with pytest.raises(InputError, match=r"rows\.npy.*No such file"):
        Store.open(tmp_path / "store")


def test_in_place_is_for_plain_arrays(tmp_path):
    options = ImportOptions(in_place=True)
    with pytest.raises(InputError, match=r"rows\.npz: --in-place is for \.npy"):
        import_rows(WRITERS["npz"](tmp_path), tmp_path / "store", options=options)
    options = ImportOptions(labels=(str(tmp_path / "label.npy"),), in_place=True)
    with pytest.raises(InputError, match="holds float64: --in-place needs"):
        import_rows(write_npy(tmp_path, X.astype(float)), tmp_path / "store", options=options)
    assert not (tmp_path / "store").exists()
    bad = X.copy()
    bad[31, 0] = np.nan
    with pytest.raises(InputError, match=r"rows\.npy, row 31: a NaN"):
        import_rows(write_npy(tmp_path, bad), tmp_path / "store", options=options)


def test_a_bad_row_is_named(tmp_path):
    bad = X.copy()
    bad[31, 0] = np.inf
    with pytest.raises(InputError, match=r"rows\.npy, row 31: a NaN"):
        import_rows(write_npy(tmp_path, bad), tmp_path / "store", options=labelled(tmp_path))


def test_stated_parts_are_kept_and_groups_stay_together(tmp_path):
    groups = np.arange(50) // 5
    parts = ["test" if group == 9 else "" for group in groups]
    table = {"rows": list(X), "label": Y % 2, "split": parts, "group": groups}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    store = import_rows([tmp_path / "a.parquet"], tmp_path / "store").store
    _, _, splits = read_all(store)
    assert set(splits[45:]) == {"test"}
    assert "test" not in splits[:45]
    assert "val" in splits
    assert all(len(set(splits[groups == group])) == 1 for group in range(10))


def test_several_labels_a_row(tmp_path):
    names = [["a"], ["a", "b"], ["c"], ["b"]] * 5
    pq.write_table(pa.table({"rows": list(X[:20]), "label": names}), tmp_path / "a.parquet")
    for name, in_place in (("copied", False), ("referred", True)):
        paths, options = [tmp_path / "a.parquet"], ImportOptions()
        if in_place:
            np.save(tmp_path / "a.npy", X[:20])
            options = ImportOptions((str(paths[0]),), in_place=True)
            paths = [tmp_path / "a.npy"]
        store = import_rows(paths, tmp_path / name, options=options).store
        for row, path in enumerate(store.paths):
            number = int(path.rpartition(":")[2])
            found = [store.class_names[c] for c in store.sets.of(row)]
            assert found == names[number]


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_an_exported_store_can_be_imported(tmp_path, kind):
    store = import_rows(
        write_npy(tmp_path, X.astype(kind)), tmp_path / "store", options=labelled(tmp_path)
    ).store
    found = export(tmp_path / "store", tmp_path / "out")
    rows = np.load(tmp_path / "out" / "rows.npy")
    assert rows.dtype == kind
    np.testing.assert_array_equal(rows, store.rows().read(np.arange(50)))
    table = pq.read_table(tmp_path / "out" / "rows.parquet").to_pydict()
    assert table["path"] == store.paths
    assert table["split"] == store.splits.tolist()
    assert found.to_json()["rows"] == 50
    options = ImportOptions((str(tmp_path / "out" / "rows.parquet"),), in_place=True)
    again = import_rows([tmp_path / "out" / "rows.npy"], tmp_path / "again", options=options).store
    np.testing.assert_array_equal(again.labels, store.labels)
    assert again.paths == store.paths
    assert again.splits.tolist() == store.splits.tolist()
    with pytest.raises(InputError, match=r"rows\.npy exists"):
        export(tmp_path / "store", tmp_path / "out")
    export(tmp_path / "store", tmp_path / "out", run=Run(overwrite=True))
    with pytest.raises(InputError, match="has the name of a file"):
        export(tmp_path / "store", tmp_path / "rows.parquet")
