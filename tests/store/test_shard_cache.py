"""Stores at URLs: the same rows as on the disk, few copies at a time, damage found."""

import functools
import http.server
import threading

import fsspec
import numpy as np
import pytest

from myriad.errors import InputError, WorkError
from myriad.store import Store, is_store, open_rows, share_rows, state_of
from myriad.store import shard_cache as shard_cache_module
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
def test_shards_are_fetched_when_read_and_the_oldest_are_removed(monkeypatch):
    monkeypatch.setattr(shard_cache_module, "CACHE_BYTES", 1)
    monkeypatch.setattr(shard_cache_module, "LATEST", 2)
    store = Store.open(URL)
    folder = store._cache.folder
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
def test_errors_name_the_url_of_a_damaged_file():
    system = fsspec.filesystem("memory")
    root = "/mirrored/rows.store"
    content = bytearray(system.cat_file(f"{root}/shard-00001.arrow"))
    content[-300] ^= 1
    system.pipe_file(f"{root}/shard-00001.arrow", bytes(content))
    store = Store.open(URL)
    with pytest.raises(InputError, match=f"{URL}/shard-00001.arrow is damaged: its checksum"):
        store.rows().read([12])
    assert not (store._cache.folder / "shard-00001.arrow").exists()
    system.rm_file(f"{root}/shard-00002.arrow")
    with pytest.raises(InputError, match=f"{URL}/shard-00002.arrow does not exist"):
        store.read_shard(2)
    system.pipe_file(f"{root}/store.json", b"{")
    with pytest.raises(InputError, match=f"{URL}/store.json is damaged"):
        Store.open(URL)
    system.mv(f"{root}/store.json", f"{root}/x")
    with pytest.raises(InputError, match=f"{URL} is unfinished"):
        Store.open(URL)
    with pytest.raises(InputError, match=r"is not a store: it has no store.json\. Only stores"):
        is_store("memory://mirrored")


@pytest.mark.usefixtures("files")
def test_a_full_disk_is_reported(monkeypatch):
    def refuse(path, target):
        raise OSError(28, "No space left on device")

    store = Store.open(URL)
    monkeypatch.setattr(shard_cache_module, "fetch", refuse)
    with pytest.raises(WorkError, match=r"No space left on device. Free disk space, or set TMPDIR"):
        store.read_shard(0)


@pytest.mark.usefixtures("files")
def test_workers_read_rows_by_url(tmp_path):
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
        with pytest.raises(InputError, match="is not a store"):
            Store.open(f"{url}/other.store")
        server.shutdown()
