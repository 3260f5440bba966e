"""Progress bars for a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task
from rich.progress import Progress as RichProgress
from rich.table import Column, Table
from rich.text import Text

from myriad.cli.progress import StepState
from myriad.cli.text import format_amount, format_rate, format_seconds, printable
from myriad.errors import shorten
from myriad.progress import Advance, Progress

_SHORT = 0.3
"""A step that takes less than this many seconds shows no bar."""

_MARGIN = 4
"""Columns left free, or the ``^C`` that a terminal echoes would break the line and leave a bar."""


class BarProgress(Progress):
    """Bars with rate and time left; a finished step stays as one line with its time.

    Steps inside a step have a bar of their own while they last, and leave no line.
    """

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._clock = clock
        self._bars = Bars(self._console)
        self._open = 0
        self._lock = Lock()

    @contextmanager
    def step(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a step of `total` units (None: unknown); yields ``advance(n)``."""
        state = StepState(printable(title), total, unit, self._clock())
        bars = self._enter()
        task = bars.add_task(state.title, total=total, unit=unit)
        finished = False

        def advance(n: int) -> None:
            with self._lock:
                state.done += n
            bars.advance(task, n)

        try:
            yield advance
            finished = True
        finally:
            bars.remove_task(task)
            self._leave()
            if self._open == 0:
                self._print_end(state, finished=finished)

    def note(self, sentence: str) -> None:
        """Print a sentence above the bars."""
        self._console.print(Text(printable(shorten(sentence))))

    def _enter(self) -> Bars:
        """Start the display with the outermost step; steps inside it share it."""
        if self._open == 0:
            self._bars = Bars(self._console)
            self._bars.start()
        self._open += 1
        return self._bars

    def _leave(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._bars.stop()

    def _print_end(self, state: StepState, *, finished: bool) -> None:
        mark = ("✓ ", "green") if finished else ("✗ ", "red")
        width = self._console.width - len(mark[0])
        sentence = state.describe_end(self._clock(), finished=finished, width=width)
        self._console.print(Text.assemble(mark, sentence), soft_wrap=True)


class Bars(RichProgress):
    """The display of all open steps; what is printed meanwhile appears above it."""

    def __init__(self, console: Console) -> None:
        self._screen = console  # the base class draws a first table before it has a console
        figures = Column(no_wrap=True, justify="right")
        columns: list[ProgressColumn] = [
            _Title(table_column=Column()),
            _Amount(table_column=figures),
        ]
        room = console.width - 72  # what title and figures leave on most terminals
        if room >= 0:
            width = 8 + min(room, 96) // 3
            columns.insert(1, BarColumn(width, table_column=Column(no_wrap=True)))
            columns.append(_Rate(table_column=figures))
        columns.append(_TimeLeft(table_column=figures))
        super().__init__(*columns, console=console, transient=True, redirect_stdout=False)

    def refresh(self) -> None:
        """Do nothing: the display redraws itself ten times a second, not whenever a step starts."""

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """Return the table without steps that have only just started, whose bars would flash."""
        table = super().make_tasks_table([task for task in tasks if (task.elapsed or 0) >= _SHORT])
        table.width = max(self._screen.width - _MARGIN, _MARGIN)
        return table


class _Title(ProgressColumn):
    """The one column that is cut where room is short."""

    def render(self, task: Task) -> Text:
        return Text(task.description, no_wrap=True, overflow="ellipsis")


class _Amount(ProgressColumn):
    def render(self, task: Task) -> Text:
        if task.total is None and not task.completed:
            return Text("")
        total = None if task.total is None else int(task.total)
        return Text(format_amount(int(task.completed), total, task.fields["unit"]))


class _Rate(ProgressColumn):
    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        speed = task.speed
        return Text(format_rate(speed, task.fields["unit"]) if speed else "", style="cyan")


class _TimeLeft(ProgressColumn):
    """The time left, or the time spent where the total is unknown."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(format_seconds(int(task.elapsed or 0)), style="dim")
        left = task.time_remaining
        return Text("" if left is None else f"{format_seconds(int(left))} left", style="dim")
