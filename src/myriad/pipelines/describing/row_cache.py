"""A cache of the rows that networks gave for images, shared by all runs of a user.

A row is found again by the content of its file, the view, the network with all its settings, and
the versions and the kind of processor that decide its last digits. The cache is one SQLite file of
bounded size, from which the least recently used rows are removed. It only saves time: a cache that
is damaged, full, read-only or of another version is not used, and one note says so.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from myriad.arrays import Float
from myriad.progress import Progress

FOLDER = "MYRIAD_CACHE_DIR"
"""The environment variable of the folder; empty for no cache."""
FILE = "rows.sqlite"
FORMAT = 1
"""The version of the file's layout, kept in its header."""
MOST_BYTES = 2 << 30
"""Bytes that the file may take: about 200,000 images by two networks."""
KEPT_SHARE = 0.9
"""The part of them that remains when rows are removed."""
BATCH = 256
"""New rows that are written at once."""
_LIBRARIES = ("onnxruntime", "numpy", "opencv-python-headless", "pillow")
_APPLICATION = 0x6D797264  # "myrd"
_WAIT = 10.0  # seconds for another run that writes
_DAY = 86_400


def find_folder() -> Path | None:
    """Return the folder of the cache, by the conventions of the platform; None for no cache."""
    given = os.environ.get(FOLDER)
    if given is not None:
        return Path(given) if given else None
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        home = os.path.expanduser("~/Library/Caches")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "myriad" if home and os.path.isabs(home) else None


@lru_cache(maxsize=1)
def describe_machine() -> str:
    """Return the versions and the kind of processor that rows depend on in their last digits."""
    from llvmlite.binding import get_host_cpu_name

    found = [get_host_cpu_name()]
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def make_key(content: bytes, view: int, pixels: int | None, network: str) -> bytes:
    """Return the key of a row.

    Parameters
    ----------
    content : of the file of the image.
    view : its view, see `myriad.images.augmentation`.
    pixels : that were wanted of the image, which may be read at a smaller size.
    network : the fingerprint of the network.
    """
    digest = hashlib.sha256(content)
    digest.update(f"\0{view}\0{pixels}\0{network}\0{describe_machine()}".encode())
    return digest.digest()


@dataclass(frozen=True)
class CachedRows:
    """The rows of a cache as workers read them; it is sent to other processes by its path."""

    path: Path

    def read(self, key: bytes, dim: int) -> Float | None:
        """Return a row, or None if the cache does not have it or cannot be read now."""
        try:
            found = _connect_reader(self.path, threading.get_ident()).execute(
                "SELECT row, checksum FROM rows WHERE key = ?", (key,)
            )
            values = found.fetchone()
        except sqlite3.Error:
            return None
        if values is None or not isinstance(values[0], bytes) or len(values[0]) != 4 * dim:
            return None
        if zlib.crc32(values[0]) != values[1]:
            return None
        return np.frombuffer(values[0], np.float32).copy()


@lru_cache(maxsize=64)
def _connect_reader(path: Path, thread: int) -> sqlite3.Connection:
    """Return a connection that cannot write, one for each thread."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=_WAIT, check_same_thread=False)


@dataclass
class RowCache:
    """The cache in the process that writes it; see `CachedRows` for workers.

    Attributes
    ----------
    path : the file.
    most : maximum size in bytes.
    """

    path: Path
    progress: Progress
    connection: sqlite3.Connection | None
    most: int = MOST_BYTES
    _new: dict[bytes, bytes] = field(default_factory=dict)
    _used: list[bytes] = field(default_factory=list)

    @property
    def rows(self) -> CachedRows | None:
        """The reader for workers; None if the cache is disabled."""
        return None if self.connection is None else CachedRows(self.path)

    def add(self, rows: Sequence[tuple[bytes, Float]]) -> None:
        """Add new rows with their keys; they are written in batches."""
        for key, row in rows:
            self._new[key] = np.ascontiguousarray(row, np.float32).tobytes()
        if len(self._new) >= BATCH:
            self.flush()

    def touch(self, keys: Sequence[bytes]) -> None:
        """Record that rows were used, for the eviction of the least recently used ones."""
        self._used.extend(keys)
        if len(self._used) >= 100 * BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the pending rows, and evict old ones if the file is too large."""
        new, used, today = self._new, self._used, int(time.time()) // _DAY
        self._new, self._used = {}, []
        if self.connection is None or not (new or used):
            return
        rows = [(key, row, zlib.crc32(row), today) for key, row in new.items()]
        try:
            with self.connection:
                self.connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", rows)
                self.connection.executemany(
                    "UPDATE rows SET used = ? WHERE key = ? AND used < ?",
                    [(today, key, today) for key in used],
                )
            self._evict()
        except sqlite3.Error as error:
            self.disable(f"cannot be written ({error})")

    def _evict(self) -> None:
        """Remove the least recently used rows if the file is too large."""
        assert self.connection is not None
        size = _count_bytes(self.connection)
        if size <= self.most:
            return
        (n_rows,) = self.connection.execute("SELECT count(*) FROM rows").fetchone()
        excess = int(n_rows * (1 - KEPT_SHARE * self.most / size)) + 1
        with self.connection:
            self.connection.execute(
                "DELETE FROM rows WHERE rowid IN "
                "(SELECT rowid FROM rows ORDER BY used, rowid LIMIT ?)",
                (excess,),
            )

    def disable(self, reason: str) -> None:
        """Close the cache and print why it is not used."""
        self.progress.note(
            f"The cache of rows {self.path} {reason}, so it is not used. Delete it, or set {FOLDER}"
            " to another folder; --no-cache turns it off."
        )
        self.close()

    def close(self) -> None:
        """Close the file."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _count_bytes(connection: sqlite3.Connection) -> int:
    """Return the bytes of the pages that hold rows."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


@contextmanager
def open_cache(
    wanted: bool, progress: Progress, *, repeats: bool = False
) -> Iterator[RowCache | None]:
    """Yield the cache, which is made if there is none; None if it is not wanted or unusable.

    Parameters
    ----------
    repeats : whether the run describes some images twice. If the cache is not wanted, a temporary
        one is then used for this run.
    """
    folder = find_folder() if wanted else None
    if folder is not None:
        with _open(folder, progress) as cache:
            yield cache
    elif repeats:
        with (
            tempfile.TemporaryDirectory(prefix="myriad-rows-", ignore_cleanup_errors=True) as own,
            _open(Path(own), progress) as cache,
        ):
            yield cache
    else:
        yield None


@contextmanager
def _open(folder: Path, progress: Progress) -> Iterator[RowCache | None]:
    """Yield the cache in a folder; None if it is unusable."""
    cache = RowCache(folder / FILE, progress, None)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        cache.connection = sqlite3.connect(cache.path, timeout=_WAIT)
        reason = _prepare(cache.connection)
    except (sqlite3.Error, OSError) as error:
        reason = f"cannot be used ({error})"
    if reason:
        cache.disable(reason)
    try:
        yield cache if cache.connection is not None else None
    finally:
        cache.flush()
        cache.close()


def _prepare(connection: sqlite3.Connection) -> str:
    """Create the table of a new file; return why a file cannot be used, empty if it can."""
    header = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    ]
    if header == [_APPLICATION, FORMAT]:
        with connection:  # a read-only file is found now and not after the work
            connection.execute("UPDATE rows SET used = used WHERE rowid = 0")
        return ""
    if header != [0, 0] or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return "was written by another version or program"
    with connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB NOT NULL, "
            "checksum INTEGER NOT NULL, used INTEGER NOT NULL)"
        )
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    return ""
