"""The two kinds of failure of a job, and the exit status of each."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

MESSAGE_CHARACTERS = 2000
"""Most characters of a message."""
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Numbers of the errors of a disk, or a quota, that is full."""
_NO_MEMORY = ("failed to map segment", "Cannot allocate memory", "cannot allocate memory")
"""Messages of the system's loader for a library that does not fit into memory."""
_NO_THREADS = ("can't start new thread", "Failed to launch worker thread")
"""Messages of Python and of Arrow for a thread that the system does not allow."""


def shorten(text: str) -> str:
    """Return a message without its middle if it is long: it may quote a whole file.

    Its end is kept, since it explains what to do.
    """
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    half = MESSAGE_CHARACTERS // 2 - 10
    return f"{text[:half]} [...] {text[-half:]}"


def quote(value: object) -> str:
    """Return a value as an error quotes it: Python writes no integers of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return f"a value of type {type(value).__name__} that is too long to be written"


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return a question to follow an error, " Did you mean 'heron'?"; empty if nothing is near.

    Parameters
    ----------
    word : what was given and is not known.
    known : what could have been meant.
    """
    names = [str(name) for name in known]
    lowered = {name.lower(): name for name in reversed(names)}
    given = word if isinstance(word, str) else quote(word)
    near = difflib.get_close_matches(given.lower(), lowered, n=1)
    return f" Did you mean {lowered[near[0]]!r}?" if near else ""


def lacks_library_memory(error: BaseException) -> bool:
    """Return whether a library could not be loaded for lack of memory, as under ``ulimit -v``."""
    return _has_phrase(error, _NO_MEMORY)


def lacks_threads(error: BaseException) -> bool:
    """Return whether the system allows no further threads."""
    return _has_phrase(error, _NO_THREADS)


def _has_phrase(error: BaseException, phrases: Iterable[str]) -> bool:
    """Return whether an error, or one that it was raised from, has one of some phrases."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:  # NumPy and llvmlite wrap the error of the loader in their own
        texts.append(str(cause))
        cause = cause.__cause__ or cause.__context__
    return any(phrase in text for text in texts for phrase in phrases)


class MyriadError(Exception):
    """A failure that is explained to the user in one or two sentences."""

    status = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(shorten(message))


class InputError(MyriadError, ValueError):
    """The call or its input is wrong: exit status 2."""

    status = 2


class WorkError(MyriadError, RuntimeError):
    """The call was right but the work failed (too many bad images, diverged): exit status 1."""

    status = 1
