"""Rows of files as labelled rows, streamed in their order without a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.errors import InputError
from myriad.store.formats.labelling import Labelled, read_labels
from myriad.store.formats.opening import open_row_files
from myriad.store.formats.row_file import RowFile
from myriad.store.rows import Block, Fill, Rows, check_indices

_IMPORT = "Files of rows can only be read from front to back: import them into a store."


class FileRows(Rows):
    """Labelled rows of files.

    Parameters
    ----------
    files : the files.
    known : the labels of their rows.
    chosen : int64 (n_rows,), ascending, the indices of the rows over all files; None for all.

    Attributes
    ----------
    splits : (n_rows,) of "train", "val", "test", or "" where nothing is stated.
    """

    def __init__(
        self,
        files: Sequence[RowFile],
        known: Labelled,
        chosen: NDArray[np.int64] | None = None,
    ) -> None:
        if chosen is None:
            chosen = np.arange(len(known.labels))
        self._files, self._known, self._chosen = files, known, chosen
        self.n_rows, self.dim = len(chosen), files[0].dim
        self.labels = known.labels[chosen]
        self.sets = None if known.sets is None else known.sets.select(chosen)
        self.class_names = known.class_names
        self.splits = known.splits[chosen]

    @classmethod
    def open(
        cls, paths: Sequence[Path], labels: Sequence[str] = (), rows: str | None = None
    ) -> FileRows:
        """Open files; see `open_row_files` and `read_labels`."""
        files = open_row_files(paths, rows)
        return cls(files, read_labels(files, labels))

    @property
    def paths(self) -> list[str]:
        """The origin of each row."""
        if self._known.paths is not None:
            names: list[str] = self._known.paths.take(self._chosen).to_pylist()
            return names
        names = [file.locate(row) for file in self._files for row in range(file.n_rows)]
        return [names[row] for row in self._chosen]

    def blocks(self, size: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Block]:
        """Yield all rows once in their order, at most `size` at a time."""
        if seed is not None:
            raise InputError(_IMPORT)
        start, first = 0, 0
        for file in self._files:
            for X in file.checked_blocks(size):
                stop = int(np.searchsorted(self._chosen, start + len(X)))
                if stop > first:
                    yield Block(np.arange(first, stop), X[self._chosen[first:stop] - start])
                start, first = start + len(X), stop

    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Raise `InputError`: files have only one order."""
        raise InputError(_IMPORT)

    def select(self, indices: ArrayLike) -> FileRows:
        """Return the rows of ascending indices."""
        index = check_indices(indices, self.n_rows)
        if (np.diff(index) <= 0).any():
            raise InputError(_IMPORT)
        return FileRows(self._files, self._known, self._chosen[index])

    def _reader(self) -> Fill:
        raise InputError(_IMPORT)
