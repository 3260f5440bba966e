"""Worker processes: for work that holds the interpreter's lock too often for threads.

They are started by a fork server, never by a plain fork: OpenMP hangs in a forked child of a
process that has used it. The server imports what workers need once, and each worker is a copy of
it. A worker that dies costs the piece that it had under way, which another one does again.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from myriad.errors import WorkError
from myriad.parallel.executor import Executor
from myriad.parallel.threads import hold_single, map_ordered
from myriad.parallel.worker_process import serve

Item = TypeVar("Item")
Result = TypeVar("Result")

TRIES = 3
"""Workers that may die of one piece before the job is given up."""
_STOPPED = "The work was stopped."
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_STARTING = threading.Lock()


class ProcessExecutor(Executor):
    """Worker processes, each talked to by a thread of its own; see `open_processes`.

    A thread of this process hands an item to its worker and waits for the result; so neither side
    ever writes while the other one does, and this process is free to use the results.
    """

    grain = 16

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._threads = ThreadPoolExecutor(n_workers, thread_name_prefix="myriad worker")
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all = [_Worker() for _ in range(n_workers)]
        for worker in self._all:
            self._idle.put(worker)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items."""
        pickled = pickle.dumps(function)

        def call(item: Item) -> Result:
            worker = self._idle.get()
            try:
                return worker.call(pickled, item)
            finally:
                self._idle.put(worker)

        return map_ordered(call, items, self._threads, ahead=2 * self.n_workers)

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._all:
            worker.close()
        self._threads.shutdown(wait=True, cancel_futures=True)


@contextmanager
def open_processes(n_workers: int, *, preload: Sequence[str] = ()) -> Iterator[ProcessExecutor]:
    """Yield a mapper of worker processes, which are started as they are needed.

    BLAS is held to one thread in each, and in this process too. Kernels that they use should have
    been compiled before, or each of them compiles its own.

    Parameters
    ----------
    preload : modules that the work needs, imported once for all workers.
    """
    _start_server(preload)
    executor = ProcessExecutor(n_workers)
    with hold_single():
        try:
            yield executor
        finally:
            executor.close()


class _Worker:
    """A worker process and the connection to it; used by one thread at a time."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None
        self._function = b""
        self._closed = False

    def call(self, function: bytes, item: Any) -> Any:
        """Return what the pickled function returns for an item, or raise what it raises."""
        for _ in range(TRIES):
            if self._process is None:
                self._start()
            try:
                ok, answer = self._ask(function, item)
            except (EOFError, OSError):
                status = self._bury()
                continue
            if ok:
                return answer
            raise answer
        raise WorkError(
            f"{TRIES} worker processes died of the same piece of work, the last one "
            f"{_explain_status(status)}. Try fewer --threads; if it fails with --threads 1 too, an "
            "input breaks a library that reads it."
        )

    def _ask(self, function: bytes, item: Any) -> tuple[bool, Any]:
        known = self._function is function
        self._connection.send((None if known else function, item))
        self._function = function
        answer: tuple[bool, Any] = self._connection.recv()
        return answer

    def _start(self) -> None:
        context = _context()
        with _STARTING, _without_main():
            if self._closed:
                raise WorkError(_STOPPED)
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()

    def _bury(self) -> int | None:
        """Forget a worker that died; return its exit status."""
        self._connection.close()
        self._process.kill()
        self._process.join()
        status: int | None = self._process.exitcode
        self._process, self._function = None, b""
        return status

    def close(self) -> None:
        """End the process at once."""
        with _STARTING:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()
            process.join()


def _context() -> Any:
    """Return how processes are started here."""
    known = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")


def _start_server(preload: Sequence[str]) -> None:
    """Start the fork server, unless it runs: BLAS on one thread, deaf to Ctrl-C.

    Ctrl-C in a terminal reaches every process; what it means for workers is this process's affair.
    A signal that is blocked here while the server starts stays blocked in it and its children.
    """
    if _context().get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # else the server starts it, and it unblocks the signal
    with _STARTING, _without_main(), _single_threads():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            _context().set_forkserver_preload(["myriad.parallel.worker_process", *preload])
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main script, or every worker would run it: it may have no guard against that."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _single_threads() -> Iterator[None]:
    """Let processes started meanwhile make no threads of BLAS or OpenMP."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _explain_status(status: int | None) -> str:
    if status is not None and status < 0:
        name = signal.Signals(-status).name
        memory = ", perhaps because memory ran out" if status == -signal.SIGKILL else ""
        return f"by {name}{memory}"
    return f"with status {status}"
