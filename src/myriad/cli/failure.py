"""Errors as users see them: an exit status and one or two sentences."""

from __future__ import annotations

import errno
from typing import NamedTuple

from myriad.cli.text import printable
from myriad.errors import MyriadError

WORK, INPUT, INTERRUPTED = 1, 2, 130

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_WRONG_PATH = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}


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
        case OSError():
            failure = _explain_system(error)
        case MemoryError():
            detail = f" ({error})" if str(error) else ""
            failure = Failure(WORK, f"Not enough memory{detail}. Close other programs.")
        case _ if is_usage(error):
            failure = _explain_usage(error)
        case _:
            failure = Failure(WORK, _explain_bug(error))
    return failure._replace(sentence=printable(failure.sentence))


def is_usage(error: BaseException) -> bool:
    """Return whether the command line itself is wrong.

    Typer raises Click's exceptions, from the package or from its own copy of it depending on the
    version, so they are recognised by their attributes.
    """
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _explain_usage(error: BaseException) -> Failure:
    sentence: str = error.format_message().replace("\n\t", " ")  # type: ignore[attr-defined]
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
    if error.errno in _FULL:
        where = f"for {path}" if path else "on the device"
        return Failure(WORK, f"No space left {where}. Free some space, then run the command again.")
    if path is None:
        return Failure(WORK, f"The system refused an operation: {reason}.")
    if error.errno in _FORBIDDEN:
        return Failure(INPUT, f"{path}: {reason}. Choose another path or change its permissions.")
    return Failure(INPUT if error.errno in _WRONG_PATH else WORK, f"{path}: {reason}.")


def _explain_bug(error: BaseException) -> str:
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    first, *more = detail.splitlines()
    ending = "" if first.endswith(".") and not more else " ..." if more else "."
    return (
        f"Unexpected error (this is a bug in myriad): {first}{ending} "
        "Set MYRIAD_DEBUG=1 to see where."
    )
