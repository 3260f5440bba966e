"""A cache of the files of a store at a URL, fetched when they are needed.

The small files are copied when the store is opened, shards when they are first read. The cache
holds a few gigabytes of shards; the least recently used ones are removed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from myriad.errors import InputError, WorkError
from myriad.store.manifest import ARRAYS, INDEX, STORE
from myriad.urls import UrlPath, fetch

CACHE_BYTES = 8 << 30
"""Bytes of shards that are cached, for each store and process."""
LATEST = 4
"""Shards that are never removed: another thread may be about to map them."""


class ShardCache:
    """The cache of one process, in a temporary folder that is removed when the process ends.

    Attributes
    ----------
    url : the URL of the store.
    folder : the folder of the cached files.
    """

    def __init__(self, url: UrlPath, *, most: int | None = None) -> None:
        self.url, self._most = url, CACHE_BYTES if most is None else most
        self.folder = Path(tempfile.mkdtemp(prefix="myriad-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._cached: OrderedDict[str, int] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        for name in (STORE, ARRAYS, INDEX):
            self._copy(name)

    def fetch_shard(self, name: str, check: Callable[[Path], None]) -> Path:
        """Return the path of a cached shard, which is fetched and checked if it is missing."""
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:  # one thread fetches a shard, while others may fetch other shards
            if name not in self._cached:
                self._copy(name, check)
            with self._lock:
                path = self.folder / name
                self._cached[name] = path.stat().st_size
                self._cached.move_to_end(name)
                self._evict()
            return path

    @contextmanager
    def naming_urls(self) -> Iterator[None]:
        """Replace the paths of cached files in error messages by the URLs of the store."""
        try:
            yield
        except InputError as error:
            message = str(error).replace(f"{self.folder}{os.sep}", f"{self.url}/")
            raise InputError(message) from None

    def _copy(self, name: str, check: Callable[[Path], None] | None = None) -> None:
        """Copy a file of the store to the cache, atomically, and check it."""
        target = self.folder / name
        partial_path = target.with_name(f".{name}.part")
        try:
            fetch(self.url / name, partial_path)
            os.replace(partial_path, target)
            if check is not None:
                check(target)
        except OSError as error:
            raise WorkError(
                f"{self.url / name} cannot be copied to {self.folder}: {error.strerror}. Free "
                "disk space, or set TMPDIR to another folder."
            ) from None
        except InputError:
            target.unlink(missing_ok=True)
            raise
        finally:
            partial_path.unlink(missing_ok=True)

    def _evict(self) -> None:
        """Remove the least recently used shards; those that are mapped stay readable."""
        while sum(self._cached.values()) > self._most and len(self._cached) > LATEST:
            name, _ = self._cached.popitem(last=False)
            (self.folder / name).unlink(missing_ok=True)
