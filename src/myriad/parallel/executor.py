"""Mappers: places where the pieces of a long job are done, in this process or in others.

A job is a function that can be pickled and items it is called with. It does not know where it runs:
results come in the order of the items, so what is made of them is the same everywhere.
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
    """A place for the pieces of a job.

    Attributes
    ----------
    workers : pieces that are done side by side.
    grain : small items, such as images, that are best handed over together as one piece.
    remote : whether workers may be on other machines, so that they should read and write large
        things themselves.
    """

    n_workers: int
    grain: ClassVar[int] = 1
    remote: ClassVar[bool] = False

    @abstractmethod
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items.

        The function and the items must be such that can be pickled. Only a few items are under way
        at a time, so memory stays bounded however many there are.
        """

    def require(self, *paths: Path) -> None:  # noqa: B027
        """Raise `InputError` unless every worker sees these files and folders."""


class LocalExecutor(Executor):
    """Work in this process: one worker is a plain loop, several are threads; see `open_local`."""

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
    """Yield a mapper of threads of this process, while BLAS is held to one each."""
    n = thread_count(threads)
    with thread_executor(n) as executor:
        yield LocalExecutor(n, executor if n > 1 else None)
