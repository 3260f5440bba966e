"""Faults of the file system: any call below a folder can fail, be cut short, or kill the process.

`watched` counts the calls within its context, and makes one of them fail. Python's own
calls are replaced, and those of the libraries that open files by themselves (pyarrow, safetensors).
Calls that only read the status of a file are not counted.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow
import pyarrow.parquet
import safetensors

ERRORS = {
    "full disk": errno.ENOSPC,
    "bad disk": errno.EIO,
    "no permission": errno.EACCES,
    "no locks": errno.ENOLCK,
}
CUT, KILL_BEFORE, KILL_AFTER = "cut short", "kill before", "kill after"
FAULTS = {
    "read": ("bad disk", "no permission"),
    "create": ("full disk", "no permission"),
    "write": ("full disk", CUT, KILL_AFTER),
    "flush": ("bad disk",),
    "rename": ("bad disk", KILL_BEFORE, KILL_AFTER),
    "link": ("full disk", "no permission", KILL_AFTER),
    "mkdir": ("full disk", "no permission"),
    "remove": ("bad disk", KILL_AFTER),
    "list": ("bad disk",),
    "lock": ("no locks",),
}
"""The faults of each kind of call."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault, and the number of the call at which it happens."""

    number: int
    kind: str

    @property
    def kills(self) -> bool:
        return self.kind in (KILL_BEFORE, KILL_AFTER)


@dataclass
class Watch:
    """The calls so far, and the fault to inject.

    Attributes
    ----------
    calls : the kind of each call and its path below the folder.
    happened : whether the fault has happened.
    """

    folder: Path
    fault: Fault | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)
    happened: bool = False

    def faults(self, *, kills: bool = True) -> Iterator[Fault]:
        """Yield every single fault of the calls that were counted."""
        for number, (action, _) in enumerate(self.calls):
            for kind in FAULTS[action]:
                fault = Fault(number, kind)
                if kills or not fault.kills:
                    yield fault

    def relative_path(self, path: Any, dir_fd: int | None = None) -> str | None:
        """Return a path relative to the folder; None for one outside."""
        try:
            if isinstance(path, int):
                found = os.readlink(f"/proc/self/fd/{path}")
            else:
                found = os.fsdecode(path)
                if dir_fd is not None:
                    found = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), found)
        except (OSError, TypeError):
            return None
        relative = os.path.relpath(os.path.abspath(found), self.folder)
        return None if relative.startswith("..") else relative

    def call(self, action: str, relative: str, run: Callable[[], Any]) -> Any:
        """Make a call, or inject the fault."""
        kind = self._count(action, relative)
        if kind in ERRORS:
            raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]), relative)
        if kind == KILL_BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        result = run()
        if kind == KILL_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    def write(self, relative: str, content: Any, run: Callable[[Any], int]) -> int:
        """Write some bytes, or only half of them."""
        if self.fault == Fault(len(self.calls), CUT):
            self._count("write", relative)
            half = memoryview(content).cast("B")[: memoryview(content).nbytes // 2]
            run(half)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), relative)
        done: int = self.call("write", relative, lambda: run(content))
        return done

    def _count(self, action: str, relative: str) -> str | None:
        self.calls.append((action, relative))
        if self.fault is None or len(self.calls) - 1 != self.fault.number:
            return None
        self.happened = True
        return self.fault.kind


class WatchedFile(io.FileIO):
    """A file whose writes are calls."""

    def __init__(self, path: Any, mode: str, watch: Watch, relative: str) -> None:
        super().__init__(path, mode)
        self._watch, self._relative = watch, relative

    def write(self, content: Any) -> int:
        return self._watch.write(self._relative, content, super().write)


@contextmanager
def watched(folder: Path, fault: Fault | None = None) -> Iterator[Watch]:
    """Count the calls below a folder, and inject a fault into one of them."""
    watch = Watch(folder.resolve(), fault)
    plain_open = builtins.open

    def open_file(
        path, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest, **more
    ):
        relative = None if isinstance(path, int) else watch.relative_path(path)
        if relative is None or rest or more:
            return plain_open(path, mode, buffering, encoding, errors, newline, *rest, **more)
        if not set(mode) & set("wax+"):
            return watch.call(
                "read",
                relative,
                lambda: plain_open(path, mode, buffering, encoding, errors, newline),
            )
        bare = mode.replace("b", "").replace("t", "")
        raw = watch.call("create", relative, lambda: WatchedFile(path, bare, watch, relative))
        stream = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)

    def patch_function(module, name, action):
        """Return a patch of a function of one path, which is watched."""
        plain = getattr(module, name)

        def run(path=".", *rest, **options):
            relative = watch.relative_path(path, options.get("dir_fd"))
            if relative is None:
                return plain(path, *rest, **options)
            return watch.call(action, relative, lambda: plain(path, *rest, **options))

        return mock.patch.object(module, name, run)

    def patch_second(name, action):
        """Return a patch of a function of two paths, the second of which is watched."""
        plain = getattr(os, name)

        def run(source, target, *rest, **options):
            relative = watch.relative_path(target)
            if relative is None:
                return plain(source, target, *rest, **options)
            return watch.call(action, relative, lambda: plain(source, target, *rest, **options))

        return mock.patch.object(os, name, run)

    def open_arrow(path, mode="r", **options):
        if mode != "wb" or watch.relative_path(path) is None:
            return plain_arrow(path, mode, **options)
        return pyarrow.PythonFile(open_file(path, "wb"))

    class Parquet(pyarrow.parquet.ParquetWriter):
        """A writer through a watched file, which is closed with it."""

        def __init__(self, path, *rest, **options):
            self._stream = None if watch.relative_path(path) is None else open_file(path, "wb")
            super().__init__(path if self._stream is None else self._stream, *rest, **options)

        def close(self):
            try:
                super().close()
            finally:
                if self._stream is not None:
                    self._stream.close()

    plain_arrow = pyarrow.OSFile
    patches = [
        mock.patch.object(builtins, "open", open_file),
        mock.patch.object(io, "open", open_file),
        mock.patch.object(pyarrow, "OSFile", open_arrow),
        mock.patch.object(pyarrow.parquet, "ParquetWriter", Parquet),
        patch_function(pyarrow, "memory_map", "read"),
        patch_function(safetensors, "safe_open", "read"),
        patch_function(os, "open", "read"),
        patch_function(os, "fsync", "flush"),
        patch_function(os, "mkdir", "mkdir"),
        patch_function(os, "unlink", "remove"),
        patch_function(os, "remove", "remove"),
        patch_function(os, "rmdir", "remove"),
        patch_function(os, "scandir", "list"),
        patch_function(os, "listdir", "list"),
        patch_function(fcntl, "flock", "lock"),
        patch_second("rename", "rename"),
        patch_second("replace", "rename"),
        patch_second("symlink", "link"),
    ]
    for patch in patches:
        patch.start()
    try:
        yield watch
    finally:
        for patch in reversed(patches):
            patch.stop()
