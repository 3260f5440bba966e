"""Ignore the warnings of Pillow, safely in several threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_quiet_lock = threading.Lock()
_quiet_readers = 0
_quiet_filters = warnings.catch_warnings()


@contextmanager
def pillow_warnings_ignored() -> Iterator[None]:
    """Ignore the warnings of Pillow (odd EXIF data, large GIF): real problems are errors.

    `catch_warnings` alone is not thread-safe, because each thread restores the filters that it
    found: here the first reader sets the filters and the last one restores them.
    """
    global _quiet_readers, _quiet_filters
    with _quiet_lock:
        if _quiet_readers == 0:
            _quiet_filters = warnings.catch_warnings()
            _quiet_filters.__enter__()
            warnings.filterwarnings("ignore", module=r"PIL(\.|$)")
        _quiet_readers += 1
    try:
        yield
    finally:
        with _quiet_lock:
            _quiet_readers -= 1
            if _quiet_readers == 0:
                _quiet_filters.__exit__(None, None, None)
