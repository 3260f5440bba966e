"""Stores: what was written is what is read."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from myriad.errors import InputError, WorkError
from myriad.files import checksum, write_json
from myriad.measures import LabelSets
from myriad.store import Store, is_store, shard_rows
from myriad.store.shards import map_shard, write_batch
from tests.store.making import (
    CLASSES,
    DIM,
    all_rows,
    begin_store,
    make_code,
    make_rows,
    shard_content,
    write_store,
)

KINDS = ["float32", "float16", "pq", "scalar", "bits"]


def expected_rows(kind):
    rows = all_rows()
    code = make_code(kind)
    return rows.astype(kind).astype(np.float32) if code is None else code.decode(code.encode(rows))


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(tmp_path, kind):
    store = write_store(tmp_path / "s", kind=kind)
    contents = [shard_content(i, n) for i, n in enumerate((10, 7, 10, 0, 3))]
    assert (store.n_rows, store.n_shards) == (30, 5)
    assert store.dim == (9 if kind == "bits" else DIM)
    assert store.class_names == CLASSES
    assert store.dtype == (kind if kind.startswith("float") else "codes")
    np.testing.assert_array_equal(store.labels, np.concatenate([c["labels"] for c in contents]))
    assert store.labels.dtype == np.int32
    assert store.paths == [path for c in contents for path in c["paths"]]
    assert store.splits.tolist() == [split for c in contents for split in c["splits"]]
    assert store.bad == [item for c in contents for item in c["bad"]]
    assert store.recipe.size == 7
    np.testing.assert_array_equal(store.recipe.weights, np.arange(5.0))
    (block,) = store.rows().blocks(100)
    assert block.X.dtype == np.float32
    assert block.X.flags.c_contiguous
    np.testing.assert_array_equal(block.X, expected_rows(kind))
    sizes = {"float32": 48, "float16": 24, "pq": 2, "scalar": 12, "bits": 2}
    assert store.bytes_per_row == sizes[kind]


def test_codes_may_be_written_ready_made(tmp_path):
    writer = begin_store(tmp_path / "s", 1, kind="pq")
    content = shard_content(0)
    writer.write_shard(0, **content | {"rows": writer.code.encode(content["rows"])})
    writer.finish()
    complete = write_store(tmp_path / "t", (10,), kind="pq")
    assert folder_bytes(tmp_path / "s") == folder_bytes(complete.path)


def test_stored_codes_can_be_read(tmp_path):
    store = write_store(tmp_path / "s", kind="bits")
    np.testing.assert_array_equal(
        store.read_codes(8, 20), make_code("bits").encode(all_rows()[8:20])
    )
    with pytest.raises(InputError, match="not coded"):
        write_store(tmp_path / "plain").read_codes(0, 1)


def test_a_shard_of_another_code_is_refused(tmp_path):
    """The shard is complete and of the same width, but its rows are coded by another code."""
    store = write_store(tmp_path / "s", (10, 10), kind="pq")
    other = write_store(tmp_path / "t", (10, 10), kind="bits")
    assert store.bytes_per_row == other.bytes_per_row
    with pytest.raises(InputError, match="coded by another code"):
        map_shard(other.path / "shard-00000.arrow", store._form)
    (store.path / "store.json").unlink()
    (store.path / "shard-00001.arrow").write_bytes((other.path / "shard-00001.arrow").read_bytes())
    assert Store.resume(store.path).done_shards() == {0}


def test_rows_are_mapped_not_copied(tmp_path):
    rows = write_store(tmp_path / "s").read_shard(0)
    assert not rows.flags.owndata
    assert not rows.flags.writeable
    assert rows.ctypes.data % 8 == 0


def test_no_rows_at_all(tmp_path):
    for sizes in ((), (0, 0)):
        store = write_store(tmp_path / f"s{len(sizes)}", sizes)
        assert store.n_rows == 0
        assert store.paths == []
        assert list(store.rows().blocks(4)) == []
        assert len(store.rows().order(seed=1, epoch=0)) == 0


def test_splits_select_rows(tmp_path):
    store = write_store(tmp_path / "s")
    train = store.rows("train")
    mask = store.splits == "train"
    np.testing.assert_array_equal(train.labels, store.labels[mask])
    (block,) = train.blocks(100)
    np.testing.assert_array_equal(block.X, all_rows()[mask])
    assert train.paths == [path for path, here in zip(store.paths, mask, strict=True) if here]
    assert store.rows(["val", "test"]).n_rows == (~mask).sum()
    with pytest.raises(InputError, match=r"'valid'.*'val'"):
        store.rows("valid")


@pytest.mark.parametrize(
    ("plan", "split", "trained"),
    [
        ({"validation": "drawn"}, ["train", "val"] * 5, ["train", "val"]),
        ({"validation": "drawn"}, "train", ["train"]),
        ({"validation": "drawn"}, "test", []),
        ({}, ["train", "val"] * 5, ["train"]),
    ],
)
def test_splits_that_are_trained_on_are_present(tmp_path, plan, split, trained):
    writer = begin_store(tmp_path / "s", 1, plan=plan)
    writer.write_shard(0, **shard_content(0) | {"splits": split})
    writer.finish()
    assert Store.open(tmp_path / "s").trained_splits == trained


def test_one_split_for_all_rows(tmp_path):
    writer = begin_store(tmp_path / "s", 1)
    writer.write_shard(0, **shard_content(0) | {"splits": "test"})
    writer.finish()
    assert set(Store.open(tmp_path / "s").splits) == {"test"}


def test_resumed_store_has_the_same_bytes(tmp_path):
    plan = {"images": "abc", "bits": 8}
    complete = begin_store(tmp_path / "complete", 4, kind="pq", plan=plan)
    for number in range(4):
        complete.write_shard(number, **shard_content(number))
    complete.finish()
    broken = begin_store(tmp_path / "broken", 4, kind="pq", plan=plan)
    broken.write_shard(2, **shard_content(2))
    broken.write_shard(0, **shard_content(0))
    (tmp_path / "broken" / ".shard-00001.arrow.part").write_bytes(b"half of it")
    (tmp_path / "broken" / "shard-00003.arrow").write_bytes(b"ARROW1 cut short")
    assert is_store(tmp_path / "broken")
    with pytest.raises(InputError, match=r"unfinished.*--resume"):
        Store.open(tmp_path / "broken")
    del broken
    resumed = Store.resume(tmp_path / "broken", plan=plan)
    assert resumed.done_shards() == {0, 2}
    assert resumed.recipe.size == 7
    assert resumed.read_bad(0) == []
    for number in {1, 3}:
        resumed.write_shard(number, **shard_content(number))
    assert resumed.read_bad(1) == shard_content(1)["bad"] != []
    resumed.finish()
    assert folder_bytes(tmp_path / "broken") == folder_bytes(tmp_path / "complete")
    assert Store.open(tmp_path / "broken").plan == plan


def test_resuming_another_plan_is_refused(tmp_path):
    begin_store(tmp_path / "s", 2, plan={"bits": 8, "images": "x" * 200})
    for plan, words in [
        ({"bits": 4, "images": "x" * 200}, "bits = 8, and now it is 4"),
        ({"bits": 8}, r"images = \"x+\.\.\., and now it is null"),
        (None, "bits = 8"),
    ]:
        with pytest.raises(InputError, match=words):
            Store.resume(tmp_path / "s", plan=plan)
    with pytest.raises(InputError, match="does not exist"):
        Store.resume(tmp_path / "none", plan={})


def test_finishing_too_early(tmp_path):
    writer = begin_store(tmp_path / "s", 2)
    writer.write_shard(1, **shard_content(1))
    with pytest.raises(WorkError, match="shard-00000"):
        writer.finish()
    assert writer.done_shards() == {1}


def test_a_folder_in_use_is_refused(tmp_path):
    write_store(tmp_path / "s")
    with pytest.raises(InputError, match="already has a store"):
        begin_store(tmp_path / "s", 1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InputError, match="not empty"):
        begin_store(tmp_path / "other", 1)
    left = tmp_path / "left"
    left.mkdir()
    (left / "recipe.safetensors").touch()  # killed before the plan was written
    begin_store(left, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": make_rows(9)}, "9 rows but 10 labels"),
        ({"rows": make_rows(10, DIM + 1)}, "13 features where 12"),
        ({"rows": np.full((10, DIM), np.nan)}, "NaN"),
        ({"labels": [4] * 10}, "between -1 and 3"),
        ({"labels": [-2] * 10}, "between -1 and 3"),
        ({"paths": ["a"] * 9}, "9 paths"),
        ({"paths": ["\ud800"] * 10}, "a file name cannot have"),
        ({"number": 2}, "no shard 2"),
    ],
)
def test_bad_shards_are_refused(tmp_path, change, words):
    writer = begin_store(tmp_path / "s", 2)
    with pytest.raises(InputError, match=words):
        writer.write_shard(**{"number": 0, **shard_content(0), **change})
    assert writer.done_shards() == set()


def test_values_that_do_not_fit_are_refused(tmp_path):
    half = begin_store(tmp_path / "half", 1, kind="float16")
    with pytest.raises(InputError, match="65504"):
        half.write_shard(0, **shard_content(0) | {"rows": make_rows(10) * 1e6})
    coded = begin_store(tmp_path / "coded", 1, kind="pq")
    with pytest.raises(InputError, match="2 bytes"):
        coded.write_shard(0, **shard_content(0) | {"rows": np.zeros((10, 3), np.uint8)})


@pytest.mark.parametrize(
    "change",
    [
        {"class_names": ["a", "a"]},
        {"class_names": [1]},
        {"dim": 0},
        {"dim": 2.5},
        {"n_shards": -1},
        {"dtype": "float64"},
        {"plan": {"x": object()}},
        {"plan": {"x": float("nan")}},
        {"code": make_code("pq"), "dim": 5},
    ],
)
def test_bad_headers_are_refused(tmp_path, change):
    options = {"class_names": ["a"], "dim": 3, "n_shards": 1}
    with pytest.raises(InputError):
        Store.create(tmp_path / "s", **{**options, **change})


def test_rows_larger_than_their_shards_are_refused_before_memory_is_taken(tmp_path):
    write_store(tmp_path / "s")
    content = json.loads((tmp_path / "s" / "store.json").read_bytes())
    write_json(tmp_path / "s" / "store.json", content | {"dim": 2**31 - 1})
    with pytest.raises(InputError, match=r"shard-00000.arrow has \d+ bytes, too few"):
        Store.open(tmp_path / "s")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_explained(tmp_path):
    writer = begin_store(tmp_path / "s", 1)
    (tmp_path / "s").chmod(0o500)
    try:
        with pytest.raises(WorkError, match=r"shard-00000.* cannot be written.*Permission"):
            writer.write_shard(0, **shard_content(0))
    finally:
        (tmp_path / "s").chmod(0o700)


def test_failed_writing_is_explained_and_leaves_nothing(tmp_path, monkeypatch):
    writer = begin_store(tmp_path / "s", 1)

    def fail(source, target):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(WorkError, match=r"No space left on device.*--resume"):
            writer.write_shard(0, **shard_content(0))
    assert writer.done_shards() == set()
    assert not list((tmp_path / "s").glob(".*"))
    (tmp_path / "file").touch()
    with pytest.raises(WorkError, match="cannot be written"):
        begin_store(tmp_path / "file" / "s", 1)


@pytest.mark.parametrize(
    ("bytes_per_row", "n"), [(1, 4096), (16384, 4096), (32768, 2048), (524288, 128), (1 << 40, 1)]
)
def test_size_of_a_shard(bytes_per_row, n):
    assert shard_rows(bytes_per_row) == n


def test_several_labels_a_row_come_back(tmp_path):
    lists = [[0, 2], [], [1]]
    writer = Store.create(
        tmp_path / "s", class_names=["a", "b", "c"], dim=2, n_shards=2, several=True
    )
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    writer.write_shard(0, rows[:2], LabelSets.from_lists(lists[:2]), ["p", "q"])
    writer.write_shard(1, rows[2:], LabelSets.from_lists(lists[2:]), ["r"])
    with pytest.raises(InputError):
        writer.write_shard(1, rows[2:], [1], ["r"])
    writer.finish()
    store = Store.open(tmp_path / "s")
    assert [store.sets.of(i).tolist() for i in range(3)] == lists
    assert store.labels.tolist() == [0, -1, 1]
    some = store.rows().select([2, 0])
    assert [some.sets.of(i).tolist() for i in range(2)] == [[1], [0, 2]]


def drop_plan(path):
    """Make a shard one of an earlier version, which did not name the plan that it belongs to."""
    batch = pa.ipc.open_file(path.read_bytes()).get_batch(0)
    content = json.loads(batch.schema.metadata[b"myriad"])
    assert content.pop("plan")
    write_batch(path, batch.replace_schema_metadata({b"myriad": json.dumps(content)}))


def test_shards_of_another_plan_are_not_taken_for_done(tmp_path):
    for name in ("one", "two"):
        writer = begin_store(tmp_path / name, 3, plan={"files": name})
        for number in range(3):
            writer.write_shard(number, **shard_content(number))
    (tmp_path / "one" / "shard-00001.arrow").replace(tmp_path / "two" / "shard-00001.arrow")
    resumed = Store.resume(tmp_path / "two", plan={"files": "two"})
    assert resumed.done_shards() == {0, 2}
    with pytest.raises(WorkError, match=r"shard-00001\.arrow was written for another store"):
        resumed.finish()
    resumed.write_shard(1, **shard_content(1))
    resumed.finish()
    assert Store.open(tmp_path / "two").n_rows == 30


def test_shards_of_earlier_versions_are_kept_in_finished_stores_alone(tmp_path):
    store = write_store(tmp_path / "s", kind="pq")
    listed = json.loads((store.path / "store.json").read_text())
    for number, record in enumerate(listed["shards"]):
        path = store.path / f"shard-{number:05d}.arrow"
        drop_plan(path)
        record |= {"bytes": path.stat().st_size, "sha256": checksum(path)}
    write_json(store.path / "store.json", listed)
    before = folder_bytes(store.path)
    resumed = Store.resume(store.path)
    assert resumed.done_shards() == set(range(5))
    resumed.finish()
    assert folder_bytes(store.path) == before
    np.testing.assert_array_equal(Store.open(store.path).labels, store.labels)
    (store.path / "store.json").unlink()
    assert Store.resume(store.path).done_shards() == set()


def test_a_damaged_shard_of_a_finished_store_is_not_taken_for_done(tmp_path):
    store = write_store(tmp_path / "s", kind="pq")
    path = store.path / "shard-00001.arrow"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"train", b"truin", 1))
    assert path.read_bytes() != content
    assert Store.resume(store.path).done_shards() == {0, 2, 3, 4}


def test_groups_of_rows_are_kept(tmp_path):
    groups = np.array([3, 3, -1, 7], np.int32)
    writer = Store.create(tmp_path / "s", class_names=["a", "b"], dim=2, n_shards=1, grouped=True)
    X = np.arange(8, dtype=np.float32).reshape(4, 2)
    names = list("wxyz")
    with pytest.raises(InputError, match="needs the groups"):
        writer.write_shard(0, X, [0, 0, 1, 1], names, "train")
    with pytest.raises(InputError, match="as many groups"):
        writer.write_shard(0, X, [0, 0, 1, 1], names, "train", groups=groups[:2])
    writer.write_shard(0, X, [0, 0, 1, 1], names, "train", groups=groups)
    writer.finish()
    store = Store.open(tmp_path / "s")
    np.testing.assert_array_equal(store.groups, groups)
    np.testing.assert_array_equal(store.rows().select([3, 0]).groups, [7, 3])
