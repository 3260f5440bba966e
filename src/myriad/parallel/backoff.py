"""Caution: whether to ask for help where a helper that loses its core would hold up the caller."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

LONGEST_PAUSE = 255


def count_losses() -> int:
    """Return how often the calling thread has had to leave its core to another; 0 if not known."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw if sys.platform == "linux" else 0


class Backoff:
    """Pieces of work that are done alone after one for which help came too late.

    Each time that happens the pause doubles, and each time that help comes in time it is halved.
    Pieces during which the caller has lost its core do not count: others want the cores then, and
    helpers would have none.
    """

    def __init__(self) -> None:
        self._pause = 0
        self._alone = 0
        self._losses = 0

    def asks(self) -> bool:
        """Tell whether the next piece of work is to be done with help."""
        self._losses = count_losses()
        return self._alone == 0

    def learn(self, *, late: bool) -> None:
        """Hear how that piece of work went."""
        if late:
            self._pause = min(LONGEST_PAUSE, 1 + 2 * self._pause)
            self._alone = self._pause
        elif self._alone == 0:
            self._pause //= 2
        elif count_losses() == self._losses:
            self._alone -= 1
