"""Reading ahead: the shards of the next rows are brought near while the current ones are used.

A thread of its own waits for the disk, or for a network; it computes nothing. So the next window
of shards is there when it is needed, also where rows are trained on by one thread alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from myriad.errors import MyriadError


class Prefetcher:
    """A thread that brings shards, a window of them before they are used.

    Parameters
    ----------
    shards : their numbers, in the order of their first use.
    window : how many more than were used may be brought.
    bring : brings one.
    """

    def __init__(self, shards: Sequence[int], window: int, bring: Callable[[int], None]) -> None:
        self._allowed = threading.Semaphore(window)
        self._ended = False
        self._used: set[int] = set()
        if len(shards) > 1:
            work = (list(shards), bring)
            threading.Thread(target=self._run, args=work, name="myriad reader", daemon=True).start()

    def use(self, shard: int) -> None:
        """Say that a shard is used."""
        if shard not in self._used:
            self._used.add(shard)
            self._allowed.release()

    def close(self) -> None:
        """Let the thread end after what it is at."""
        self._ended = True
        self._allowed.release()

    def _run(self, shards: list[int], bring: Callable[[int], None]) -> None:
        for shard in shards:
            self._allowed.acquire()
            if self._ended:
                return
            try:
                bring(shard)
            except (MyriadError, OSError):
                return  # who reads the shard itself will say so


def prefetch_range(path: Path) -> None:
    """Ask the system to read a file into its cache, and do not wait for it."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
