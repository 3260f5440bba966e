"""How long work tells how far it is; what is shown is the caller's affair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]


class Progress:
    """Silent progress: the base of everything that shows some.

    Work announces each step with `step` and calls the function it is handed as units get done;
    `note` passes on a sentence that a user should read while the work goes on.
    """

    @contextmanager
    def step(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Open a step of `total` units (None: unknown); yields ``advance(n)``."""
        yield lambda n: None

    def note(self, sentence: str) -> None:
        """Tell the user something, such as a warning, between two steps."""


SILENT = Progress()
