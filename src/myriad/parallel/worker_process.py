"""The loop of a worker process: it calls a function with items until its parent ends."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import traceback
from multiprocessing.connection import Connection, wait
from typing import Any

from myriad.errors import WorkError
from myriad.parallel.threads import hold_blas_to_one_thread


def run_worker(connection: Connection) -> None:
    """Receive messages ``(function, item)`` and reply ``(True, function(item))`` to each.

    The function is pickled bytes, or None for that of the message before. An exception is replied
    as ``(False, exception)``.
    """
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
                answer = pickle.dumps((False, _portable(error)))
            connection.send_bytes(answer)


def _end_with_parent() -> None:
    """Exit at once when the parent has ended, however it did: nobody needs the result any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """Return an exception that can be pickled, with a note of where it was raised."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return WorkError(f"A worker process failed: {type(error).__name__}: {error}.")
