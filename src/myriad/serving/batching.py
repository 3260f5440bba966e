"""Dynamic batching of rows.

While one batch is scored, the rows that arrive are collected; they are the next batch. So a row
never waits for others to arrive: an idle server scores it at once, a busy one scores many rows by
one matrix product.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Key = TypeVar("Key")
Rows = NDArray[np.float32]

MOST_ROWS = 1024
"""Rows of a batch, unless one request has more."""


class Batcher(Generic[Key]):
    """Collects rows and scores them on one thread.

    Parameters
    ----------
    score : called with a key and rows (n, dim) of several requests with this key; it returns a
        result for each row. It is never called by two threads at a time.
    on_batch : called with the number of rows of each batch.
    """

    def __init__(
        self, score: Callable[[Key, Rows], Sequence[Any]], on_batch: Callable[[int], Any]
    ) -> None:
        self._score, self._on_batch = score, on_batch
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="myriad scoring")
        self._waiting: list[tuple[Key, Rows, asyncio.Future[Sequence[Any]]]] = []
        self._running: asyncio.Task[None] | None = None

    async def score(self, key: Key, rows: Rows) -> Sequence[Any]:
        """Return the results of some rows."""
        future: asyncio.Future[Sequence[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, rows, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        """Score batches until none is waiting."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch = self._next_batch()
                await loop.run_in_executor(self._thread, self._score_batch, batch, loop)
        finally:
            self._running = None

    def _next_batch(self) -> list[tuple[Key, Rows, asyncio.Future[Sequence[Any]]]]:
        """Return the first waiting rows, at most `MOST_ROWS` and at least one request."""
        n, size = 0, 0
        for _, rows, _ in self._waiting:
            if n and size + len(rows) > MOST_ROWS:
                break
            n, size = n + 1, size + len(rows)
        batch, self._waiting = self._waiting[:n], self._waiting[n:]
        return batch

    def _score_batch(
        self,
        batch: list[tuple[Key, Rows, asyncio.Future[Sequence[Any]]]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        groups: dict[Key, list[tuple[Rows, asyncio.Future[Sequence[Any]]]]] = defaultdict(list)
        for key, rows, future in batch:
            groups[key].append((rows, future))
        for key, members in groups.items():
            joined = np.concatenate([rows for rows, _ in members])
            self._on_batch(len(joined))
            try:
                results = self._score(key, joined)
            except Exception as error:
                for _, future in members:
                    loop.call_soon_threadsafe(_resolve, future, None, error)
                continue
            start = 0
            for rows, future in members:
                some = results[start : start + len(rows)]
                loop.call_soon_threadsafe(_resolve, future, some, None)
                start += len(rows)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)


def _resolve(
    future: asyncio.Future[Sequence[Any]], result: Sequence[Any] | None, error: Exception | None
) -> None:
    """Finish a future, unless its request was cancelled."""
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result or [])
