"""References to .npy files that a store uses instead of shards, without copying them.

A reference records a file's size, the time of its last change and its checksum. A file of another
size is refused; a file of the same size that was modified since is read only if its checksum still
matches.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.files import checksum
from myriad.store.formats.npy import map_array
from myriad.store.shards import RowFormat, ShardRecord, shard_rows

_AGAIN = "Import the rows again, or put the file back."


@dataclass(frozen=True)
class Reference:
    """A file that a store refers to; `modified` is the time of its last change in nanoseconds."""

    path: str
    rows: int
    bytes: int
    modified: int
    sha256: str


def make_reference(path: Path, rows: int) -> Reference:
    """Return a reference to a file in its current state."""
    location = path.resolve()
    status = location.stat()
    return Reference(str(location), rows, status.st_size, status.st_mtime_ns, checksum(location))


def read_references(items: Any, where: Path) -> list[Reference]:
    """Return the references listed in a JSON file, after checking them."""
    try:
        references = [Reference(**item) for item in items]
    except TypeError:
        raise InputError(f"{where} is damaged: its references are not valid.") from None
    for reference in references:
        numbers = (reference.rows, reference.bytes, reference.modified)
        texts = (reference.path, reference.sha256)
        if not all(type(number) is int and 0 <= number < 2**63 for number in numbers) or not all(
            isinstance(text, str) for text in texts
        ):
            raise InputError(f"{where} is damaged: its references are not valid.")
    return references


class ReferencedShards:
    """The rows of referenced files, cut into ranges that serve as the shards of a store.

    Attributes
    ----------
    records : number of rows and checksum of each range.
    """

    def __init__(
        self, references: list[Reference], form: RowFormat, *, index: str, verify: bool
    ) -> None:
        self._form = form
        self._ranges: list[tuple[Reference, int, int]] = []
        self.records: list[ShardRecord] = []
        size = shard_rows(form.bytes_per_row)
        for reference in references:
            for start in range(0, reference.rows, size):
                stop = min(start + size, reference.rows)
                self._ranges.append((reference, start, stop))
                identity = f"{reference.sha256} {start} {index}".encode()
                n_bytes = (stop - start) * form.bytes_per_row
                self.records.append(
                    ShardRecord(stop - start, n_bytes, hashlib.sha256(identity).hexdigest())
                )
        self._unverified = {reference.path for reference in references} if verify else set()
        self._lock = threading.Lock()
        for reference in references:
            _check_size(reference)

    def read(self, number: int) -> NDArray[Any]:
        """Return the rows of a range, memory-mapped and read-only."""
        reference, start, stop = self._ranges[number]
        with self._lock:
            if reference.path in self._unverified:
                _verify(reference)
                self._unverified.discard(reference.path)
        array = map_array(Path(reference.path))
        shape = (reference.rows, self._form.width)
        if array.shape != shape or array.dtype != self._form.numpy:
            raise InputError(
                f"{reference.path} holds {array.dtype} of shape {array.shape} instead of "
                f"{self._form.dtype} of shape {shape}. {_AGAIN}"
            )
        return array[start:stop]


def _check_size(reference: Reference) -> None:
    try:
        size = Path(reference.path).stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{reference.path}, which a store refers to, cannot be read: {reason}. {_AGAIN}"
        ) from None
    if size != reference.bytes:
        raise InputError(
            f"{reference.path} has {size} bytes instead of the {reference.bytes} that a store "
            f"refers to. {_AGAIN}"
        )


def _verify(reference: Reference) -> None:
    path = Path(reference.path)
    if path.stat().st_mtime_ns == reference.modified:
        return
    if checksum(path) != reference.sha256:
        raise InputError(f"{path} was changed after a store began to refer to it. {_AGAIN}")
