"""How long to wait for a process: by the processor, since a busy machine makes all of them slow."""

from __future__ import annotations

import os
import time
from pathlib import Path

IDLE = 10
"""On the clock a process has so many times as long as on the processor: it may wait for ever."""


class Patience:
    """The time that a process has.

    Parameters
    ----------
    process : its number.
    seconds : of the processor; where the system does not state them, on the clock alone.
    """

    def __init__(self, process: int, seconds: float) -> None:
        self.process, self.seconds = process, seconds
        self.renew()

    def renew(self) -> None:
        """Begin anew, after a sign of life."""
        self._began, self._used = time.monotonic(), self._read()

    def is_over(self) -> bool:
        """Return whether the process has had its time."""
        used = self._read() - self._used
        return used > self.seconds or time.monotonic() - self._began > IDLE * self.seconds

    def _read(self) -> float:
        try:
            stated = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(stated[11]) + int(stated[12])) / os.sysconf("SC_CLK_TCK")
