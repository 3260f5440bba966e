"""Damaged and hostile stores: always an `InputError`, never a crash or a wrong row."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import myriad.store.manifest as manifest
from myriad.errors import InputError
from myriad.store import Store
from tests.store.making import write_store


def read_all(folder):
    store = Store.open(folder)
    return store.paths, store.splits, [block.X for block in store.rows().blocks(4)]


@pytest.fixture
def folder(tmp_path):
    return write_store(tmp_path / "s", (10, 10, 6), kind="pq").path


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


NAMES = ["shard-00000.arrow", "shard-00002.arrow", "index.arrow", "recipe.safetensors"]


@pytest.mark.parametrize("name", NAMES)
def test_every_flipped_byte_is_found(folder, name):
    size = (folder / name).stat().st_size
    for position in range(0, size, max(1, size // 25)):
        flip(folder / name, position)
        with pytest.raises(InputError, match=f"{name} is damaged"):
            read_all(folder)
        flip(folder / name, position)
    read_all(folder)


def test_flipped_shard_is_found_when_read_and_not_before(folder):
    flip(folder / "shard-00001.arrow", 700)
    store = Store.open(folder)
    store.read_shard(0)
    for _ in range(2):
        with pytest.raises(InputError, match="shard-00001"):
            store.read_shard(1)


@pytest.mark.parametrize("name", [*NAMES, "store.json"])
def test_cut_or_missing_file_is_found_at_opening(folder, name):
    content = (folder / name).read_bytes()
    for cut in (len(content) - 3, len(content) // 2, 0):
        (folder / name).write_bytes(content[:cut])
        with pytest.raises(InputError, match=f"{name} is damaged"):
            Store.open(folder)
    (folder / name).unlink()
    with pytest.raises(InputError):
        Store.open(folder)


def test_swapped_shards_are_found(tmp_path):
    folder = write_store(tmp_path / "s", (10, 7, 10)).path
    first, other, last = (folder / f"shard-0000{i}.arrow" for i in range(3))
    contents = first.read_bytes(), last.read_bytes()
    assert len(contents[0]) == len(contents[1])
    first.write_bytes(contents[1])
    last.write_bytes(contents[0])
    store = Store.open(folder)
    with pytest.raises(InputError, match="checksum"):
        store.read_shard(0)
    first.write_bytes(other.read_bytes())
    with pytest.raises(InputError, match="bytes instead of"):
        Store.open(folder)


def test_each_shard_is_hashed_once(folder, monkeypatch):
    hashed = []
    plain = manifest.checksum
    monkeypatch.setattr(manifest, "checksum", lambda path: hashed.append(path.name) or plain(path))
    store = Store.open(folder)
    for epoch in range(3):
        list(store.rows().blocks(4, seed=1, epoch=epoch))
    assert sorted(hashed) == sorted(
        ["recipe.safetensors", "index.arrow", *(f"shard-0000{i}.arrow" for i in range(3))]
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("class_names", ["ant"], "classes that do not exist"),
        ("class_names", ["ant", "ant", "bee", "cow"], "appears twice"),
        ("dim", 13, "not 13"),
        ("format", 2, "newer"),
        ("n_shards", 2, "shards"),
        ("code", None, "do not fit its code"),
        ("code", {"kind": "invented-for-store-tests"}, "unknown kind"),
        ("plan", None, "plan"),
        ("bad", [{"path": "a"}], "bad images"),
    ],
)
def test_fields_that_do_not_fit_are_named(folder, key, value, words):
    content = json.loads((folder / "store.json").read_bytes())
    (folder / "store.json").write_text(json.dumps({**content, key: value}))
    with pytest.raises(InputError, match=words):
        Store.open(folder)


def test_no_store_at_all(tmp_path):
    with pytest.raises(InputError, match="not a store"):
        Store.open(tmp_path)
    (tmp_path / "store.json").mkdir()
    with pytest.raises(InputError):
        Store.open(tmp_path)


def change(value, draw):
    """Return a JSON value with one value in it changed."""
    if isinstance(value, dict) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 5)) == 0:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: change(value[key], draw)}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        position = draw(st.integers(0, len(value) - 1))
        return [*value[:position], change(value[position], draw), *value[position + 1 :]]
    leaves = st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | st.text(max_size=5)
    return draw(
        leaves | st.lists(leaves, max_size=3) | st.dictionaries(st.text(max_size=5), leaves)
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("kept") / "s", (10, 6), kind="pq").path


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_changed_json_gives_an_input_error_or_the_same_rows(kept, data):
    path = kept / "store.json"
    original = path.read_bytes()
    expected = read_all(kept)[2]
    content = json.loads(original)
    for _ in range(data.draw(st.integers(1, 3))):
        content = change(content, data.draw)
    path.write_text(json.dumps(content))
    try:
        rows = read_all(kept)[2]
    except InputError:
        pass
    else:
        for mine, theirs in zip(rows, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    finally:
        path.write_bytes(original)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{", "\xff", "[" * 100_000, '{"format": 1' + "0" * 10_000 + "}", "NaN"],
)
def test_json_that_is_no_object(folder, text):
    (folder / "store.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"store\.json"):
        Store.open(folder)
