"""Executors: they map a function over items, in this process or in others.

The function does not know where it runs: results come in the order of the items, so whatever is
computed from them is the same everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from myriad.parallel.threads import map_ordered, thread_count, thread_executor

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(ABC):
    """The base of all executors.

    Attributes
    ----------
    n_workers : how many items are worked on at the same time.
    chunksize : number of small items, such as images, that a caller should group into one.
    remote : whether workers may be on other machines, so that they should read and write large
        data themselves.
    """

    n_workers: int
    chunksize: ClassVar[int] = 1
    remote: ClassVar[bool] = False

    @abstractmethod
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items.

        The function, the items and the results must be picklable. Only a few items are worked on
        ahead, so memory stays bounded however many there are.
        """

    def require(self, *paths: Path) -> None:  # noqa: B027
        """Raise `InputError` unless every worker sees these files and folders."""


class LocalExecutor(Executor):
    """Threads of this process, or a plain loop for one worker; see `open_local`."""

    def __init__(self, n_workers: int, executor: Any = None) -> None:
        self.n_workers = n_workers
        self._executor = executor

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items."""
        if self._executor is None:
            return map(function, items)
        return map_ordered(function, items, self._executor, ahead=2 * self.n_workers)


@contextmanager
def open_local(threads: int | None = None) -> Iterator[Executor]:
    """Yield an executor of threads of this process, with one thread of BLAS in each."""
    n = thread_count(threads)
    with thread_executor(n) as executor:
        yield LocalExecutor(n, executor if n > 1 else None)
