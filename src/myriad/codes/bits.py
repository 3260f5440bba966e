"""Sign bits: one bit for each of the most informative features [CC, section 3].

Features are kept in the order of their mutual information with the class, so the first bits of a
row are the bits that a code of fewer features would have: shortening a code costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float, Ints, as_rows
from myriad.codes.onnx_nodes import Graph, add_selection, add_signs
from myriad.codes.packing import (
    TABLE,
    look_up_bits,
    pack_signs,
    packed_bytes,
    pick_signs,
    stack_signs,
)
from myriad.codes.selected import SelectedCode, choose_features
from myriad.errors import InputError
from myriad.serialisation import check_array


@dataclass(frozen=True, eq=False)
class SignCode(SelectedCode, kind="bits"):
    """The signs of selected features, decoded to +1 where a value is at least 0, else -1.

    Parameters
    ----------
    chosen : int32 (decoded_dim,), the features, the most informative first.
    magnitudes : float32 (decoded_dim,), the mean magnitude of each, for `project` and `expand`.
    dim : number of features of a row.
    information : float32 (dim,), mutual information of each feature of a row with the class in
        bits, or None where that was not measured.
    """

    chosen: Ints
    magnitudes: Float
    dim: int
    information: Float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_array(self.magnitudes, "The magnitudes of sign bits", self.chosen.shape)
        if self.magnitudes.min() < 0:
            raise InputError("The magnitudes of sign bits must be at least 0.")

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return packed_bytes(self.decoded_dim, 1)

    def shorten(self, count: int) -> SignCode:
        """Return the code of the first `count` features, whose rows are prefixes of these rows."""
        if not 1 <= count <= self.decoded_dim:
            raise InputError(f"A code of {self.decoded_dim} bits cannot be cut to {count}.")
        chosen, sizes = self.chosen[:count].copy(), self.magnitudes[:count].copy()
        return SignCode(chosen, sizes, self.dim, self.information)

    def project(self, rows: Float) -> Float:
        """Return the selected values over their mean magnitude: near +1 and -1, not rounded."""
        sizes: Float = np.where(self.magnitudes > 0, self.magnitudes, np.float32(1))
        return super().project(rows) / sizes

    def expand(self, decoded: Float) -> Float:
        """Return rows with the signs times the mean magnitudes, 0 for features not selected."""
        return super().expand(decoded * self.magnitudes)

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Add the signs of the selected features."""
        return add_signs(graph, add_selection(graph, rows, self.chosen))

    def _encode(self, rows: Float, codes: Bytes) -> None:
        if self._picked is None:
            pack_signs(rows, codes)
            return
        planes, words = np.empty(self.dim, np.uint8), np.empty(codes.shape[1], np.uint64)
        for start in range(0, len(rows), 8):
            stack_signs(rows[start : start + 8], planes)
            pick_signs(planes, self._picked, words, codes[start : start + 8])

    def _decode(self, codes: Bytes, out: Float) -> None:
        decode_bits(codes, out)

    @cached_property
    def _picked(self) -> NDArray[np.uint32] | None:
        """The features as indices for the kernel; None for all of them in their order."""
        if len(self.chosen) == self.dim and (self.chosen == np.arange(self.dim)).all():
            return None
        return self.chosen.astype(np.uint32)


def decode_bits(codes: Bytes, out: Float) -> None:
    """Fill `out` (n_samples, n_bits) with +1 and -1."""
    n_samples, n_bits = out.shape
    full, rest = divmod(n_bits, 8)
    if rest:
        whole = np.empty((n_samples, full * 8), np.float32)
        bits = np.unpackbits(codes[:, -1:], axis=1, bitorder="little")[:, :rest]
        out[:, full * 8 :] = bits * np.float32(2) - np.float32(1)
    else:
        whole = out
    look_up_bits(codes, TABLE, whole.view(np.uint64).reshape(n_samples, full, 4))
    if rest:
        out[:, : full * 8] = whole


def learn_bits(
    sample: Float,
    *,
    n_bits: int | None = None,
    information: NDArray[np.float64] | None = None,
) -> SignCode:
    """Return the code of the `n_bits` most informative features, or of all in their own order.

    Parameters
    ----------
    sample : float32 (n_samples, dim), at least one row; only the mean magnitudes come from it.
    information : (dim,) bits, from `measure_information`; None to keep all features.
    """
    rows = as_rows(sample, name="The sample for sign bits")
    if rows.size == 0:
        raise InputError("Sign bits need a sample of at least one row and one feature.")
    chosen, kept = choose_features(rows.shape[1], n_bits, information)
    sizes = np.abs(rows).mean(axis=0, dtype=np.float64).astype(np.float32)
    return SignCode(chosen, sizes[chosen], rows.shape[1], kept)
