"""Stores at URLs: the same rows as on the disk, few copies at a time, damage seen."""

import functools
import http.server
import threading
import time

import fsspec
import numpy as np
import pytest

from myriad.errors import InputError, WorkError
from myriad.store import Store, is_store, open_rows, share_rows, state_of
from myriad.store import shard_cache as mirror_module
from myriad.store.prefetch import Prefetcher
from myriad.urls import UrlPath
from tests.store.making import all_rows, write_store

URL = "memory://mirrored/rows.store"


@pytest.fixture
def files(tmp_path):
    """Write a store to a disk and put its files into a file system that this process alone has."""
    path = tmp_path / "rows.store"
    write_store(path)
    system = fsspec.filesystem("memory")
    for file in path.iterdir():
        system.pipe_file(f"/mirrored/rows.store/{file.name}", file.read_bytes())
    yield path
    system.rm("/mirrored", recursive=True)


@pytest.mark.usefixtures("files")
def test_a_store_at_a_url_is_the_store(tmp_path):
    store = Store.open(URL)
    assert is_store(URL)
    assert isinstance(store.path, UrlPath)
    assert str(store.path) == URL
    plain = Store.open(tmp_path / "rows.store")
    assert (store.fingerprint, store.paths, store.bad) == (
        plain.fingerprint,
        plain.paths,
        plain.bad,
    )
    np.testing.assert_array_equal(store.rows().read(np.arange(30)), all_rows())
    for mine, theirs in zip(
        store.rows("train").blocks(4, seed=5), plain.rows("train").blocks(4, seed=5), strict=True
    ):
        np.testing.assert_array_equal(mine.X, theirs.X)


@pytest.mark.usefixtures("files")
def test_shards_are_fetched_when_they_are_read_and_the_oldest_make_room(monkeypatch):
    monkeypatch.setattr(mirror_module, "CACHE_BYTES", 1)
    monkeypatch.setattr(mirror_module, "LATEST", 2)
    store = Store.open(URL)
    folder = store._mirror.folder
    assert list(folder.glob("*.arrow")) == [folder / "index.arrow"]
    held = [store.read_shard(number) for number in range(3)]
    assert sorted(p.name for p in folder.glob("shard-*")) == [
        "shard-00001.arrow",
        "shard-00002.arrow",
    ]
    np.testing.assert_array_equal(np.concatenate(held), all_rows()[:27])  # mapped ones stay
    np.testing.assert_array_equal(store.read_shard(0), held[0])
    assert not list(folder.glob(".*"))
    del store, held
    assert not folder.exists()


@pytest.mark.usefixtures("files")
def test_damage_is_seen_and_told_by_url():
    system = fsspec.filesystem("memory")
    place = "/mirrored/rows.store"
    content = bytearray(system.cat_file(f"{place}/shard-00001.arrow"))
    content[-300] ^= 1
    system.pipe_file(f"{place}/shard-00001.arrow", bytes(content))
    store = Store.open(URL)
    with pytest.raises(InputError, match=f"{URL}/shard-00001.arrow is damaged: its checksum"):
        store.rows().read([12])
    assert not (store._mirror.folder / "shard-00001.arrow").exists()
    system.rm_file(f"{place}/shard-00002.arrow")
    with pytest.raises(InputError, match=f"{URL}/shard-00002.arrow does not exist"):
        store.read_shard(2)
    system.pipe_file(f"{place}/store.json", b"{")
    with pytest.raises(InputError, match=f"{URL}/store.json is damaged"):
        Store.open(URL)
    system.mv(f"{place}/store.json", f"{place}/x")
    with pytest.raises(InputError, match=f"{URL} is unfinished"):
        Store.open(URL)
    with pytest.raises(InputError, match=r"is no store: it has no store.json\. Of what lies at"):
        is_store("memory://mirrored")


@pytest.mark.usefixtures("files")
def test_a_full_disk_is_said(monkeypatch):
    def refuse(path, target):
        raise OSError(28, "No space left on device")

    store = Store.open(URL)
    monkeypatch.setattr(mirror_module, "fetch", refuse)
    with pytest.raises(WorkError, match=r"No space left on device. Make room, or let TMPDIR"):
        store.read_shard(0)


@pytest.mark.usefixtures("files")
def test_rows_go_to_workers_by_url(tmp_path):
    rows = Store.open(URL).rows("train")
    address = share_rows(rows, tmp_path / "left")
    assert str(address.files[0]) == f"{URL}/store.json"
    found = open_rows(address)
    assert isinstance(found.store.path, UrlPath)
    np.testing.assert_array_equal(found.read([0, 3]), rows.read([0, 3]))
    before = state_of(rows.store.path)
    assert before == address.state
    system = fsspec.filesystem("memory")
    name = "/mirrored/rows.store/store.json"
    system.pipe_file(name, system.cat_file(name) + b"\n")
    assert state_of(rows.store.path) != before


def test_a_store_by_http(files):
    pytest.importorskip("aiohttp")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=str(files.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        store = Store.open(f"{url}/rows.store")
        np.testing.assert_array_equal(store.rows().read(np.arange(30)), all_rows())
        with pytest.raises(InputError, match="is no store"):
            Store.open(f"{url}/other.store")
        server.shutdown()


def test_a_window_of_shards_is_brought_ahead_and_no_more():
    brought = []
    ahead = Prefetcher([4, 2, 7, 1, 0], 2, brought.append)
    await_length(brought, 2)
    ahead.use(4)
    ahead.use(4)  # the same one again is no further
    await_length(brought, 3)
    time.sleep(0.05)
    assert brought == [4, 2, 7]
    ahead.close()
    time.sleep(0.05)
    assert brought == [4, 2, 7]


def test_a_shard_that_cannot_be_brought_is_left_to_its_reader():
    tried = []

    def bring(shard):
        tried.append(shard)
        raise InputError("gone")

    Prefetcher([1, 2], 2, bring)
    await_length(tried, 1)
    time.sleep(0.05)
    assert tried == [1]


def await_length(found, n):
    end = time.monotonic() + 10
    while len(found) < n and time.monotonic() < end:
        time.sleep(0.002)
    assert len(found) == n


def test_blocks_read_ahead_and_end_their_thread(tmp_path, monkeypatch):
    store = write_store(tmp_path / "rows.store")
    brought = []
    bring = store.bring_shard
    monkeypatch.setattr(
        store, "bring_shard", lambda number: brought.append(number) or bring(number)
    )
    blocks = store.rows().blocks(4, seed=1)
    assert len(next(blocks).X) == 4
    await_length(brought, 4)  # one of the five has no rows
    blocks.close()
    assert sorted(brought) == [0, 1, 2, 4]
