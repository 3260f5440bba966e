"""ONNX Runtime, imported when first needed; one session per graph; the latest are kept."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from myriad.errors import InputError

INSTALL = "pip install onnxruntime onnx."
_MAX_SESSIONS = 4
_SESSIONS: OrderedDict[str, Any] = OrderedDict()
_LOCK = threading.Lock()


def import_onnx() -> Any:
    """Return the package onnx, which builds and edits graphs."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise_interruption(error)
        raise InputError(f"ONNX graphs need the package onnx: {INSTALL}") from None
    return onnx


def open_session(read: Callable[[], bytes], sha256: str) -> Any:
    """Return the session of the graph that `read` returns, the same one for the same hash.

    It computes on one thread, since images are described in parallel, and may be used by many
    threads at a time. Sessions are never saved: they are made from the graph again.
    """
    with _LOCK:
        if sha256 not in _SESSIONS:
            _SESSIONS[sha256] = start_session(read())
            if len(_SESSIONS) > _MAX_SESSIONS:
                _SESSIONS.popitem(last=False)
        _SESSIONS.move_to_end(sha256)
        return _SESSIONS[sha256]


def import_onnxruntime() -> Any:
    """Return the package onnxruntime, which runs graphs.

    From version 1.29 on it reports to its maker how it is used, with names and hashes of graphs,
    unless this environment variable is set before it is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
    except ImportError as error:
        raise_interruption(error)
        raise InputError(f"Networks are run by the package onnxruntime: {INSTALL}") from None
    return onnxruntime


def raise_interruption(error: ImportError) -> None:
    """Raise the `KeyboardInterrupt` that an import ended with; extension modules convert it."""
    if isinstance(error.__cause__, KeyboardInterrupt):
        raise error.__cause__


def start_session(graph: bytes, name: str = "The ONNX graph") -> Any:
    """Return a new session of a graph; raises `InputError` if it cannot be run."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        # With a fallback, it would print an error to stdout and try the same again.
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], enable_fallback=False
        )
    except Exception as error:  # ONNX Runtime has an exception class for each of its codes
        raise InputError(f"{name} cannot be run: {brief(error)}.") from None


def brief(error: Exception) -> str:
    """Return the first line of a message of ONNX Runtime, without its code and node, shortened."""
    line = str(error).partition("\n")[0].rpartition("Status Message: ")[2]
    line = line.rpartition("] : ")[2].rpartition(" : ")[2].strip().rstrip(".")
    return line if len(line) <= 160 else f"{line[:157]}..."
