"""Locks on outputs, so that only one run at a time writes a folder or file.

The lock of ``runs/model`` is the file ``runs/.model.lock``, locked with `fcntl.flock`, or with
`msvcrt.locking` on Windows, and removed when the run ends. The operating system frees the lock of a
killed process, so the file that it left behind is reused.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from myriad.errors import InputError, WorkError
from myriad.files import is_virtual
from myriad.progress import SILENT, Progress
from myriad.urls import refuse_url

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:  # not a POSIX system
    with suppress(ImportError):
        import msvcrt

NAME_BYTES = 240
"""Most bytes of the name of an output: file systems allow 255, also for its lock and journal."""
_TRIES = 100
"""How often to try again when another process removes the lock file at the same moment."""


_LOCKED_BYTE = 1 << 30
"""Offset of the byte that Windows locks: others can still read who holds the lock, before it."""


class _Held(threading.local):
    """The outputs that this thread has locked: a function may call another one that locks them."""

    def __init__(self) -> None:
        self.outputs: set[str] = set()


_held = _Held()


@contextmanager
def locked(
    *paths: Path | None, make_parents: bool = True, progress: Progress = SILENT
) -> Iterator[None]:
    """Hold the locks of some outputs; `WorkError` if another process or thread holds one.

    A lock that this thread already holds is not acquired again. If the file system has no locks,
    the user gets a note and the work continues without a lock.

    Parameters
    ----------
    paths : folders or files that need not exist; None is skipped.
    make_parents : whether to make missing parent folders; those that are still empty in the end are
        removed. If false, an output without a parent folder is not locked.
    """
    named: set[str] = set()
    with ExitStack() as stack:
        for path in paths:
            if path is not None:
                _refuse_unusable(path)
                if os.path.realpath(path) in named:
                    raise InputError(f"{path} is named for two outputs: give each its own name.")
                named.add(os.path.realpath(path))
                stack.enter_context(_lock(path, make_parents, progress))
        yield


def _refuse_unusable(path: Path) -> None:
    """Raise `InputError` for a path that no output can have."""
    refuse_url(path)
    if not os.path.basename(os.path.realpath(path)):
        raise InputError(f"{path} is the root of the file system: name a folder or file below it.")
    _refuse_kernel(path)
    if len(os.fsencode(path.name)) > NAME_BYTES:
        raise InputError(f"{path} cannot be written: its name has more than {NAME_BYTES} bytes.")
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(
                f"{path} cannot be written: it is, or is below, a circular symbolic link."
            ) from None
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{path} cannot be written: the name is too long.") from None
    except ValueError:
        raise InputError(f"{path} is not a valid path: it contains a null character.") from None


def _refuse_kernel(path: Path) -> None:
    """Raise `InputError` for an output among devices, such as /dev/stdout, a link of the system.

    A file is written beside an output and renamed, which would replace the link.
    """
    try:
        status = os.stat(os.path.dirname(os.path.abspath(path)))
    except (OSError, ValueError):
        return
    if is_virtual(status):
        raise InputError(
            f"{path} cannot be written: its folder is one of devices, or of the system. Name a "
            "file elsewhere."
        )


def is_lock(path: Path) -> bool:
    """Return whether a file is, by its name, the lock of an output beside it."""
    return path.name.startswith(".") and path.name.endswith(".lock")


@contextmanager
def _lock(path: Path, make_parents: bool, progress: Progress) -> Iterator[None]:
    """Hold the lock of one output; see `locked`."""
    output = os.path.realpath(path)  # the same lock for all links to an output
    parent, name = os.path.split(output)
    if not name or output in _held.outputs:
        yield
        return
    lock = os.path.join(parent, f".{name}.lock")
    made: list[str] = []
    descriptor = None
    try:
        try:
            descriptor = _acquire(path, lock, made if make_parents else None)
        except OSError as error:
            if os.path.isdir(parent):  # otherwise the work itself reports the error
                progress.note(
                    f"{path} cannot be locked ({error.strerror or error}): make sure that no "
                    "other run writes there."
                )
        _held.outputs.add(output)
        try:
            yield
        finally:
            _held.outputs.discard(output)
    finally:
        if descriptor is not None:
            _release(descriptor, lock)
        for folder in reversed(made):
            with suppress(OSError):
                os.rmdir(folder)


def _acquire(path: Path, lock: str, made: list[str] | None) -> int:
    """Return the descriptor of the locked file; `OSError` where the file system cannot lock.

    Parameters
    ----------
    made : list to which the folders made for the lock file are appended; None to make none.
    """
    for _ in range(_TRIES):
        if made is not None:
            _make_folders(os.path.dirname(lock), made)
        try:
            descriptor = _open(lock)
        except FileNotFoundError:  # another process has just removed the empty folder
            if made is None:
                raise
            continue
        try:
            _flock(descriptor)
            if _is_same(descriptor, lock):
                _write_holder(descriptor)
                return descriptor
        except (BlockingIOError, PermissionError):
            holder = _read_holder(descriptor)
            os.close(descriptor)
            if holder is None:
                continue
            raise WorkError(
                f"{path} is being written by another run ({holder}): wait until it has ended, or "
                "choose another output."
            ) from None
        except OSError:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(lock)
            raise
        os.close(descriptor)  # its holder has removed the file: try again with a new one
    raise WorkError(f"{path} is being written by other runs: wait until they have ended.")


def _release(descriptor: int, lock: str) -> None:
    """Remove the lock file while it is locked, so that no other process has it, and unlock it.

    Windows removes no open file: there it is removed afterwards, unless another process has opened
    it meanwhile.
    """
    removed = False
    with suppress(OSError):
        os.unlink(lock)
        removed = True
    os.close(descriptor)
    if not removed and fcntl is None:
        with suppress(OSError):
            os.unlink(lock)


def _make_folders(folder: str, made: list[str]) -> None:
    if os.path.isdir(folder):
        return
    _make_folders(os.path.dirname(folder), made)
    with suppress(FileExistsError):
        os.mkdir(folder)
        made.append(folder)


def _open(lock: str) -> int:
    """Open the lock file, read-only if it belongs to another user."""
    flags = getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except PermissionError:
        if not os.path.lexists(lock):
            raise
        return os.open(lock, os.O_RDONLY | flags)


def locks_files() -> bool:
    """Return whether this system has file locks."""
    return fcntl is not None or msvcrt is not None


def _flock(descriptor: int) -> None:
    """Lock a file; raises `BlockingIOError` or `PermissionError` if another process has."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        raise OSError("this system has no file locks")


def _is_same(descriptor: int, lock: str) -> bool:
    """Return whether the locked file is still the one at the path `lock`."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(lock))
    except FileNotFoundError:
        return False


def _write_holder(descriptor: int) -> None:
    with suppress(OSError):  # disk full, or a file of another user: the lock is held anyway
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


def _read_holder(descriptor: int) -> str | None:
    """Return the process that holds a lock; None if it was released meanwhile."""
    for _ in range(_TRIES):
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, 300).decode("utf-8", "replace").strip()
        if text:
            return text
        if os.fstat(descriptor).st_nlink == 0:
            return None
        time.sleep(0.01)  # the holder has the lock but has not written its name yet
    return "its process is unknown"
