"""A team: the calling thread and its helpers work through a list together.

For work in many short pieces, such as the product of one block: the caller does not wait idly but
takes pieces like the others, and with one thread everything is a plain loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any, Generic, TypeVar

from myriad.parallel.backoff import Backoff
from myriad.parallel.threads import hold_single, thread_count

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lazy(Generic[Result]):
    """A result that is made ahead by a helper or, in a team of one, when it is asked for."""

    def __init__(self, result: Callable[[], Result]) -> None:
        self.result = result


class ThreadPool:
    """Threads that share work; see `team`.

    Attributes
    ----------
    threads : their number.
    caution : whether to ask the helpers for what the caller would have to wait for.
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
            while (number := next(numbers)) < len(items):  # one step of `count` is atomic
                function(items[number])

        n_helpers = min(self.threads, len(items)) - 1
        helping = [self._helpers.submit(work) for _ in range(n_helpers)]
        work()
        for helper in helping:
            if not helper.cancel():  # who has not begun by now is busy elsewhere, and not needed
                helper.result()

    @contextmanager
    def assisted(self, assist: Callable[[], Any], dismiss: Callable[[], Any]) -> Iterator[None]:
        """Let all helpers call `assist` meanwhile; `dismiss` makes it return.

        Nobody waits for that: after `dismiss`, an assistant must not touch what the caller may.
        """
        helping = []
        if self._helpers is not None:
            helping = [self._helpers.submit(assist) for _ in range(self.threads - 1)]
        try:
            yield
        finally:
            dismiss()
            for helper in helping:
                if not helper.cancel() and helper.done():
                    helper.result()

    def start(self, function: Callable[..., Result], *arguments: Any) -> Lazy[Result]:
        """Begin a piece of work that is wanted later."""
        if self._helpers is None:
            return Lazy(lambda: function(*arguments))
        return Lazy(self._helpers.submit(function, *arguments).result)


@contextmanager
def open_threads(threads: int | None = None) -> Iterator[ThreadPool]:
    """Yield a team of `threads` threads, the calling one among them; BLAS is held to one each."""
    n = thread_count(threads)
    with hold_single():
        helpers = ThreadPoolExecutor(n - 1, thread_name_prefix="myriad") if n > 1 else None
        try:
            yield ThreadPool(n, helpers)
        finally:
            if helpers is not None:
                helpers.shutdown(wait=True, cancel_futures=True)
