"""Threads of our own: kernels and BLAS release the GIL, so Python threads run them side by side."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

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


def hold_single() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP have one thread.

    Looking for their libraries takes as long as a small piece of work; they are looked for again
    only when something was imported since.
    """
    context: AbstractContextManager[Any] = _find_libraries(len(sys.modules)).limit(limits=1)
    return context


@lru_cache(maxsize=1)
def _find_libraries(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def thread_executor(threads: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yield an executor of `threads` threads while BLAS and OpenMP are held to one each.

    On an error, tasks that have not started are dropped.
    """
    with hold_single():
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
