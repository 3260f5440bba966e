"""Progress of long work: the work reports it, and the caller decides how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]


class Progress:
    """Progress that is not shown; the base class of all that is.

    Work opens each step with `step` and calls the function that this yields as units are done;
    `note` shows a sentence, such as a warning, while the work continues.
    """

    @contextmanager
    def step(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a step of `total` units, None if unknown; yield ``advance(n)`` to report n units."""
        yield lambda n: None

    def note(self, sentence: str) -> None:
        """Show a sentence to the user, such as a warning."""


SILENT = Progress()
