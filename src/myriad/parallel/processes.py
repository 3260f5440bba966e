"""Worker processes, for work that holds the GIL too often for threads.

They are started by a fork server, or on Windows each by itself, never by a plain fork: OpenMP hangs
in a forked child of a process that has used it. The server imports the modules that workers need
once, and each worker is a copy of it. When a worker dies, the task that it was working on is given
to a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from myriad.errors import WorkError
from myriad.parallel.executor import Executor
from myriad.parallel.threads import hold_blas_to_one_thread, map_ordered

Item = TypeVar("Item")
Result = TypeVar("Result")

TRIES = 3
"""How many workers may die of the same task before the job fails."""
_STOPPED = "The work was stopped."
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_STARTING = threading.Lock()


class ProcessExecutor(Executor):
    """Worker processes, each with a thread of this process that serves it; see `open_processes`.

    The thread sends an item to its worker and waits for the result. So the two sides never write
    at the same time, which could block both, and the caller is free to use earlier results.
    """

    chunksize = 16

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._threads = ThreadPoolExecutor(n_workers, thread_name_prefix="myriad worker")
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._all = [_Worker() for _ in range(n_workers)]
        for worker in self._all:
            self._idle.put(worker)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` in the order of the items."""
        call = self.bind(function)
        return map_ordered(call, items, self._threads, ahead=2 * self.n_workers)

    def bind(
        self, function: Callable[[Item], Result], *, timeout: float | None = None
    ) -> Callable[[Item], Result]:
        """Return a function that calls `function` in a worker and waits for the result.

        Several threads may call it at the same time; each waits for an idle worker.

        Parameters
        ----------
        timeout : seconds after which a worker is killed that has not returned; the call then
            raises `TimeoutError`.
        """
        pickled = pickle.dumps(function)

        def call(item: Item) -> Result:
            worker = self._idle.get()
            try:
                result: Result = worker.call(pickled, item, timeout)
                return result
            finally:
                self._idle.put(worker)

        return call

    def close(self) -> None:
        """Kill all workers, whatever they are doing."""
        for worker in self._all:
            worker.close()
        self._threads.shutdown(wait=True, cancel_futures=True)


@contextmanager
def open_processes(n_workers: int, *, preload: Sequence[str] = ()) -> Iterator[ProcessExecutor]:
    """Yield an executor of worker processes, which are started as they are needed.

    BLAS has one thread in each of them, and in this process too. Kernels that they use should have
    been compiled before, or each worker compiles its own.

    Parameters
    ----------
    preload : modules that the tasks need, imported once for all workers.
    """
    _start_server(preload)
    executor = ProcessExecutor(n_workers)
    with hold_blas_to_one_thread():
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

    def call(self, function: bytes, item: Any, timeout: float | None = None) -> Any:
        """Return the result of the pickled function for an item, or raise its exception."""
        for _ in range(TRIES):
            if self._process is None:
                self._start()
            try:
                ok, answer = self._ask(function, item, timeout)
            except TimeoutError:
                self._clean_up()
                raise
            except (EOFError, OSError):
                status = self._clean_up()
                continue
            if ok:
                return answer
            raise answer
        raise WorkError(
            f"{TRIES} worker processes died while running the same task, the last one "
            f"{_explain_status(status)}. Try fewer --threads; if it fails with --threads 1 too, an "
            "input file crashes the library that reads it."
        )

    def _ask(self, function: bytes, item: Any, timeout: float | None) -> tuple[bool, Any]:
        # The function, which may be large, is sent only when it differs from the last one.
        known = self._function is function
        self._connection.send((None if known else function, item))
        self._function = function
        if timeout is not None and not self._connection.poll(timeout):
            raise TimeoutError
        answer: tuple[bool, Any] = self._connection.recv()
        return answer

    def _start(self) -> None:
        context = _context()
        with _STARTING, _without_main():
            if self._closed:
                raise WorkError(_STOPPED)
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=run_worker, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()

    def _clean_up(self) -> int | None:
        """Release a process that has died; return its exit status."""
        self._connection.close()
        self._process.kill()
        self._process.join()
        status: int | None = self._process.exitcode
        self._process, self._function = None, b""
        return status

    def close(self) -> None:
        """Kill the process."""
        with _STARTING:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()
            process.join()


def start_method() -> str:
    """Return how worker processes are started on this system, by multiprocessing's name."""
    known = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in known else "spawn"


def _context() -> Any:
    return multiprocessing.get_context(start_method())


def _start_server(preload: Sequence[str]) -> None:
    """Start the fork server, unless it runs, with one thread of BLAS and without Ctrl-C.

    Ctrl-C in a terminal reaches every process, but it is for this process to end its workers. A
    signal that is blocked while the server starts stays blocked in it and in its children.
    """
    if start_method() != "forkserver":
        return
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # else the server starts it, and it unblocks the signal
    with _STARTING, _without_main(), _single_threads():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            _context().set_forkserver_preload(["myriad.parallel.processes", *preload])
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main script, which every worker would run otherwise: it may have no main guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _single_threads() -> Iterator[None]:
    """Start processes with one thread of BLAS and OpenMP during this context."""
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


def run_worker(connection: Connection) -> None:
    """Receive messages ``(function, item)`` and reply ``(True, function(item))`` to each.

    This is the loop of a worker process, which ends with its parent. The function is pickled bytes,
    or None for that of the message before. An exception is replied as ``(False, exception)``.
    """
    if start_method() == "spawn":  # else the fork server has blocked the signal for its children
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    function: Any = None
    with hold_blas_to_one_thread():
        while True:
            try:
                message = connection.recv_bytes()
            except (EOFError, OSError):
                return
            try:
                pickled, item = pickle.loads(message)
                function = function if pickled is None else pickle.loads(pickled)
                answer = pickle.dumps((True, function(item)), pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                answer = pickle.dumps((False, _make_picklable(error)))
            connection.send_bytes(answer)


def _end_with_parent() -> None:
    """Exit at once when the parent has ended, however it did: nobody needs the result any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _make_picklable(error: Exception) -> Exception:
    """Return an exception that can be pickled, with the traceback as a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return WorkError(f"A worker process failed: {type(error).__name__}: {error}.")
