"""Mirrors: copies of the files of a store that lies elsewhere, fetched as they are needed.

The small files are copied when the store is opened, shards when they are first read. Of them only
so many are kept that they fit into some gigabytes; the oldest make room.
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
"""Bytes of shards that are kept, for each store and process."""
LATEST = 4
"""Shards that are kept in any case: somebody may be about to map them."""


class ShardCache:
    """The copies of one process, in a folder for temporary files that ends with it.

    Attributes
    ----------
    place : where the store is.
    folder : where its copies are.
    """

    def __init__(self, place: UrlPath, *, most: int | None = None) -> None:
        self.place, self._most = place, CACHE_BYTES if most is None else most
        self.folder = Path(tempfile.mkdtemp(prefix="myriad-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        for name in (STORE, ARRAYS, INDEX):
            self._copy(name)

    def bring(self, name: str, check: Callable[[Path], None]) -> Path:
        """Return the copy of a shard, which is fetched and checked unless it is there."""
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:  # two threads may want the same shard, and others meanwhile
            if name not in self._kept:
                self._copy(name, check)
            with self._lock:
                path = self.folder / name
                self._kept[name] = path.stat().st_size
                self._kept.move_to_end(name)
                self._make_room()
            return path

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Let errors speak of the files of the store instead of their copies."""
        try:
            yield
        except InputError as error:
            told = str(error).replace(f"{self.folder}{os.sep}", f"{self.place}/")
            raise InputError(told) from None

    def _copy(self, name: str, check: Callable[[Path], None] | None = None) -> None:
        target = self.folder / name
        beside = target.with_name(f".{name}.part")
        try:
            fetch(self.place / name, beside)
            os.replace(beside, target)
            if check is not None:
                check(target)
        except OSError as error:
            raise WorkError(
                f"{self.place / name} cannot be kept in {self.folder}: {error.strerror}. Make "
                "room, or let TMPDIR name another folder."
            ) from None
        except InputError:
            target.unlink(missing_ok=True)
            raise
        finally:
            beside.unlink(missing_ok=True)

    def _make_room(self) -> None:
        """Remove the shards that were wanted longest ago; who has mapped them keeps them so."""
        while sum(self._kept.values()) > self._most and len(self._kept) > LATEST:
            name, _ = self._kept.popitem(last=False)
            (self.folder / name).unlink(missing_ok=True)
