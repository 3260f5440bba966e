"""Workers of a Dask cluster, on other machines or in processes of this one.

Data goes by path: a task names files that every worker sees, and little passes through the
scheduler. When a worker dies, Dask runs its tasks again on another one.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from myriad.errors import InputError, WorkError
from myriad.parallel.executor import Executor
from myriad.parallel.local_cluster import LocalWorkers, start_workers
from myriad.parallel.threads import hold_blas_to_one_thread
from myriad.progress import SILENT, Progress
from myriad.urls import UrlPath, path_exists

Item = TypeVar("Item")
Result = TypeVar("Result")

SECONDS = 20
"""Seconds to wait for a scheduler and for its first worker."""
LONGEST = 120
"""Seconds that a cluster may be without any worker before the job fails."""
LOOK = 5
"""Seconds of waiting for a result after which to check that there are workers."""


class ClusterExecutor(Executor):
    """The workers of a cluster; see `open_cluster`."""

    chunksize = 8
    remote = True

    def __init__(self, client: Any, n_workers: int, own: LocalWorkers | None = None) -> None:
        self.n_workers = n_workers
        self._client = client
        self._own = own  # workers that this process has started, and can replace

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items."""
        if self._own is not None:
            self._count_threads()
        waiting: deque[Any] = deque()
        for item in items:
            waiting.append(self._client.submit(_call, function, item, pure=False, retries=0))
            if len(waiting) >= 2 * self.n_workers + 1:
                yield self._wait_for(waiting.popleft())
        while waiting:
            yield self._wait_for(waiting.popleft())

    def require(self, *paths: Path) -> None:
        """Raise `InputError` unless every worker sees these files and folders."""
        for path in paths:
            path = path.absolute()
            for worker, advice in self._client.run(_check_path, path).items():
                if advice is not None:
                    raise InputError(f"{path} does not exist on the worker {worker}: {advice}")

    def _count_threads(self) -> int:
        """Return the number of threads of all workers; start to replace lost local workers."""
        try:
            answer = self._client.nthreads(callback_timeout=SECONDS)
        except TimeoutError:  # a scheduler that is stopped, or on a machine that has no network
            return 0
        n_threads = sum(answer.values())
        if self._own is not None and n_threads < self.n_workers:
            self._own.replace_lost()
        return n_threads

    def _wait_for(self, future: Any) -> Any:
        """Return the result of a task, or raise what it raised."""
        alone = 0.0  # seconds without any worker
        try:
            while alone < LONGEST:
                try:
                    return future.result(timeout=LOOK)
                except TimeoutError:
                    if future.status == "error":  # the task itself raised a TimeoutError
                        return future.result()
                    alone = 0.0 if self._count_threads() else alone + LOOK
        except Exception as error:
            kind = type(error)
            if kind.__module__.startswith("distributed") or "Cancelled" in kind.__name__:
                reason = str(error).partition("\n")[0] or kind.__name__
                if "connection-lost" in reason:
                    reason = "the connection to the scheduler was lost."
                raise WorkError(
                    f"The cluster failed to run a task: {reason} What was finished is kept; run "
                    "again with --resume."
                ) from error
            raise
        raise WorkError(
            "The cluster has lost all its workers, or its scheduler does not answer. What was "
            "finished is kept; run again with --resume."
        )


@contextmanager
def open_cluster(where: Any, *, progress: Progress = SILENT) -> Iterator[ClusterExecutor]:
    """Yield an executor of the workers of a cluster.

    Parameters
    ----------
    where : the address of a Dask scheduler, ``local:N`` for N processes of this machine, or
        ``active`` for the current Dask client of this program; or a client; or an executor that is
        open already.
    """
    if isinstance(where, ClusterExecutor):
        yield where
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            "--cluster needs Dask, which is not installed: pip install 'myriad-learn[cluster]'."
        ) from None
    if where == "active" or isinstance(where, Client):
        client = _find_client() if isinstance(where, str) else where
        n_workers = _check(client, "client")
        with hold_blas_to_one_thread():
            yield ClusterExecutor(client, n_workers)
        return
    for name in ("distributed", "distributed.client"):  # errors that matter are raised
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with start_workers(_count(where)) if where.startswith("local:") else nullcontext() as own:
        client = _connect(Client, where if own is None else own.cluster)
        try:
            n_workers = _check(client, where)
            if client.dashboard_link and own is None:
                progress.note(f"Dask dashboard: {client.dashboard_link}")
            with hold_blas_to_one_thread():
                yield ClusterExecutor(client, n_workers, own)
        finally:
            client.close()


def _find_client() -> Any:
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        raise InputError("There is no active Dask client: create one, or pass it.") from None


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
    """Return the number of workers, after checking that each has the same package versions."""
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


def _check_path(path: Path) -> str | None:
    """Return None if this machine sees a file, otherwise a hint for the user."""
    if not isinstance(path, UrlPath):
        shared = "put it on a disk that all machines of the cluster share, under the same path."
        return None if path.exists() else shared
    try:
        found = path_exists(path)
    except InputError as error:
        return str(error)
    return None if found else "every machine of the cluster must be able to read that URL."


def _describe_worker() -> dict[str, str]:
    """Return the versions that must be the same on all machines."""
    return {name: version(name) for name in ("myriad-learn", "numpy")}


def _call(function: Callable[[Item], Result], item: Item) -> Result:
    with hold_blas_to_one_thread():
        return function(item)
