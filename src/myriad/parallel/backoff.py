"""Back-off from helper threads, where one that loses its core would delay the caller."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

LONGEST_PAUSE = 255


def count_preemptions() -> int:
    """Return how often the calling thread has lost its core to another one; 0 if not known."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw if sys.platform == "linux" else 0


class Backoff:
    """Exponential back-off: after a task for which helpers were late, some are done alone.

    The pause, in tasks, doubles each time that helpers are late, and is halved each time that they
    are in time. Tasks during which the caller has lost its core do not count for the pause: other
    programs want the cores then, and helpers would have none.
    """

    def __init__(self) -> None:
        self._pause = 0
        self._alone = 0  # tasks still to be done alone
        self._preemptions = 0

    def should_share(self) -> bool:
        """Return whether the next task is to be shared with helpers."""
        self._preemptions = count_preemptions()
        return self._alone == 0

    def record(self, *, late: bool) -> None:
        """Record whether the caller had to wait for a helper during that task."""
        if late:
            self._pause = min(LONGEST_PAUSE, 1 + 2 * self._pause)
            self._alone = self._pause
        elif self._alone == 0:
            self._pause //= 2
        elif count_preemptions() == self._preemptions:
            self._alone -= 1
