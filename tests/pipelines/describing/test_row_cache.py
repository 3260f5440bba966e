"""The cache of rows: what it gives back, its bound, and that no damage of it is an error."""

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from myriad.pipelines.describing import row_cache
from myriad.pipelines.describing.row_cache import FILE, FOLDER, find_folder, make_key, open_cache
from tests.pipelines.describing.test_extract import Noted

ROW = np.arange(5, dtype=np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(keys):
    notes = Noted()
    with open_cache(True, notes) as cache:
        if cache is not None:
            cache.add([(key, ROW) for key in keys])
    return notes.notes


def read(key, dim=5):
    with open_cache(True, Noted()) as cache:
        return None if cache is None else cache.rows.read(key, dim)


def test_rows_are_found_by_content_view_size_and_network(folder):
    key = make_key(b"jpeg", 0, 1000, "network")
    others = [
        make_key(b"jpeg2", 0, 1000, "network"),
        make_key(b"jpeg", 1, 1000, "network"),
        make_key(b"jpeg", 0, None, "network"),
        make_key(b"jpeg", 0, 1000, "another"),
    ]
    assert fill([key]) == []
    np.testing.assert_array_equal(read(key), ROW)
    assert all(read(other) is None for other in others)
    assert read(key, dim=6) is None
    assert len({key, *others}) == 5


def test_other_versions_of_libraries_have_other_keys(monkeypatch):
    key = make_key(b"jpeg", 0, None, "network")
    monkeypatch.setattr(row_cache, "describe_machine", lambda: "onnxruntime 99")
    assert make_key(b"jpeg", 0, None, "network") != key


def test_the_rows_that_were_not_used_for_longest_are_removed(folder, monkeypatch):
    size = 150_000
    day = iter([10, 20, 30, 40, 50])
    monkeypatch.setattr(row_cache.time, "time", lambda: 86_400.0 * next(day))
    with open_cache(True, Noted()) as cache:
        cache.most = size
        long = np.zeros(5000, np.float32)
        keys = [bytes([i]) for i in range(9)]
        cache.add([(key, long) for key in keys[:5]])
        cache.flush()
        cache.touch([keys[0]])
        cache.flush()
        cache.add([(key, long) for key in keys[5:]])
        cache.flush()
        kept = [key for key in keys if cache.rows.read(key, 5000) is not None]
        size_now = row_cache._count_bytes(cache.connection)
    assert keys[0] in kept
    assert keys[1] not in kept
    assert set(keys[6:]) <= set(kept)
    assert size_now <= size


def test_a_changed_row_is_not_used(folder):
    fill([b"key"])
    connection = sqlite3.connect(folder / FILE)
    with connection:
        connection.execute("UPDATE rows SET row = zeroblob(20)")
    connection.close()
    assert read(b"key") is None


def spoil(folder, how):
    folder.mkdir(exist_ok=True)
    if how == "foreign version":
        fill([b"key"])
        connection = sqlite3.connect(folder / FILE)
        with connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    elif how == "foreign program":
        connection = sqlite3.connect(folder / FILE)
        with connection:
            connection.execute("CREATE TABLE songs (title)")
        connection.close()
    elif how == "no database":
        (folder / FILE).write_bytes(b"plain text" * 1000)
    elif how == "damaged":
        fill([bytes([i]) for i in range(200)])
        content = bytearray((folder / FILE).read_bytes())
        content[4096:] = os.urandom(len(content) - 4096)
        (folder / FILE).write_bytes(content)
    elif how == "a folder":
        (folder / FILE).mkdir()
    elif how == "a file as the folder":
        folder.rmdir()
        folder.write_text("a file")


@pytest.mark.parametrize(
    "how",
    [
        "foreign version",
        "foreign program",
        "no database",
        "damaged",
        "a folder",
        "a file as the folder",
    ],
)
def test_a_cache_that_cannot_be_used_is_ignored_with_one_note(folder, how):
    spoil(folder, how)
    notes = fill([b"new"])
    assert len(notes) == 1
    assert str(folder / FILE) in notes[0]
    assert "--no-cache" in notes[0]


def test_a_read_only_file_is_ignored_with_one_note(folder):
    fill([b"key"])
    connect = sqlite3.connect

    def connect_read_only(path, **options):
        return connect(f"{Path(path).as_uri()}?mode=ro", uri=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_cache.sqlite3, "connect", connect_read_only)
        notes = fill([b"new"])
    assert len(notes) == 1
    assert "readonly" in notes[0]


def test_a_full_disk_ends_its_use_with_one_note(folder):
    notes = Noted()
    with open_cache(True, notes) as cache:
        (pages,) = cache.connection.execute("PRAGMA page_count").fetchone()
        cache.connection.execute(f"PRAGMA max_page_count = {pages}")
        cache.add([(bytes([i]), np.zeros(5000, np.float32)) for i in range(5)])
        cache.flush()
        assert cache.rows is None
        cache.add([(b"later", ROW)])
    assert len(notes.notes) == 1
    assert "full" in notes.notes[0]


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, "")
    assert find_folder() is None
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(row_cache.sys, "platform", "linux")
    assert find_folder() == tmp_path / "myriad"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_folder() == tmp_path / ".cache" / "myriad"
    monkeypatch.setattr(row_cache.sys, "platform", "darwin")
    assert find_folder() == tmp_path / "Library" / "Caches" / "myriad"
    monkeypatch.setattr(row_cache.sys, "platform", "win32")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert find_folder() is None


def test_a_run_that_repeats_images_has_one_of_its_own(folder):
    with open_cache(False, Noted(), repeats=True) as cache:
        cache.add([(b"key", np.ones(3, np.float32))])
        cache.flush()
        own = cache.path
        assert cache.rows.read(b"key", 3).tolist() == [1.0, 1.0, 1.0]
    assert not own.parent.exists()
    assert not folder.exists()


def test_it_is_not_made_unless_it_is_wanted(folder):
    with open_cache(False, Noted()) as cache:
        assert cache is None
    assert not folder.exists()
