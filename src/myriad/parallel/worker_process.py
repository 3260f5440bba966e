"""What a worker process does: call a function with items until its parent is done, or gone."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import traceback
from multiprocessing.connection import Connection, wait
from typing import Any

from myriad.errors import WorkError
from myriad.parallel.threads import hold_single


def serve(connection: Connection) -> None:
    """Answer each ``(function, item)`` that comes with ``(True, function(item))``.

    The function is pickled bytes, or None for the one before. An exception is answered with
    ``(False, exception)``.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    function: Any = None
    with hold_single():
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
    """End at once when the parent is gone, however it ended: nobody wants the result any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """Return an exception as it can be sent, with a note where it was raised."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return WorkError(f"A worker process failed: {type(error).__name__}: {error}.")
