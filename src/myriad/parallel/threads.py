"""Threads for kernels and BLAS, which release the GIL and so run side by side.

An executor of threads is for independent tasks. A `ThreadPool` is for work in many short tasks:
a product of blocks, for instance. The calling thread takes tasks as the others do instead of
waiting, and with one thread everything is a plain loop.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import count
from numbers import Integral
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

from myriad.errors import InputError, quote

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS_PER_CORE, FEW_THREADS = 4, 32
"""Maximum number of threads: the first per core, or the second if that is more."""
LONGEST_PAUSE = 255
"""Maximum number of consecutive tasks without helpers; see `Backoff`."""


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: the number given, or one for each usable core.

    Of a large number not more are used than `THREADS_PER_CORE` for each core, or `FEW_THREADS`;
    results do not depend on the number.
    """
    if hasattr(os, "sched_getaffinity"):
        n_cores = len(os.sched_getaffinity(0))
    else:
        n_cores = os.cpu_count() or 1
    if threads is None:
        return n_cores
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise InputError(
            f"The number of threads must be a whole number of at least 1, not {quote(threads)}."
        )
    return min(int(threads), max(FEW_THREADS, THREADS_PER_CORE * n_cores))


def hold_blas_to_one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP have one thread.

    Finding their loaded libraries takes as long as a small task, so it is done again only when a
    module has been imported since.
    """
    context: AbstractContextManager[Any] = _find_libraries(len(sys.modules)).limit(limits=1)
    return context


@lru_cache(maxsize=1)
def _find_libraries(n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def thread_executor(threads: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yield an executor of `threads` threads while BLAS and OpenMP are held to one each.

    On an error, tasks that have not started are cancelled.
    """
    with hold_blas_to_one_thread():
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
    """Yield ``function(item)`` in the order of the items, computing at most `ahead` of them ahead.

    So memory stays bounded however many items there are, unlike with `ThreadPoolExecutor.map`.
    """
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(executor.submit(function, item))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


class Lazy(Generic[Result]):
    """A deferred result: computed by a helper thread or, without helpers, when it is requested.

    Parameters
    ----------
    result : returns the result; it waits for the helper if needed.
    """

    def __init__(self, result: Callable[[], Result]) -> None:
        self.result = result


class ThreadPool:
    """Threads that share work; see `open_threads`.

    Attributes
    ----------
    threads : their number, the calling thread included.
    backoff : decides whether tasks for which the caller would have to wait are shared.
    """

    def __init__(self, threads: int, helpers: ThreadPoolExecutor | None) -> None:
        self.threads = threads
        self.backoff = Backoff()
        self._helpers = helpers

    def share(self, function: Callable[[Item], Any], items: Sequence[Item]) -> None:
        """Call `function` with every item, in any order, from all threads; return when all is done.

        The function must give the same result whichever thread calls it.
        """
        if self._helpers is None or len(items) == 1:
            for item in items:
                function(item)
            return
        numbers = count()

        def work() -> None:
            while (number := next(numbers)) < len(items):  # `next` of a count is atomic
                function(items[number])

        n_helpers = min(self.threads, len(items)) - 1
        helping = [self._helpers.submit(work) for _ in range(n_helpers)]
        work()
        for helper in helping:
            if not helper.cancel():  # a helper that has not begun is busy elsewhere, and not needed
                helper.result()

    @contextmanager
    def assisted(self, assist: Callable[[], Any], stop: Callable[[], Any]) -> Iterator[None]:
        """Have all helpers call `assist` during the context; `stop` makes it return.

        The context does not wait for helpers to return: after `stop`, they must not access memory
        that the caller may change.
        """
        helping = []
        if self._helpers is not None:
            helping = [self._helpers.submit(assist) for _ in range(self.threads - 1)]
        try:
            yield
        finally:
            stop()
            for helper in helping:
                if not helper.cancel() and helper.done():
                    helper.result()

    def start(self, function: Callable[..., Result], *arguments: Any) -> Lazy[Result]:
        """Start to compute a result that is needed later."""
        if self._helpers is None:
            return Lazy(lambda: function(*arguments))
        return Lazy(self._helpers.submit(function, *arguments).result)


@contextmanager
def open_threads(threads: int | None = None) -> Iterator[ThreadPool]:
    """Yield a pool of `threads` threads, the calling one included; BLAS has one thread in each."""
    n = thread_count(threads)
    with hold_blas_to_one_thread():
        helpers = ThreadPoolExecutor(n - 1, thread_name_prefix="myriad") if n > 1 else None
        try:
            yield ThreadPool(n, helpers)
        finally:
            if helpers is not None:
                helpers.shutdown(wait=True, cancel_futures=True)


def count_preemptions() -> int:
    """Return how often the calling thread has lost its core to another one; 0 if not known."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw if sys.platform == "linux" else 0


class Backoff:
    """Exponential back-off: after a task for which helpers were late, some are done alone.

    A helper that loses its core would delay the caller.

    The pause, in tasks, doubles each time that helpers are late, and is halved each time that they
    are in time. Tasks during which the caller has lost its core do not count for the pause: other
    programs want the cores then, and helpers would have none.
    """

    def __init__(self) -> None:
        self._pause = 0
        self._alone = 0  # tasks still to be done alone
        self._preemptions = 0

    def should_share(self) -> bool:
        """Return whether the next task is to be shared with helpers."""
        self._preemptions = count_preemptions()
        return self._alone == 0

    def record(self, *, late: bool) -> None:
        """Record whether the caller had to wait for a helper during that task."""
        if late:
            self._pause = min(LONGEST_PAUSE, 1 + 2 * self._pause)
            self._alone = self._pause
        elif self._alone == 0:
            self._pause //= 2
        elif count_preemptions() == self._preemptions:
            self._alone -= 1
