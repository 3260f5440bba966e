"""Threads of our own: kernels and BLAS release the GIL, so Python threads run them side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

from myriad.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: the number asked for, or one for each usable core."""
    if threads is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if threads < 1:
        raise InputError(f"The number of threads must be at least 1, not {threads}.")
    return threads


@contextmanager
def pool(threads: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yield an executor of `threads` threads while BLAS and OpenMP are held to one each.

    On an error, tasks that have not started are dropped.
    """
    with threadpool_limits(limits=1):
        executor = ThreadPoolExecutor(thread_count(threads), thread_name_prefix="myriad")
        try:
            yield executor
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def map_ordered(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    executor: ThreadPoolExecutor,
    *,
    ahead: int,
) -> Iterator[Result]:
    """Yield ``function(item)`` in the order of the items, at most `ahead` of them under way.

    Memory stays bounded however many items there are, which `Executor.map` does not promise.
    """
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(executor.submit(function, item))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
