"""Shards: the thread that loads them before they are used, and errors that are not theirs."""

import threading
from queue import SimpleQueue

import pyarrow as pa
import pytest

from myriad.errors import InputError
from myriad.store import Store
from myriad.store.shards import Prefetcher
from tests.store.making import write_store

LONG = 60
"""Seconds after which a thread that should have done something never will."""


def start(*arguments):
    """Return a prefetcher and its thread."""
    before = set(threading.enumerate())
    prefetcher = Prefetcher(*arguments)
    (thread,) = set(threading.enumerate()) - before
    return prefetcher, thread


def take(queue, n):
    return [queue.get(timeout=LONG) for _ in range(n)]


def test_a_window_of_shards_is_prefetched_and_no_more():
    loaded = SimpleQueue()
    prefetcher, thread = start([4, 2, 7, 1, 0], 2, loaded.put)
    assert take(loaded, 2) == [4, 2]
    prefetcher.use(4)
    prefetcher.use(4)  # using it again allows no further shard
    assert take(loaded, 1) == [7]
    prefetcher.close()
    thread.join(LONG)
    assert not thread.is_alive()
    assert loaded.empty()


def test_a_shard_that_cannot_be_loaded_is_left_to_its_reader():
    tried, failed = SimpleQueue(), threading.Event()

    def load(shard):
        tried.put(shard)
        failed.wait(LONG)
        raise InputError("gone")

    _, thread = start([1, 2], 2, load)
    failed.set()
    thread.join(LONG)
    assert not thread.is_alive()
    assert take(tried, 1) == [1]
    assert tried.empty()


def test_blocks_are_prefetched_and_their_thread_ends(tmp_path, monkeypatch):
    store = write_store(tmp_path / "rows.store")
    loaded = SimpleQueue()
    load = store.prefetch_shard
    monkeypatch.setattr(store, "prefetch_shard", lambda number: loaded.put(number) or load(number))
    blocks = store.rows().blocks(4, seed=1)
    assert len(next(blocks).X) == 4
    assert sorted(take(loaded, 4)) == [0, 1, 2, 4]  # one of the five has no rows
    blocks.close()


def test_a_shard_is_not_called_damaged_where_the_system_allows_no_threads(tmp_path, monkeypatch):
    def refuse(path):
        raise pa.ArrowException("Unknown error: Failed to launch worker thread: try again")

    write_store(tmp_path / "rows.store")
    monkeypatch.setattr(pa, "memory_map", refuse)
    with pytest.raises(pa.ArrowException, match="Failed to launch"):
        list(Store.open(tmp_path / "rows.store").rows().blocks(8))
