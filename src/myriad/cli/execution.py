"""One call of the command from its arguments to its exit status."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import signal
import sys
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from types import FrameType
from typing import Any, NamedTuple

import typer
from typer.main import get_command

from myriad.cli.text import printable, to_line
from myriad.cli.verb import Outcome
from myriad.errors import (
    FULL_DISK,
    MyriadError,
    did_you_mean,
    lacks_library_memory,
    lacks_threads,
    shorten,
)

WORK, INPUT, INTERRUPTED = 1, 2, 130

_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_WRONG_PATH = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}


def execute(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a verb and print its result or its failure; return the exit status.

    Nothing but a result, a failure as JSON or a help page goes to stdout, and no failure shows a
    traceback unless ``MYRIAD_DEBUG=1`` is set.
    """
    as_json = "--json" in takewhile(lambda argument: argument != "--", arguments)
    received: list[int] = []
    try:
        with _interrupt_on_signals(received):
            return _print(_invoke(app, arguments or ["--help"]))
    except typer.Exit as finished:
        return finished.exit_code
    except BrokenPipeError:  # the reader of a help page has seen enough
        _discard_stdout()
        return 0
    except Exception as error:
        # Python ignores what is raised in a callback of C code, such as that of a compiler, and
        # the caller then fails with an error of its own.
        return _report(KeyboardInterrupt() if received else error, as_json=as_json)
    except KeyboardInterrupt as interruption:
        _ignore_signals()
        return _report(interruption, as_json=as_json)


def _invoke(app: typer.Typer, arguments: Sequence[str]) -> Any:
    """Parse the arguments and run the verb, letting every exception through."""
    command = _make_command(app)
    with command.make_context("myriad", list(arguments)) as context:
        return command.invoke(context)


@functools.lru_cache(maxsize=64)
def _make_command(app: typer.Typer) -> Any:
    """Return the command of an app, whose options are read at its first call."""
    return get_command(app)


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
    return 0 if outcome is None else outcome.status


def _report(error: BaseException, *, as_json: bool) -> int:
    failure = explain(error)
    if os.environ.get("MYRIAD_DEBUG") == "1" and not is_usage(error):
        traceback.print_exception(error)
    if as_json:
        try:
            print(to_line({"error": failure.sentence}), flush=True)
        except OSError:
            _discard_stdout()
            _print_error(f"Error: {failure.sentence}")
    else:
        _print_error(
            failure.sentence if failure.status == INTERRUPTED else f"Error: {failure.sentence}"
        )
    return failure.status


def _print_error(sentence: str) -> None:
    """Print to stderr, if it is still there: a terminal may have been closed.

    On a terminal, lines end between words; in a log, an error is one line.
    """
    with suppress(OSError):
        if sys.stderr.isatty():
            sentence = textwrap.fill(
                sentence,
                shutil.get_terminal_size().columns,
                break_long_words=False,
                break_on_hyphens=False,
            )
        print(sentence, file=sys.stderr, flush=True)


@contextmanager
def _interrupt_on_signals(received: list[int]) -> Iterator[None]:
    """Interrupt the work on SIGTERM, and on SIGHUP of a closed terminal, as on Ctrl-C.

    Parameters
    ----------
    received : the numbers of signals are added to it.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    numbers = _list_signals()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _list_signals() -> list[signal.Signals]:
    """Return the signals that end the work, without SIGHUP where ``nohup`` has it ignored."""
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is None or signal.getsignal(hang_up) is signal.SIG_IGN:
        return [signal.SIGTERM]
    return [signal.SIGTERM, hang_up]


def _ignore_signals() -> None:
    """Ignore further signals: a second Ctrl-C would print a traceback after the message."""
    for number in (signal.SIGINT, *_list_signals()):
        signal.signal(number, signal.SIG_IGN)


def _discard_stdout() -> None:
    """Discard what is buffered for stdout, or Python would report an error at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class Failure(NamedTuple):
    """An exit status (1 the work failed, 2 the call is wrong, 130 interrupted) and its sentence."""

    status: int
    sentence: str


def explain(error: BaseException) -> Failure:
    """Return the exit status and the message for an error of any kind."""
    match error:
        case MyriadError():
            failure = Failure(error.status, str(error))
        case KeyboardInterrupt():
            failure = Failure(INTERRUPTED, str(error) or "Interrupted.")
        case ImportError() | OSError() if lacks_library_memory(error):
            failure = Failure(WORK, "Not enough memory to load a library. Close other programs.")
        case _ if lacks_threads(error):
            sentence = "The system allows no further threads, or has no memory for them."
            failure = Failure(WORK, f"{sentence} Use fewer --threads.")
        case OSError():
            failure = _explain_system(error)
        case MemoryError():
            detail = f" ({error})" if str(error) else ""
            failure = Failure(WORK, f"Not enough memory{detail}. Close other programs.")
        case _ if is_usage(error):
            failure = _explain_usage(error)
        case _:
            failure = Failure(WORK, _explain_bug(error))
    return failure._replace(sentence=shorten(printable(shorten(failure.sentence))))


def is_usage(error: BaseException) -> bool:
    """Return whether the command line itself is wrong.

    Typer raises Click's exceptions, from the package or from its own copy of it depending on the
    version, so they are recognised by their attributes.
    """
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _explain_usage(error: BaseException) -> Failure:
    sentence: str = error.format_message().replace("\n\t", " ")  # type: ignore[attr-defined]
    wrong, near = (getattr(error, name, None) for name in ("option_name", "possibilities"))
    if wrong and near:  # Click lists all options that are near, the best one anywhere
        sentence = f"No such option {wrong}.{did_you_mean(wrong, near)}"
    context = getattr(error, "ctx", None)
    if not sentence.endswith((".", ")", "?")):
        sentence += "."
    if context is not None:
        sentence += f" Try '{context.command_path} --help'."
    return Failure(INPUT, sentence)


def _explain_system(error: OSError) -> Failure:
    """Explain a refusal of the operating system; a library may leave out number and path."""
    path = error.filename
    reason = error.strerror or str(error) or type(error).__name__
    if error.errno in FULL_DISK:
        where = f"for {path}" if path else "on the device"
        return Failure(WORK, f"No space left {where}. Free some space, then run the command again.")
    if path is None and error.errno == errno.ENOENT and not _is_somewhere():
        return Failure(INPUT, "The current folder was removed: change to another one.")
    if path is None:
        return Failure(WORK, f"The system refused an operation: {reason}.")
    if error.errno in _FORBIDDEN:
        return Failure(INPUT, f"{path}: {reason}. Choose another path or change its permissions.")
    return Failure(INPUT if error.errno in _WRONG_PATH else WORK, f"{path}: {reason}.")


def _is_somewhere() -> bool:
    """Return whether the current folder exists."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _explain_bug(error: BaseException) -> str:
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    first, *more = detail.splitlines()
    ending = "" if first.endswith(".") and not more else " ..." if more else "."
    return (
        f"Unexpected error (this is a bug in myriad): {first}{ending} "
        "Set MYRIAD_DEBUG=1 to see where."
    )
