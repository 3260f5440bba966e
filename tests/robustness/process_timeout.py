"""Timeouts of processes in CPU time, since a busy machine slows all of them down."""

from __future__ import annotations

import os
import time
from pathlib import Path

IDLE = 10
"""Ratio of the limits of wall-clock time and CPU time: a process may wait for ever."""


LONGEST_GAP = 1.0
"""Seconds between two checks of a timeout that count at most."""


class ProcessTimeout:
    """A limit of the CPU time of a process, and a larger one of its wall-clock time.

    The wall-clock time is that between checks by `is_expired`, which must be frequent. Time in
    which the process is stopped does not count, nor time in which the checking process is: both
    may be paused together and continued later.

    Parameters
    ----------
    process : its pid.
    seconds : limit of the CPU time; where that is unknown, only the other limit applies.
    """

    def __init__(self, process: int, seconds: float) -> None:
        self.process, self.seconds = process, seconds
        self.reset()

    def reset(self) -> None:
        """Start again, after a sign of progress."""
        self._last, self._waited = time.monotonic(), 0.0
        _, self._began = self._read()

    def is_expired(self) -> bool:
        """Return whether the process has exceeded a limit."""
        state, used = self._read()
        now = time.monotonic()
        if state not in ("T", "t"):
            self._waited += min(now - self._last, LONGEST_GAP)
        self._last = now
        return used - self._began > self.seconds or self._waited > IDLE * self.seconds

    def _read(self) -> tuple[str, float]:
        """Return the state of the process and its CPU time."""
        try:
            stated = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return "", 0.0
        return stated[0], (int(stated[11]) + int(stated[12])) / os.sysconf("SC_CLK_TCK")
