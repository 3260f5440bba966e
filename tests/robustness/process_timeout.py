"""Timeouts of processes in CPU time, since a busy machine slows all of them down."""

from __future__ import annotations

import os
import time
from pathlib import Path

IDLE = 10
"""Ratio of the limits of wall-clock time and CPU time: a process may wait for ever."""


class ProcessTimeout:
    """A limit of the CPU time of a process, and a larger one of its wall-clock time.

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
        self._began, self._used = time.monotonic(), self._read()

    def is_expired(self) -> bool:
        """Return whether the process has exceeded a limit."""
        used = self._read() - self._used
        return used > self.seconds or time.monotonic() - self._began > IDLE * self.seconds

    def _read(self) -> float:
        try:
            stated = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(stated[11]) + int(stated[12])) / os.sysconf("SC_CLK_TCK")
