"""Prefetching: the next shards are loaded while the current ones are in use.

A separate thread waits for the disk or the network; it computes nothing. So the next window of
shards is available when it is needed, even if only one thread trains.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from myriad.errors import MyriadError


class Prefetcher:
    """A thread that loads shards, at most a window of them before they are used.

    Parameters
    ----------
    shards : numbers of the shards, in the order of their first use.
    window : how many shards may be loaded but not yet used.
    load : loads the shard of a given number.
    """

    def __init__(self, shards: Sequence[int], window: int, load: Callable[[int], None]) -> None:
        self._allowed = threading.Semaphore(window)
        self._ended = False
        self._used: set[int] = set()
        if len(shards) > 1:
            work = (list(shards), load)
            threading.Thread(target=self._run, args=work, name="myriad reader", daemon=True).start()

    def use(self, shard: int) -> None:
        """Note that a shard is used, so that one more may be loaded."""
        if shard not in self._used:
            self._used.add(shard)
            self._allowed.release()

    def close(self) -> None:
        """Let the thread end after the shard that it is loading."""
        self._ended = True
        self._allowed.release()

    def _run(self, shards: list[int], load: Callable[[int], None]) -> None:
        for shard in shards:
            self._allowed.acquire()
            if self._ended:
                return
            try:
                load(shard)
            except (MyriadError, OSError):
                return  # the reader of the shard will raise the error


def prefetch_file(path: Path) -> None:
    """Ask the operating system to read a file into its cache, without waiting."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
