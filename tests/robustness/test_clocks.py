"""Wrong clocks: times in the future or the past, and clocks that jump, change no result."""

import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from myriad.errors import WorkError
from myriad.images import find_images
from myriad.locks import locked
from myriad.pipelines.describing import row_cache
from myriad.progress import SILENT
from myriad.store import Store
from tests.images.pictures import encode, grey_picture

LONG_AGO, IN_THE_FUTURE = (0, 0), (32_000_000_000, 32_000_000_000)
"""1970 and 2984, as times of access and of change."""


@pytest.mark.parametrize("when", [LONG_AGO, IN_THE_FUTURE])
def test_a_lock_is_held_whatever_the_time_of_its_file(tmp_path, monkeypatch, when):
    def enter():
        with locked(tmp_path / "model"):
            return True

    with ThreadPoolExecutor(1) as executor:
        with locked(tmp_path / "model"):
            os.utime(tmp_path / ".model.lock", when)
            monkeypatch.setattr(time, "time", lambda: float(when[0]))  # the clock jumps
            with pytest.raises(WorkError, match="being written"):
                executor.submit(enter).result()
        assert executor.submit(enter).result()


def test_a_lock_file_of_the_future_that_nobody_holds_is_taken_over(tmp_path):
    (tmp_path / ".model.lock").write_text("1 elsewhere")
    os.utime(tmp_path / ".model.lock", IN_THE_FUTURE)
    with locked(tmp_path / "model"):
        pass
    assert list(tmp_path.iterdir()) == []


def write_archive(path, level):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/1.png", encode(np.full_like(grey_picture(), level), "PNG"))


@pytest.mark.parametrize("when", [LONG_AGO, IN_THE_FUTURE])
def test_an_archive_that_was_replaced_is_read_anew(tmp_path, when):
    path = tmp_path / "images.zip"
    write_archive(path, 10)
    first = find_images(path).read(0)
    write_archive(tmp_path / "other.zip", 20)
    os.utime(tmp_path / "other.zip", when)  # older than what was read, or of a clock that is ahead
    os.replace(tmp_path / "other.zip", path)
    assert find_images(path).read(0) != first


def test_rows_of_the_cache_are_found_when_the_clock_jumps_back(tmp_path, monkeypatch):
    monkeypatch.setenv(row_cache.FOLDER, str(tmp_path))
    row = np.arange(4, dtype=np.float32)
    for now, key in ((32e9, b"future"), (0.0, b"past"), (1.8e9, b"present")):
        monkeypatch.setattr(row_cache.time, "time", lambda now=now: now)
        with row_cache.open_cache(True, SILENT) as cache:
            cache.add([(key, row)])
        with row_cache.open_cache(True, SILENT) as cache:
            np.testing.assert_array_equal(cache.rows.read(b"future", 4), row)
            np.testing.assert_array_equal(cache.rows.read(key, 4), row)
            cache.touch([b"future", key])


@pytest.mark.parametrize("when", [LONG_AGO, IN_THE_FUTURE])
def test_a_store_is_the_same_whatever_the_times_of_its_files(tmp_path, when):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    writer = Store.create(tmp_path / "rows", class_names=["a", "b"], dim=3, n_shards=2)
    writer.write_shard(0, X[:2], np.array([0, 1], np.int32), ["1", "2"], ["train"] * 2)
    for path in (tmp_path / "rows").rglob("*"):
        os.utime(path, when)
    # Resumed by a run whose clock is another one.
    writer = Store.resume(tmp_path / "rows")
    writer.write_shard(1, X[2:], np.array([0, 1], np.int32), ["3", "4"], ["train"] * 2)
    writer.finish()
    for path in (tmp_path / "rows").rglob("*"):
        os.utime(path, when)
    rows = Store.open(tmp_path / "rows").rows("train")
    np.testing.assert_array_equal(rows.read(range(4)), X)
