"""The command ``myriad``, run in this process.

To build the options of a verb takes longer than most of the work that tests give it, so they are
built once. Tests that register methods or codes of their own make the command anew.
"""

import functools
from collections.abc import Sequence

import typer

from myriad.cli.execution import execute
from myriad.cli.main import VERBS, make_app


@functools.cache
def _make_app(verb: str | None) -> typer.Typer:
    return make_app(VERBS if verb is None else [verb])


def run_command(words: Sequence[str]) -> int:
    """Run the command with these words; return the exit status."""
    return execute(_make_app(words[0] if words and words[0] in VERBS else None), words)
