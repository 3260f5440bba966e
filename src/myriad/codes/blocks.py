"""Codes of rows whose columns are several signatures: each block has a separate code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.codes.code import Code
from myriad.codes.onnx_nodes import Graph
from myriad.errors import InputError
from myriad.serialisation import check_count


@dataclass(frozen=True, eq=False)
class FloatCode(Code, kind="float"):
    """Features as they are, four bytes each: the code of a block that is not compressed.

    Parameters
    ----------
    dim : number of features.
    """

    dim: int

    def __post_init__(self) -> None:
        check_count(self.dim, "The number of features of a block of floats")

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a row."""
        return 4 * self.dim

    def _encode(self, rows: Float, codes: Bytes) -> None:
        codes[:] = rows.view(np.uint8)

    def _decode(self, codes: Bytes, out: Float) -> None:
        out[:] = codes.view(np.float32)


@dataclass(frozen=True, eq=False)
class BlockCode(Code, kind="blocks"):
    """A code for each block of columns, their bytes side by side.

    Parameters
    ----------
    codes : the code of each block.
    """

    codes: tuple[Code, ...]

    def __post_init__(self) -> None:
        if not self.codes or not all(isinstance(code, Code) for code in self.codes):
            raise InputError("A code of blocks needs a code for each block.")

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Number of features of a row."""
        return sum(code.dim for code in self.codes)

    @property
    def decoded_dim(self) -> int:
        """Number of features of a decoded row."""
        return sum(code.decoded_dim for code in self.codes)

    @property
    def restores(self) -> bool:
        """Whether all codes restore the features that they are given."""
        return all(code.restores for code in self.codes)

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return sum(code.bytes_per_row for code in self.codes)

    def describe(self) -> dict[str, Any]:
        """Return the parameters of all codes."""
        return {"kind": self.kind, "codes": [code.describe() for code in self.codes]}

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Raise `InputError`: blocks are not exported, unless their codes restore rows."""
        raise InputError("A model of several signatures cannot be exported with these codes.")

    def project(self, rows: Float) -> Float:
        """Return plain rows in the space of decoded ones, without rounding."""
        parts = self._slices("dim")
        return np.hstack([code.project(rows[:, block]) for code, block in parts])

    def expand(self, decoded: Float) -> Float:
        """Return decoded rows in the space of plain ones."""
        parts = self._slices("decoded_dim")
        return np.hstack([code.expand(decoded[:, block]) for code, block in parts])

    def _encode(self, rows: Float, codes: Bytes) -> None:
        for (code, block), (_, columns) in zip(
            self._slices("dim"), self._slices("bytes_per_row"), strict=True
        ):
            codes[:, columns] = code.encode(rows[:, block])

    def _decode(self, codes: Bytes, out: Float) -> None:
        for (code, block), (_, columns) in zip(
            self._slices("decoded_dim"), self._slices("bytes_per_row"), strict=True
        ):
            out[:, block] = code.decode(np.ascontiguousarray(codes[:, columns]))

    def _slices(self, size: str) -> Iterator[tuple[Code, slice]]:
        """Yield each code with its columns, where `size` is the property that counts them."""
        ends = accumulate((getattr(code, size) for code in self.codes), initial=0)
        columns = [slice(first, last) for first, last in pairwise(ends)]
        return zip(self.codes, columns, strict=True)
