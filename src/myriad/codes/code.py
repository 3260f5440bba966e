"""What every code is: rows of float32 to rows of bytes, and back.

A code that `restores` gives back rows near the ones it was handed, as product and scalar codes do.
Any other gives the learner rows of its own kind, `decoded_dim` numbers each: the bits of chosen
features, for example, as +1 and -1. `project` and `expand` lead from one kind of row to the other
without rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from myriad.arrays import Bytes, Float, as_rows
from myriad.errors import InputError
from myriad.serialisation import Serialisable


class Code(Serialisable, ABC):
    """A learned code: `dim` features a row become `bytes_per_row` bytes.

    A new code is a frozen dataclass with a field `dim`, `bytes_per_row`, and the two methods
    `_encode` and `_decode`, which are handed arrays that have passed the checks here. One that does
    not restore rows also has `decoded_dim`, `project` and `expand`.
    """

    dim: int

    @property
    def decoded_dim(self) -> int:
        """Number of features of a decoded row."""
        return self.dim

    @property
    def restores(self) -> bool:
        """Whether decoded rows stand near the rows that were coded, feature by feature."""
        return True

    @property
    @abstractmethod
    def bytes_per_row(self) -> int:
        """Bytes that one coded row takes."""

    @property
    def ratio(self) -> float:
        """How many times smaller a coded row is than its float32 values."""
        return 4 * self.dim / self.bytes_per_row

    def encode(self, rows: Any) -> Bytes:
        """Return the codes, uint8 (n_samples, bytes_per_row), of finite rows (n_samples, dim)."""
        checked = as_rows(rows, dim=self.dim, name="The array to encode")
        codes = np.empty((len(checked), self.bytes_per_row), np.uint8)
        self._encode(checked, codes)
        return codes

    def decode(self, codes: Bytes, out: Float | None = None) -> Float:
        """Return the rows, float32 (n_samples, decoded_dim), that codes stand for.

        Parameters
        ----------
        codes : uint8 (n_samples, bytes_per_row)
        out : the C-contiguous float32 (n_samples, decoded_dim) array to fill and return, if given.
        """
        _check_codes(codes, self.bytes_per_row)
        shape = (len(codes), self.decoded_dim)
        if out is None:
            out = np.empty(shape, np.float32)
        elif out.shape != shape or out.dtype != np.float32 or not out.flags.carray:
            raise InputError(
                f"The array to decode into must be a writeable C-contiguous float32 array of "
                f"shape {shape}."
            )
        self._decode(np.ascontiguousarray(codes), out)
        return out

    def project(self, rows: Float) -> Float:
        """Return plain rows (n_samples, dim) in the space of decoded ones, nothing rounded."""
        return rows

    def expand(self, decoded: Float) -> Float:
        """Return decoded rows in the space of plain ones, (n_samples, dim)."""
        return decoded

    @abstractmethod
    def _encode(self, rows: Float, codes: Bytes) -> None:
        """Fill `codes` from `rows`."""

    @abstractmethod
    def _decode(self, codes: Bytes, out: Float) -> None:
        """Fill `out` from `codes`."""


def _check_codes(codes: Bytes, bytes_per_row: int) -> None:
    fits = isinstance(codes, np.ndarray) and codes.ndim == 2 and codes.dtype == np.uint8
    if not fits or codes.shape[1] != bytes_per_row:
        found = f"{codes.dtype} {codes.shape}" if isinstance(codes, np.ndarray) else type(codes)
        raise InputError(f"Codes must be uint8 (rows, {bytes_per_row}), not {found}.")
