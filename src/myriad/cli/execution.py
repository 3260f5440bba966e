"""One call of the command from its arguments to its exit status."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from types import FrameType
from typing import Any

import typer
from typer.main import get_command

from myriad.cli.failure import INTERRUPTED, explain, is_usage
from myriad.cli.objects import to_line
from myriad.cli.verb import Outcome


def execute(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a verb and print its result or its failure; return the exit status.

    Nothing but a result, a failure as JSON or a help page goes to stdout, and no failure shows a
    traceback unless ``MYRIAD_DEBUG=1`` is set.
    """
    as_json = "--json" in takewhile(lambda argument: argument != "--", arguments)
    try:
        with _terminable():
            return _print(_invoke(app, arguments or ["--help"]))
    except typer.Exit as finished:
        return finished.exit_code
    except BrokenPipeError:  # the reader of a help page has seen enough
        _discard_stdout()
        return 0
    except Exception as error:
        return _report(error, as_json=as_json)
    except KeyboardInterrupt as interruption:
        _ignore_signals()
        return _report(interruption, as_json=as_json)


def _invoke(app: typer.Typer, arguments: Sequence[str]) -> Any:
    """Parse the arguments and run the verb, letting every exception through."""
    command = get_command(app)
    with command.make_context("myriad", list(arguments)) as context:
        return command.invoke(context)


def _print(outcome: Outcome | None) -> int:
    """Print the outcome of a verb (None: typer itself has printed a help page)."""
    try:
        if outcome is not None:
            outcome.print()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, and the work is done
        _discard_stdout()
    except OSError as error:
        _discard_stdout()
        return _report(error, as_json=False)
    return 0


def _report(error: BaseException, *, as_json: bool) -> int:
    failure = explain(error)
    if os.environ.get("MYRIAD_DEBUG") == "1" and not is_usage(error):
        traceback.print_exception(error)
    if as_json:
        try:
            print(to_line({"error": failure.sentence}), flush=True)
        except OSError:
            _discard_stdout()
            print(f"Error: {failure.sentence}", file=sys.stderr)
    else:
        start = "" if failure.status == INTERRUPTED else "Error: "
        print(f"{start}{failure.sentence}", file=sys.stderr)
    return failure.status


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM interrupt the work as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _ignore_signals() -> None:
    """Ignore further signals: a second Ctrl-C would print a traceback after the message."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _discard_stdout() -> None:
    """Discard what is buffered for stdout, or Python would report an error at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
