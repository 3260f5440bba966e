"""Images in a .zip or .tar file, read directly from it: nothing is unpacked to disk."""

from __future__ import annotations

import os
import tarfile
import threading
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from myriad.errors import InputError
from myriad.files import refuse_special
from myriad.images.reading import BadImage, refuse_large_file

_TAIL_BYTES = 1 << 20
_ENCRYPTED = 1  # bit of the flags of a member
ARCHIVES = (".zip", ".tar", ".parquet")
COMPRESSED_TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst")


class Archive(ABC):
    """The regular files of an archive by name; several threads may read at the same time.

    Attributes
    ----------
    path : the archive.
    sizes : the size of each member in bytes, by name.
    duplicates : names that several members of a .tar have; the last one counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sizes: dict[str, int] = {}
        self.duplicates: list[str] = []
        self._lock = threading.Lock()
        self._index()
        for name in self.sizes:
            _refuse_outside(path, name)

    @abstractmethod
    def _index(self) -> None:
        """Open the archive and fill `sizes`."""

    @abstractmethod
    def _read(self, name: str) -> bytes:
        """Return the bytes of a member; called by one thread at a time."""

    def read(self, name: str) -> bytes:
        """Return the content of a member; `BadImage` if it is damaged or too large."""
        if name not in self.sizes:
            raise BadImage("missing from the archive")
        refuse_large_file(self.sizes[name])
        try:
            with self._lock:
                data = self._read(name)
        except BadImage:
            raise
        except Exception:  # damaged archives raise many kinds of exceptions
            raise BadImage("damaged member of the archive") from None
        if len(data) != self.sizes[name]:
            raise BadImage("truncated archive")
        return data

    def __reduce__(self) -> tuple[Callable[[Path, int], Archive], tuple[Path, int]]:
        """Reopen the archive in another process, once for everything that is sent to it."""
        return _open_once, (self.path.absolute(), self.path.stat().st_mtime_ns)


class ZipArchive(Archive):
    """A .zip file."""

    def _index(self) -> None:
        self._zip = zipfile.ZipFile(self.path)
        if any(member.flag_bits & _ENCRYPTED for member in self._zip.infolist()):
            raise InputError(f"{self.path} is encrypted: unpack it to a folder first.")
        self.sizes = {
            member.filename: member.file_size
            for member in self._zip.infolist()
            if not member.is_dir()
        }

    def _read(self, name: str) -> bytes:
        # ZipFile stops at the stated size and checks the CRC, so a member cannot swell beyond it.
        return self._zip.read(name)


class TarArchive(Archive):
    """An uncompressed .tar file, whose members are read at their offsets.

    A tar ends with blocks of zeros. `tarfile` accepts a missing end, and any block that is not a
    header, as the end; both are checked here, because otherwise a truncated or damaged tar would
    just seem to have fewer files.
    """

    def _index(self) -> None:
        self._offsets: dict[str, int] = {}
        with tarfile.open(self.path, "r:") as tar:
            for member in tar:
                if _lacks_name(member):
                    raise tarfile.ReadError(f"the name at byte {member.offset} cannot be read")
                if member.isreg() and not member.issparse():
                    if member.name in self.sizes:
                        self.duplicates.append(member.name)
                    self.sizes[member.name] = member.size
                    self._offsets[member.name] = member.offset_data
                tar.members = []  # type: ignore[attr-defined]  # large objects that tarfile would keep
            end = tar.offset  # where the next header should be
        with self.path.open("rb") as stream:
            stream.seek(end)
            _check_end(self.path, stream)

    def _read(self, name: str) -> bytes:
        with self.path.open("rb") as stream:
            stream.seek(self._offsets[name])
            return stream.read(self.sizes[name])


def _lacks_name(member: tarfile.TarInfo) -> bool:
    """Return whether the long name of a member is damaged, which tarfile ignores."""
    extended = member.offset_data - member.offset > tarfile.BLOCKSIZE and not member.issparse()
    names = (member.name, member.linkname)
    short = all(len(os.fsencode(name)) <= tarfile.LENGTH_NAME for name in names)
    return extended and short and not member.pax_headers


def _check_end(path: Path, stream: BinaryIO) -> None:
    """Raise `InputError` unless only zeros, and at least one block of them, follow in a tar."""
    offset, block = stream.tell(), stream.read(tarfile.BLOCKSIZE)
    if len(block) < tarfile.BLOCKSIZE:
        raise InputError(
            f"{path} is truncated: it stops after {offset + len(block)} bytes without the block of "
            "zeros that ends a .tar file. Copy or pack it again."
        )
    while block:
        if block.strip(b"\0"):
            raise InputError(
                f"{path} is damaged, or several .tar files in one: no list of files "
                f"starts at byte {offset}. Pack the images again."
            )
        offset, block = stream.tell(), stream.read(_TAIL_BYTES)


def open_archive(path: Path) -> Archive:
    """Open a .zip, .tar or .parquet file and list its members."""
    if path.name.lower().endswith(COMPRESSED_TARS):
        raise InputError(
            f"{path} is compressed as a whole, so single images cannot be read from it: unpack it "
            "to a folder, or pack the images as .zip or plain .tar."
        )
    refuse_special(path)
    opener: type[Archive] = ZipArchive if path.suffix.lower() == ".zip" else TarArchive
    if path.suffix.lower() == ".parquet":
        from myriad.images.parquet import ParquetArchive

        opener = ParquetArchive
    try:
        return opener(path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except Exception as error:
        reason = str(error).rstrip(".")
        raise InputError(f"{path} is damaged or not an archive: {reason}.") from None


@lru_cache(maxsize=2)
def _open_once(path: Path, modified: int) -> Archive:
    """Open an archive, cached until it is modified: listing a million members takes seconds."""
    return open_archive(path)


def is_hidden(name: str) -> bool:
    """Return whether a member is hidden, or was added to the archive by macOS."""
    parts = name.split("/")
    return parts[0] == "__MACOSX" or any(part.startswith(".") and part != "." for part in parts)


def _refuse_outside(path: Path, name: str) -> None:
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "" or parts[0][1:2] == ":":
        raise InputError(
            f"{path} has a member {name!r} that points outside the archive: pack it again from "
            "inside its folder."
        )
