"""svmlight: a line of text per row, ``label index:value index:value ...``, read in chunks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrow import pa
from myriad.errors import InputError
from myriad.store.formats.row_file import Column, RowFile, brief

CHUNK_BYTES = 8 << 20
MAX_FEATURES = 1 << 24


class SvmlightFile(RowFile):
    """Rows of an svmlight file; indices count from 1, unless an index 0 appears.

    The file is read once when it is opened, for its shape and its labels.
    """

    suffixes = (".svm", ".svmlight", ".libsvm")
    description = "text, one line per row: label index:value index:value"

    dtype = np.dtype(np.float32)

    def __init__(self, path: Path, rows: str | None = None) -> None:
        self.path = path
        labels: list[NDArray[Any]] = [np.empty(0)]
        least, most, self.n_rows = 1, 0, 0
        for X, y in self._chunks(None):
            labels.append(y)
            self.n_rows += X.shape[0]
            if X.nnz:
                least, most = min(least, int(X.indices.min())), max(most, int(X.indices.max()))
        self._labels = np.concatenate(labels)
        self._first = least
        self.dim = most + 1 - least if most or least == 0 else 0
        if self.dim > MAX_FEATURES:
            raise InputError(
                f"{path} has features up to number {most}: more than {MAX_FEATURES} are not read."
            )
        self.check_shape()

    @property
    def columns(self) -> list[str]:
        """The label, the first number of each line."""
        return ["label"]

    def read_column(self, name: str) -> Column:
        """Return the labels."""
        if name != "label":
            raise InputError(f"{self.path} has no column {name!r}, only 'label'.")
        return pa.array(self._labels)

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """Yield the rows, zero where a line has no value."""
        for X, _ in self._chunks(self.dim + self._first):
            for start in range(0, X.shape[0], size):
                yield X[start : start + size].toarray()[:, self._first :]

    def _chunks(self, n_features: int | None) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield rows (sparse, indices as in the file) and labels of some lines at a time."""
        from sklearn.datasets import load_svmlight_file

        try:
            with self.path.open("rb") as stream:
                while lines := stream.readlines(CHUNK_BYTES):
                    yield load_svmlight_file(
                        io.BytesIO(b"".join(lines)),
                        n_features=n_features,
                        dtype=np.float32,
                        zero_based=True,
                    )
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        except OverflowError:
            raise InputError(
                f"{self.path} has the number of a feature that is too large: more than "
                f"{MAX_FEATURES} features are not read."
            ) from None
        except ValueError as error:
            raise InputError(f"{self.path} is not an svmlight file: {brief(error)}.") from None
