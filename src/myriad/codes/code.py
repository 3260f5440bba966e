"""The base class of codes: rows of float32 to rows of bytes, and back.

A code that `restores` decodes to rows near the ones it was given, as product and scalar codes do.
Any other decodes to rows of its own space with `decoded_dim` features: the bits of selected
features, for example, as +1 and -1. `project` and `expand` map from one space to the other without
rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from myriad.arrays import Bytes, Float, Ints, as_rows
from myriad.codes.onnx_nodes import Graph
from myriad.errors import InputError
from myriad.files import atomic_writes, checksum, dump_json, read_arrays, read_json
from myriad.serialisation import Serialisable, flatten, restore

FORMAT = 1
SETTINGS, ARRAYS = "code.json", "code.safetensors"
"""The files of a code that is saved in a separate folder."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The features that a code keeps, and what it knows of all of them.

    Attributes
    ----------
    chosen : int32 (decoded_dim,), the features that are kept, the most informative first.
    information : float32 (dim,), mutual information of every feature with the class, in bits.
    """

    chosen: Ints
    information: Float


class Code(Serialisable, ABC):
    """A learned code: `dim` features per row become `bytes_per_row` bytes.

    A new code is a frozen dataclass with a field `dim`, the property `bytes_per_row` and the two
    methods `_encode` and `_decode`, which are given arrays that have been checked here. One that
    does not restore rows also has `decoded_dim`, `restores`, `project` and `expand`. The other
    methods tell the rest of the library what else it can do, and may be left as they are. Its entry
    in `myriad.codes.registry` makes it known to the command.
    """

    dim: int

    @property
    def decoded_dim(self) -> int:
        """Number of features of a decoded row."""
        return self.dim

    @property
    def restores(self) -> bool:
        """Whether decoded rows are near the rows that were coded, feature by feature."""
        return True

    @property
    @abstractmethod
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""

    @property
    def ratio(self) -> float:
        """How many times smaller a coded row is than its float32 values."""
        return 4 * self.dim / self.bytes_per_row

    @property
    def selection(self) -> Selection | None:
        """The features that were selected by their information; None where none were."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return the kind and the parameters of the code, plain JSON."""
        return {"kind": self.kind}

    def shorten(self, count: int) -> Code:
        """Return the code of the first `count` features, whose rows are prefixes of these rows.

        Raises `InputError` where rows of the code cannot be shortened.
        """
        raise InputError(f"Rows coded as {self.kind} cannot be shortened.")

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Add the nodes that map plain rows to decoded ones to an ONNX graph.

        Only codes that do not restore rows need them. Raises `InputError` where there are none.

        Parameters
        ----------
        rows : the name of the value (n, dim) in the graph.

        Returns
        -------
        The name of the value (n, decoded_dim).
        """
        raise InputError(f"A model of rows coded as {self.kind!r} cannot be exported.")

    def encode(self, rows: Any) -> Bytes:
        """Return the codes, uint8 (n_samples, bytes_per_row), of finite rows (n_samples, dim)."""
        checked = as_rows(rows, dim=self.dim, name="The array to encode")
        codes = np.empty((len(checked), self.bytes_per_row), np.uint8)
        self._encode(checked, codes)
        return codes

    def decode(self, codes: Bytes, out: Float | None = None) -> Float:
        """Return the decoded rows, float32 (n_samples, decoded_dim).

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
        """Return plain rows (n_samples, dim) in the space of decoded ones, without rounding."""
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
        actual = f"{codes.dtype} {codes.shape}" if isinstance(codes, np.ndarray) else type(codes)
        raise InputError(f"Codes must be uint8 (rows, {bytes_per_row}), not {actual}.")


def save_code(folder: str | Path, code: Code) -> None:
    """Write a code to a folder as JSON and safetensors, replacing an earlier one."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    settings, arrays = flatten(code)
    with atomic_writes(path / ARRAYS, path / SETTINGS) as (array_file, settings_file):
        array_file.write_bytes(save(arrays))
        content = {"format": FORMAT, "checksum": checksum(array_file), "code": settings}
        settings_file.write_text(dump_json(content), encoding="utf-8")


def load_code(folder: str | Path) -> Any:
    """Read a code from a folder; nothing in it is executed.

    Raises `InputError` where a file is missing, damaged or belongs to another code.
    """
    path = Path(folder)
    content = read_json(path / SETTINGS)
    if content.get("format") != FORMAT:
        raise InputError(f"{path / SETTINGS} is damaged or of a newer version.")
    if not (path / ARRAYS).is_file():
        raise InputError(f"{path / ARRAYS} is missing.")
    if checksum(path / ARRAYS) != content.get("checksum"):
        raise InputError(f"{path / ARRAYS} is damaged, or belongs to another code.")
    try:
        return restore(content.get("code"), read_arrays(path / ARRAYS), Code)
    except RecursionError:
        raise InputError(f"{path / SETTINGS} is damaged: its objects nest too deep.") from None
