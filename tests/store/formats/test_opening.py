"""Every format of rows: the same rows and labels, in the same order, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_matrix, save_npz
from sklearn.datasets import load_svmlight_file

from myriad.errors import InputError
from myriad.store.formats import common_dtype, is_row_data, open_row_files, read_labels, svmlight
from tests.store.formats.writing import WRITERS, X, Y, write_clip, write_npy, write_svmlight


def read(files, size=7):
    blocks = [block for file in files for block in file.checked_blocks(size)]
    assert all(len(block) <= size for block in blocks)
    return np.concatenate(blocks)


@pytest.mark.parametrize("form", WRITERS)
def test_rows_and_labels_come_back(tmp_path, form):
    files = open_row_files(WRITERS[form](tmp_path))
    np.testing.assert_array_equal(read(files), X)
    found = read_labels(files)
    assert found.class_names == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(found.labels, Y)


@pytest.mark.parametrize("form", ["npz", "parquet", "fixed", "clip"])
def test_float16_is_kept(tmp_path, form):
    files = open_row_files(WRITERS[form](tmp_path, X.astype(np.float16)))
    assert common_dtype(files) == "float16"
    np.testing.assert_array_equal(read(files), X.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("kind", ["float64", "int8", ">f4"])
def test_other_numbers_become_float32(tmp_path, kind):
    rows = (10 * X).astype(kind)
    files = open_row_files(write_npy(tmp_path, rows))
    assert common_dtype(files) == "float32"
    np.testing.assert_array_equal(read(files), rows.astype(np.float32))


@pytest.mark.parametrize("chunk", [1, 50, 99, 100, 101, 400])
def test_svmlight_in_chunks_loses_no_line(tmp_path, monkeypatch, chunk):
    (path,) = write_svmlight(tmp_path, X[:8], Y[:8])
    monkeypatch.setattr(svmlight, "CHUNK_BYTES", chunk)
    files = open_row_files([path])
    np.testing.assert_array_equal(read(files, 3), load_svmlight_file(str(path))[0].toarray())
    np.testing.assert_array_equal(read_labels(files).labels, np.unique(Y[:8], return_inverse=1)[1])


@pytest.mark.parametrize(
    "line",
    [
        "1 -1:2",
        "1 2147483646:1",
        "1 2147483648:1",
        "1 99999999999999999999:1",
        "1 16777217:1",
        "1 3:2 1:1",
        "1 1:2 1:3",
    ],
)
def test_svmlight_with_impossible_indices_is_refused(tmp_path, line):
    (tmp_path / "a.svm").write_text(f"1 1:1\n{line}\n")
    with pytest.raises(InputError, match=r"a\.svm") as caught:
        open_row_files([tmp_path / "a.svm"])
    assert "n_features" not in str(caught.value)


def test_svmlight_may_count_from_nought(tmp_path):
    (tmp_path / "a.svm").write_text("1 0:2.5 2:1\n2 1:3 # a remark\n")
    np.testing.assert_array_equal(
        read(open_row_files([tmp_path / "a.svm"])), [[2.5, 0, 1], [0, 3, 0]]
    )


def test_a_folder_of_files_and_files_of_other_widths(tmp_path):
    for name in ("b", "a"):
        (tmp_path / "all" / name).mkdir(parents=True)
        write_npy(tmp_path / "all" / name)
        (tmp_path / "all" / name / "label.npy").unlink()
    files = open_row_files([tmp_path / "all"])
    assert [file.path.parent.name for file in files] == ["a", "b"]
    np.save(tmp_path / "wide.npy", np.zeros((2, 7), np.float32))
    with pytest.raises(InputError, match=r"wide\.npy has rows of 7 features, .*rows\.npy of 6"):
        open_row_files([tmp_path / "all", tmp_path / "wide.npy"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", ["npz", "parquet", "fixed", "svmlight", "clip"])
def test_a_bad_value_is_named_by_file_and_row(tmp_path, form, bad):
    rows = X.copy()
    rows[17, 2] = bad
    with pytest.raises(InputError, match=r"(rows|fixed|img_emb_0)\.\w+"):
        read(open_row_files(WRITERS[form](tmp_path, rows)))
    if form != "svmlight":  # scikit-learn itself has something to say of NaN there
        with pytest.raises(InputError, match="row 17"):
            read(open_row_files(list(tmp_path.iterdir())), 5)


def test_a_value_beyond_float32_is_bad(tmp_path):
    with pytest.raises(InputError, match="row 1: a NaN, an infinite or a too large"):
        read(open_row_files(write_npy(tmp_path, np.array([[1.0], [1e300]]))))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (np.zeros((0, 4)), "holds no rows"),
        (np.zeros((4, 0)), "no features"),
        (np.zeros(4), "two dimensions"),
        (np.array([["a", "b"]]), "not numbers"),
        (np.array([[{}, []]], dtype=object), "Python objects"),
    ],
)
def test_arrays_that_are_no_rows(tmp_path, rows, says):
    np.save(tmp_path / "rows.npy", rows, allow_pickle=True)
    with pytest.raises(InputError, match=rf"rows\.npy.*{says}"):
        open_row_files([tmp_path / "rows.npy"])
    np.savez(tmp_path / "rows.npz", rows=rows, allow_pickle=True)
    with pytest.raises(InputError, match=r"rows\.npz"):
        open_row_files([tmp_path / "rows.npz"])


def test_npz_without_rows_are_refused(tmp_path):
    np.savez(tmp_path / "flat.npz", label=np.zeros(3))
    with pytest.raises(InputError, match="no array of two dimensions"):
        open_row_files([tmp_path / "flat.npz"])
    save_npz(tmp_path / "sparse.npz", csr_matrix(np.eye(3)))
    with pytest.raises(InputError, match="a sparse matrix of SciPy"):
        open_row_files([tmp_path / "sparse.npz"])


@pytest.mark.parametrize("name", ["rows.npy", "rows.npz", "rows.parquet"])
@pytest.mark.parametrize("length", [0, 5, 60, 200, -10])
def test_a_cut_file_is_refused(tmp_path, name, length):
    WRITERS.get(name[5:], write_npy)(tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:length])
    with pytest.raises(InputError, match=name):
        read(open_row_files([tmp_path / name]))


def test_parquet_without_the_column_or_with_rows_of_other_lengths(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"emb": [[1.0, 2.0], [1.0]], "more": [[1], [2]]}), path)
    with pytest.raises(InputError, match="no column 'rows'; its columns: emb, more"):
        open_row_files([path], "rows")
    with pytest.raises(InputError, match=r"lists of numbers: emb, more\. Name .* --rows"):
        open_row_files([path])
    with pytest.raises(InputError, match="row 1: 1 features where the rows before have 2"):
        read(open_row_files([path], "emb"))
    pq.write_table(pa.table({"emb": [[1.0, 2.0], None]}), path)
    with pytest.raises(InputError, match="row 1: 'emb' is empty"):
        read(open_row_files([path]), 1)
    pq.write_table(pa.table({"emb": [[1.0, 2.0], [3.0, None]]}), path)
    with pytest.raises(InputError, match="row 1: a value is missing"):
        read(open_row_files([path]))


def test_clip_folders_that_do_not_fit(tmp_path):
    (folder,) = write_clip(tmp_path)
    assert is_row_data(folder)
    table = folder / "metadata" / "metadata_1.parquet"
    table.rename(folder / "metadata" / "metadata_2.parquet")
    with pytest.raises(InputError, match=r"img_emb_1\.npy has no metadata"):
        open_row_files([folder])
    (folder / "metadata" / "metadata_2.parquet").rename(table)
    np.save(folder / "img_emb" / "img_emb_1.npy", X[:3])
    with pytest.raises(
        InputError, match=r"metadata_1\.parquet has 30 rows, .*img_emb_1\.npy has 3"
    ):
        open_row_files([folder])


def test_names_that_are_no_files_of_rows(tmp_path):
    (tmp_path / "a.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.svm").write_text("1 a:b\n")
    for name, says in [
        ("a.txt", "is not a file of rows"),
        ("empty", "holds no files of rows"),
        ("none.npy", "does not exist"),
        ("bad.svm", "is not an svmlight file"),
    ]:
        with pytest.raises(InputError, match=rf"{name}.*{says}"):
            open_row_files([tmp_path / name])


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("n_rows", [1, 1_000_000])
def test_parquet_of_zeros_is_refused_before_it_takes_memory(tmp_path, kind, n_rows):
    """Few bytes may state any number of equal values; here some kilobytes state 18 MB or more."""
    values = np.zeros(9_000_000, kind)
    rows = pa.FixedSizeListArray.from_arrays(values, len(values) // n_rows)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"rows": rows}), path, compression="zstd", store_schema=False)
    with pytest.raises(InputError, match=r"a\.parquet: rows is compressed .* to 1"):
        open_row_files([path])


def test_parquet_columns_of_the_same_name_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([list(X), list(X)], names=["rows", "rows"]), path)
    with pytest.raises(InputError, match="several columns 'rows'"):
        open_row_files([path], rows="rows")


@pytest.mark.parametrize("several", [False, True])
def test_parquet_labels_that_repeat_thousands_of_times_are_refused(tmp_path, several):
    label = pa.DictionaryArray.from_arrays(np.zeros(50, np.int32), ["x" * 1_000_000])
    if several:
        label = pa.ListArray.from_arrays(np.arange(51, dtype=np.int32), label)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"rows": list(X), "label": label}), path, store_schema=False)
    with pytest.raises(InputError, match="'label' have more than 4096 bytes"):
        read_labels(open_row_files([path]))


def test_parquet_is_not_called_damaged_where_the_system_allows_no_threads(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise pa.ArrowException("Unknown error: Failed to launch worker thread: try again")

    (file,) = open_row_files(WRITERS["parquet"](tmp_path))
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refuse)
    with pytest.raises(pa.ArrowException, match="Failed to launch"):
        read([file])
