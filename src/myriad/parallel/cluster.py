"""Workers of a Dask cluster: other machines, or processes of this one.

Data goes by path: a piece of work names files that every worker sees, and what passes through the
scheduler is small. Dask does again what a worker had under way when it died.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from myriad.errors import InputError, WorkError
from myriad.parallel.mapping import Mapper
from myriad.parallel.threads import hold_single
from myriad.progress import SILENT, Progress
from myriad.urls import UrlPath, is_there

Item = TypeVar("Item")
Result = TypeVar("Result")

SECONDS = 20
"""How long to wait for a scheduler and for its first worker."""
LONGEST = 120
"""Seconds that a cluster may be without any worker: those that are lost come back or not."""

_CALM = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
"""How often processes of this machine look at themselves: by Dask's own way, that takes one core in
ten from two workers that have two cores."""
_BEFORE = "distributed.nanny.pre-spawn-environ"
_ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 256 << 20}
"""How glibc keeps memory in workers: by Dask's own way, blocks of rows go back to the system each
time, and every page of the next ones is a fault."""


class ClusterMapper(Mapper):
    """The workers of a cluster; see `open_cluster`."""

    grain = 8
    remote = True

    def __init__(self, client: Any, workers: int) -> None:
        self.workers = workers
        self._client = client

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items."""
        waiting: deque[Any] = deque()
        for item in items:
            waiting.append(self._client.submit(_call, function, item, pure=False, retries=0))
            if len(waiting) >= 2 * self.workers + 1:
                yield _take(waiting.popleft(), self._client)
        while waiting:
            yield _take(waiting.popleft(), self._client)

    def require(self, *paths: Path) -> None:
        """Raise `InputError` unless every worker sees these files and folders."""
        for path in paths:
            place = path.absolute()
            for worker, found in self._client.run(_look_for, place).items():
                if found is not None:
                    raise InputError(f"{place} is not there on the worker {worker}: {found}")


@contextmanager
def open_cluster(where: Any, *, progress: Progress = SILENT) -> Iterator[ClusterMapper]:
    """Yield a mapper of the workers of a cluster.

    Parameters
    ----------
    where : the address of a Dask scheduler, ``local:N`` for N processes of this machine, or
        ``active`` for the Dask client that the program has made; or a client; or a mapper that is
        open already.
    """
    if isinstance(where, ClusterMapper):
        yield where
        return
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(
            "--cluster needs Dask, which is not installed: pip install 'myriad-learn[cluster]'."
        ) from None
    if where == "active" or isinstance(where, Client):
        client = _find_client() if isinstance(where, str) else where
        workers = _check(client, "client")
        with hold_single():
            yield ClusterMapper(client, workers)
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    cluster = None
    if where.startswith("local:"):
        allocation = {f"{_BEFORE}.{name}": size for name, size in _ALLOCATION.items()}
        with config.set(_CALM | allocation):
            cluster = LocalCluster(
                n_workers=_count(where),
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",  # any port that is free, should there be other clusters
            )
    try:
        client = _connect(Client, where if cluster is None else cluster)
        try:
            workers = _check(client, where)
            if client.dashboard_link and cluster is None:
                progress.note(f"Dask dashboard: {client.dashboard_link}")
            with hold_single():
                yield ClusterMapper(client, workers)
        finally:
            client.close()
    finally:
        if cluster is not None:
            cluster.close()


def _find_client() -> Any:
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        raise InputError("There is no active Dask client: make one, or give it.") from None


def _count(where: str) -> int:
    try:
        n = int(where.removeprefix("local:"))
    except ValueError:
        n = 0
    if not 1 <= n <= 1024:
        raise InputError(f"--cluster {where}: local:N needs a number of workers, such as local:2.")
    return n


def _connect(client: Any, where: Any) -> Any:
    try:
        return client(where, timeout=SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"--cluster {where}: no Dask scheduler answers there ({reason}). Give an address such "
            "as tcp://host:8786, or local:N."
        ) from None


def _check(client: Any, where: str) -> int:
    """Return the number of workers, after seeing that each one has this very package."""
    try:
        client.wait_for_workers(1, timeout=SECONDS)
    except TimeoutError:
        raise WorkError(f"--cluster {where}: the scheduler has no workers. Start some.") from None
    mine = _describe_worker()
    try:
        found = client.run(_describe_worker)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"--cluster {where}: a worker cannot import myriad ({error}): install the same version "
            "of it on every machine of the cluster."
        ) from None
    for worker, theirs in found.items():
        for name, value in mine.items():
            if theirs[name] != value:
                raise InputError(
                    f"--cluster {where}: {name} is {theirs[name]} on the worker {worker} and "
                    f"{value} here: install the same version on every machine."
                )
    return sum(client.nthreads().values())


def _look_for(place: Path) -> str | None:
    """Return None if this machine sees a file, otherwise what to do about it."""
    if not isinstance(place, UrlPath):
        shared = "put it on a disk that all machines of the cluster share, under the same path."
        return None if place.exists() else shared
    try:
        found = is_there(place)
    except InputError as error:
        return str(error)
    return None if found else "every machine of the cluster must be able to read that URL."


def _describe_worker() -> dict[str, str]:
    """Return the versions that must agree."""
    return {name: version(name) for name in ("myriad-learn", "numpy")}


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    with hold_single():
        return function(item)


def _take(future: Any, client: Any) -> Any:
    """Return the result of a piece of work, or raise what it raised."""
    alone = 0
    try:
        while alone < LONGEST:
            try:
                return future.result(timeout=SECONDS)
            except TimeoutError:
                if future.done():  # it is the work that took too long for something
                    raise
                alone = 0 if client.nthreads() else alone + SECONDS
        raise WorkError(
            "The cluster has lost all its workers. What was finished is kept; run again with "
            "--resume."
        )
    except Exception as error:
        if type(error).__module__.startswith("distributed") or "Cancelled" in type(error).__name__:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise WorkError(
                f"The cluster gave up a piece of work: {reason} What was finished is kept; run "
                "again with --resume."
            ) from error
        raise
