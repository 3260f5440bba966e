"""Tests of the thread that loads shards before they are used."""

import time

from myriad.errors import InputError
from myriad.store.prefetch import Prefetcher
from tests.store.making import write_store


def test_a_window_of_shards_is_prefetched_and_no_more():
    loaded = []
    prefetcher = Prefetcher([4, 2, 7, 1, 0], 2, loaded.append)
    await_length(loaded, 2)
    prefetcher.use(4)
    prefetcher.use(4)  # using it again allows no further shard
    await_length(loaded, 3)
    time.sleep(0.05)
    assert loaded == [4, 2, 7]
    prefetcher.close()
    time.sleep(0.05)
    assert loaded == [4, 2, 7]


def test_a_shard_that_cannot_be_loaded_is_left_to_its_reader():
    tried = []

    def load(shard):
        tried.append(shard)
        raise InputError("gone")

    Prefetcher([1, 2], 2, load)
    await_length(tried, 1)
    time.sleep(0.05)
    assert tried == [1]


def await_length(found, n):
    end = time.monotonic() + 10
    while len(found) < n and time.monotonic() < end:
        time.sleep(0.002)
    assert len(found) == n


def test_blocks_are_prefetched_and_their_thread_ends(tmp_path, monkeypatch):
    store = write_store(tmp_path / "rows.store")
    loaded = []
    load = store.prefetch_shard
    monkeypatch.setattr(
        store, "prefetch_shard", lambda number: loaded.append(number) or load(number)
    )
    blocks = store.rows().blocks(4, seed=1)
    assert len(next(blocks).X) == 4
    await_length(loaded, 4)  # one of the five has no rows
    blocks.close()
    assert sorted(loaded) == [0, 1, 2, 4]
