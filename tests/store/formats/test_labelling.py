"""Labels of rows: columns, files, folder names; several per row; splits and groups."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from myriad.errors import InputError
from myriad.store.formats import FileRows, open_row_files, read_labels

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
NAMES = ["cat", "dog", "ant", "dog"]


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    return open_row_files([tmp_path / "rows.npy"])


def write(path, content):
    if path.suffix == ".npy":
        np.save(path, content)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(content), path)
    else:
        path.write_text(content, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.txt", "cat\ndog\nant\ndog\n\n"),
        ("l.txt", "\ufeffcat\r\ndog\r\nant\r\ndog"),
        ("l.csv", "Label,extra\ncat,1\ndog,2\nant,3\ndog,4\n"),
        ("l.npy", np.array(NAMES)),
        ("l.parquet", {"label": NAMES}),
        ("l.parquet", {"label": pa.array(NAMES).dictionary_encode()}),
    ],
)
def test_labels_from_a_file(tmp_path, files, name, content):
    found = read_labels(files, [write(tmp_path / name, content)])
    assert found.class_names == ["ant", "cat", "dog"]
    assert found.labels.tolist() == [1, 2, 0, 2]
    assert found.labels.dtype == np.int32
    assert found.sets is None


def test_numbers_are_named_and_sorted_by_value(tmp_path, files):
    for labels in (np.array([10, 9, -1, 10]), np.array([10.0, 9.0, -1.0, 10.0])):
        found = read_labels(files, [write(tmp_path / "l.npy", labels)])
        assert found.class_names == ["-1", "9", "10"]
        assert found.labels.tolist() == [2, 1, 0, 2]


def test_labels_from_several_files_and_from_folders(tmp_path):
    for name in ("dog", "ant"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "rows.npy", ROWS)
    files = open_row_files([tmp_path / "dog/rows.npy", tmp_path / "ant/rows.npy"])
    found = read_labels(files, ["folder"])
    assert (found.class_names, found.labels.tolist()) == (["ant", "dog"], [1] * 4 + [0] * 4)
    first = write(tmp_path / "a.txt", "x\n" * 3)
    second = write(tmp_path / "b.txt", "y\n" * 5)
    assert read_labels(files, [first, second]).labels.tolist() == [0] * 3 + [1] * 5


def test_splits_groups_and_paths_are_honoured(tmp_path, files):
    table = "label,split,group,path\ncat,train,g1,a.jpg\ndog,VALID,,b.jpg\n"
    table += "ant,,g0,c.jpg\ndog,test,g1,d.jpg\n"
    found = read_labels(files, [write(tmp_path / "l.csv", table)])
    assert found.splits.tolist() == ["train", "val", "", "test"]
    assert found.groups.tolist() == [1, -1, 0, 1]
    assert found.paths.to_pylist() == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.parquet", {"label": [["dog", "cat"], ["dog"], [], ["cat", "cat"]]}),
        ("l.parquet", {"label": pa.array([[1, 0], [1], [], [0, 0]], pa.large_list(pa.int8()))}),
    ],
)
def test_several_labels_a_row(tmp_path, files, name, content):
    found = read_labels(files, [write(tmp_path / name, content)])
    assert len(found.class_names) == 2
    assert [found.sets.of(i).tolist() for i in range(4)] == [[0, 1], [1], [], [0]]
    assert found.labels.tolist() == [0, 1, -1, 0]


def test_several_labels_in_a_text(tmp_path, files):
    found = read_labels(files, [write(tmp_path / "l.txt", "dog;cat\ndog\nant; dog\ncat\n")])
    assert found.class_names == ["ant", "cat", "dog"]
    assert [found.sets.of(i).tolist() for i in range(4)] == [[1, 2], [2], [0, 2], [1]]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("l.txt", "a\nb\n", r"l\.txt has 2 labels for the 4 rows of .*rows\.npy"),
        ("l.txt", "a\n\nb\nc\n", r"l\.txt, row 1: the label is empty"),
        ("l.txt", "a\nb;\nb\nc\n", r"label|class"),
        ("l.csv", "name\na\nb\nc\nd\n", "line 1: a column label is needed"),
        ("l.csv", "label,label\na,b\n", "no name twice"),
        ("l.csv", "label,split\na,\nb,odd\nc,\nd,\n", "row 1: split is 'odd'"),
        ("l.csv", "label,split\na,train\nb\nc,\nd,\n", "row 1: 1 cells, not 2"),
        ("l.csv", 'label\n"a\n', "CSV"),
        ("l.npy", np.zeros((4, 2)), "one dimension"),
        ("l.npy", np.array([0.5, 1, 2, 3]), "no texts or whole numbers"),
        ("l.parquet", {"label": ["a", None, "b", "c"]}, "row 1: the label is empty"),
        ("l.parquet", {"name": ["a", "b", "c", "d"]}, "no column 'label'; its columns: name"),
        ("l.pkl", "a", r"\.pkl is not a file of labels"),
    ],
)
def test_label_files_that_do_not_fit(tmp_path, files, name, content, says):
    with pytest.raises(InputError, match=says):
        read_labels(files, [write(tmp_path / name, content)])


def test_labels_that_are_not_there(tmp_path, files):
    with pytest.raises(InputError, match=r"rows\.npy has no column 'label'.*--labels"):
        read_labels(files)
    with pytest.raises(InputError, match=r"rows\.npy has no column 'labels.txt'"):
        read_labels(files, ["labels.txt"])
    np.save(tmp_path / "l.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects"):
        read_labels(files, [str(tmp_path / "l.npy")])


def test_rows_of_files_are_streamed_in_their_order(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    np.save(tmp_path / "b.npy", 100 + ROWS)
    labels = write(tmp_path / "l.txt", "a\nb\na\nb\na\nb\na\nb\n")
    rows = FileRows.open([tmp_path / "a.npy", tmp_path / "b.npy"], [labels])
    every = np.concatenate([ROWS, 100 + ROWS])
    for chosen in (np.arange(8), np.array([1, 3, 4, 7]), np.array([6])):
        some = rows.select(chosen)
        blocks = list(some.blocks(3))
        np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), every[chosen])
        assert np.concatenate([b.index for b in blocks]).tolist() == list(range(len(chosen)))
        assert [name.rpartition("/")[2] for name in some.paths] == [
            f"{'ab'[i // 4]}.npy:{i % 4}" for i in chosen
        ]
    for misuse in (lambda: rows.read([0]), lambda: list(rows.blocks(2, seed=0))):
        with pytest.raises(InputError, match="import"):
            misuse()
