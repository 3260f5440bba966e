"""Progress on stderr: bars on a terminal, plain lines otherwise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TextIO

from myriad.cli.text import format_amount, format_rate, format_seconds, printable
from myriad.errors import shorten
from myriad.progress import SILENT, Advance, Progress


def choose_progress(stream: TextIO, *, quiet: bool) -> Progress:
    """Return the progress that suits a stream: bars, lines, or nothing if `quiet`."""
    if quiet:
        return SILENT
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        from myriad.cli.bars import BarProgress

        return BarProgress(stream)
    return LineProgress(stream)


@dataclass
class StepState:
    """The state of a step of the progress; `started` is in seconds of the clock.

    `first` is when the first units were done, and how many: the time left is estimated from those
    after them, because the first often wait for kernels to be compiled.
    """

    title: str
    total: int | None
    unit: str
    started: float
    done: int = 0
    first: tuple[float, int] | None = None

    def describe_start(self) -> str:
        """Return the line for the start of the step."""
        if self.total is None:
            return f"{self.title} ..."
        return f"{self.title}: {format_amount(self.total, unit=self.unit)} ..."

    def describe_state(self, now: float) -> str:
        """Return the line for a step that is under way, with the time left if it can be told."""
        line = f"{self.title}: {self._amount()}{self._rate(now)}"
        if self.total is None or self.first is None or not self.first[1] < self.done < self.total:
            return line
        began, already = self.first
        left = (now - began) * (self.total - self.done) / (self.done - already)
        return f"{line}, {format_seconds(round(left))} left"

    def describe_end(self, now: float, *, finished: bool, width: int | None = None) -> str:
        """Return the line for the end of the step.

        Parameters
        ----------
        finished : whether the step ended normally, not by an error or an interruption.
        width : number of columns; the rate is left out where it does not fit.
        """
        took = format_seconds(now - self.started)
        if not finished:
            amount = f", {self._amount()}" if self.done or self.total else ""
            return f"{self.title}: stopped after {took}{amount}"
        if not self.done:
            return f"{self.title}: {took}"
        line = f"{self.title}: {format_amount(self.done, unit=self.unit)} in {took}"
        rate = self._rate(now)
        return line if width is not None and len(line + rate) > width else line + rate

    def _amount(self) -> str:
        return format_amount(self.done, self.total, self.unit)

    def _rate(self, now: float) -> str:
        # A rate over less than 0.3 seconds is not meaningful.
        elapsed = now - self.started
        return f" ({format_rate(self.done / elapsed, self.unit)})" if elapsed >= 0.3 else ""


class LineProgress(Progress):
    """Plain lines: one as a step starts, at most one every `interval` seconds, one at its end.

    Steps inside a step have only the lines in between.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        interval: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._interval = interval
        self._clock = clock
        self._lock = Lock()
        self._open = 0

    @contextmanager
    def step(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a step of `total` units (None: unknown); yields ``advance(n)``."""
        state = StepState(printable(title), total, unit, self._clock())
        last = state.started
        finished = False

        def advance(n: int) -> None:
            nonlocal last
            with self._lock:
                state.done += n
                now = self._clock()
                state.first = state.first or (now, state.done)
                if now - last >= self._interval:
                    last = now
                    self._write(state.describe_state(now))

        if self._open == 0:
            self._write(state.describe_start())
        self._open += 1
        try:
            yield advance
            finished = True
        finally:
            self._open -= 1
            if self._open == 0:
                self._write(state.describe_end(self._clock(), finished=finished))

    def note(self, sentence: str) -> None:
        """Print a sentence."""
        self._write(printable(shorten(sentence)))

    def _write(self, line: str) -> None:
        try:
            print(line, file=self._stream, flush=True)
        except OSError:
            # The reader is gone; the work matters more than its progress.
            self._stream = open(os.devnull, "w")  # noqa: SIM115
