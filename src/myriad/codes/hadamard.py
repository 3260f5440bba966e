"""Hadamard bits: the signs of rows that are centred and rotated at random first.

The sign of a plain feature counts the same whether the feature is weak or strong: a Gaussian of a
Fisher vector that hardly any patch belongs to as much as one that most belong to. After a random
rotation every feature is a mixture of all of them, of the same magnitude as the row, and the
fraction of equal signs of two rows estimates the angle between them, the better the more bits there
are. The bits of the most informative rotated features are kept, as those of plain features are
[CC, section 3].

The rotation multiplies the first features of a row, as many as the largest power of 2 allows, by
random signs and transforms them by Walsh and Hadamard's matrix, and then does the same with the
last features: an orthogonal map of any number of features in ``dim log(dim)`` additions.

Stores and older versions call these codes "turned"; that word stays in files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined, jit
from myriad.arrays import Bytes, Float, Ints, as_rows
from myriad.codes.bits import SignCode, decode_bits, learn_bits
from myriad.codes.code import Code, Selection
from myriad.codes.onnx_nodes import PREFIX, Graph, add_products, add_slice
from myriad.errors import InputError
from myriad.randomness import generator
from myriad.serialisation import Serialisable, check_array, check_type

_TILE = 4096  # values transformed together in the cache of a core


@dataclass(frozen=True, eq=False)
class HadamardRotation(Serialisable, kind="turn"):
    """A translation and a rotation of rows.

    Parameters
    ----------
    centre : float32 (dim,), subtracted from every row.
    flips : int8 (2, width), +1 and -1; `width` is the largest power of 2 that is at most `dim`.
    """

    centre: Float
    flips: NDArray[np.int8]

    def __post_init__(self) -> None:
        check_array(self.centre, "The centre of rotated rows", (None,))
        shape = (2, _choose_width(self.dim))
        check_array(self.flips, "The signs of a rotation", shape, dtype=np.int8)
        if not (np.abs(self.flips) == 1).all():
            raise InputError("The signs of a rotation must be +1 or -1.")

    @property
    def dim(self) -> int:
        """Number of features of a row."""
        return len(self.centre)

    @property
    def width(self) -> int:
        """Number of features of a rotated row."""
        return self.dim

    def transform(self, rows: Float) -> Float:
        """Return rows (n_samples, dim) centred and rotated; their distances do not change."""
        rotated = rows - self.centre
        width = self.flips.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            _transform(rotated[:, :width], self._signs[0], False)
            _transform(rotated[:, self.dim - width :], self._signs[1], False)
        return rotated

    def inverse_transform(self, rotated: Float) -> Float:
        """Return the rows that `transform` maps to the given ones."""
        rows = rotated.copy()
        width = self.flips.shape[1]
        _transform(rows[:, self.dim - width :], self._signs[1], True)
        _transform(rows[:, :width], self._signs[0], True)
        rows += self.centre
        return rows

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Add the rotation to an ONNX graph; return the name of the rotated rows.

        A Walsh-Hadamard transform is a product with a smaller one from either side of the row as a
        matrix: ``H_mn = H_m x H_n``.
        """
        from scipy.linalg import hadamard

        dim, width = self.dim, self.flips.shape[1]
        x = graph.add("Sub", [rows, graph.add_constant(self.centre, "centre")], f"{PREFIX}centred")
        high = 1 << (width.bit_length() // 2)
        sides = [
            np.array(hadamard(n) / np.sqrt(n), np.float32) for n in (high, max(1, width // high))
        ]
        whole = graph.add_constant(np.array([-1, width], np.int64), "turned_shape")
        for number, first in enumerate((0, dim - width)):
            name = f"turn_{number}"
            bounds = ((0, first), (first, first + width), (first + width, dim))
            slices = [add_slice(graph, x, start, stop, name) for start, stop in bounds]
            flips = graph.add_constant(self.flips[number].astype(np.float32), f"{name}_flips")
            flipped = graph.add("Mul", [str(slices[1]), flips], f"{PREFIX}{name}_flipped")
            mixed = add_products(graph, flipped, sides[0], sides[1], name)
            slices[1] = graph.add("Reshape", [mixed, whole], f"{PREFIX}{name}_mixed")
            present = [piece for piece in slices if piece is not None]
            x = graph.add("Concat", present, f"{PREFIX}{name}_row", axis=1)
        return x

    @cached_property
    def _signs(self) -> Float:
        return self.flips.astype(np.float32)


@dataclass(frozen=True, eq=False)
class HadamardCode(Code, kind="turned"):
    """Sign bits of rotated rows, decoded to +1 and -1.

    Parameters
    ----------
    turning : the rotation of rows; the name of the field is part of the file format.
    code : which of the rotated features are kept.
    """

    turning: HadamardRotation
    code: SignCode

    def __post_init__(self) -> None:
        check_type(self.turning, HadamardRotation, "The rotation of Hadamard bits")
        check_type(self.code, SignCode, "The code of rotated rows")
        if self.turning.dim != self.code.dim:
            raise InputError(
                f"A rotation of {self.turning.dim} features does not fit sign bits of "
                f"{self.code.dim}."
            )

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Number of features of a row."""
        return self.code.dim

    @property
    def decoded_dim(self) -> int:
        """Number of bits of a row."""
        return self.code.decoded_dim

    @property
    def restores(self) -> bool:
        """Decoded rows hold the signs of mixtures of the features."""
        return False

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return self.code.bytes_per_row

    @property
    def chosen(self) -> Ints:
        """The rotated features that are kept, the most informative first."""
        return self.code.chosen

    @property
    def information(self) -> Float | None:
        """Mutual information of each rotated feature with the class, if that was measured."""
        return self.code.information

    @property
    def selection(self) -> Selection | None:
        """The rotated features that are kept."""
        return self.code.selection

    def describe(self) -> dict[str, Any]:
        """Return the kind and the number of features."""
        return self.code.describe() | {"kind": self.kind}

    def shorten(self, count: int) -> HadamardCode:
        """Return the code of the first `count` bits, whose rows are prefixes of these rows."""
        return replace(self, code=self.code.shorten(count))

    def project(self, rows: Float) -> Float:
        """Return the rotated values over their mean magnitude: near +1 and -1, not rounded."""
        return self.code.project(self.turning.transform(rows))

    def expand(self, decoded: Float) -> Float:
        """Return the plain rows whose rotated values are the signs times their mean magnitudes."""
        return self.turning.inverse_transform(self.code.expand(decoded))

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Add the rotation and the signs of the selected features."""
        return self.code.add_onnx(graph, self.turning.add_onnx(graph, rows))

    def _encode(self, rows: Float, codes: Bytes) -> None:
        for start in range(0, len(rows), 8):  # 8 rows: their bits are made while in the cache
            rotated = self.turning.transform(rows[start : start + 8])
            self.code._encode(rotated, codes[start : start + 8])

    def _decode(self, codes: Bytes, out: Float) -> None:
        decode_bits(codes, out)


def _choose_width(dim: int) -> int:
    """Return the largest power of 2 that is at most `dim`."""
    return 1 << (dim.bit_length() - 1)


def draw_rotation(sample: Float, *, seed: int = 0) -> HadamardRotation:
    """Return a random rotation about the mean of a sample (n_samples, dim)."""
    rows = as_rows(sample, name="The sample for Hadamard bits")
    if rows.size == 0:
        raise InputError("Hadamard bits need a sample of at least one row and one feature.")
    width = _choose_width(rows.shape[1])
    flips = 1 - 2 * generator(seed, "turned bits").integers(0, 2, (2, width))
    centre = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    return HadamardRotation(centre, flips.astype(np.int8))


def learn_hadamard(
    sample: Float,
    *,
    n_bits: int | None = None,
    information: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> HadamardCode:
    """Return the code of the `n_bits` most informative features of randomly rotated rows.

    Parameters
    ----------
    sample : float32 (n_samples, dim), at least one row; gives the centre and the mean magnitudes.
    n_bits : None for one per feature.
    information : (dim,) bits, of the features as `draw_rotation` with the same sample and seed
        rotates them; None if not known: rotated features are alike, and the first ones are kept.
    """
    rows = as_rows(sample, name="The sample for Hadamard bits")
    rotation = draw_rotation(rows, seed=seed)
    if n_bits is not None and not 1 <= n_bits <= rotation.dim:
        raise InputError(f"The number of bits to keep must lie between 1 and {rotation.dim}.")
    some = rotation.transform(rows[:256])
    if information is None:
        code = learn_bits(some)
        return HadamardCode(rotation, code if n_bits is None else code.shorten(n_bits))
    return HadamardCode(rotation, learn_bits(some, n_bits=n_bits, information=information))


@inlined
def _combine(x, first, size, h):  # type: ignore[no-untyped-def]
    """Replace pairs of values, h apart, by their sums and differences, in x[first:first + size]."""
    for start in range(first, first + size, 2 * h):
        a, b = x[start : start + h], x[start + h : start + 2 * h]
        for j in range(h):
            total = a[j] + b[j]
            b[j] = a[j] - b[j]
            a[j] = total


@inlined
def _combine_twice(x, first, size, h):  # type: ignore[no-untyped-def]
    """Do the stages h and 2 h of `_combine` in one pass over the values."""
    for start in range(first, first + size, 4 * h):
        a, b = x[start : start + h], x[start + h : start + 2 * h]
        c, d = x[start + 2 * h : start + 3 * h], x[start + 3 * h : start + 4 * h]
        for j in range(h):
            ab, a_b, cd, c_d = a[j] + b[j], a[j] - b[j], c[j] + d[j], c[j] - d[j]
            a[j], b[j], c[j], d[j] = ab + cd, a_b + c_d, ab - cd, a_b - c_d


@jit
def _transform(values, flips, inverse):  # type: ignore[no-untyped-def]
    """Rotate each row of `values`, float32 (n_samples, n), n a power of 2, in place.

    x becomes ``H (flips * x) / sqrt(n)`` with the Walsh-Hadamard matrix H, an orthogonal map; if
    `inverse`, ``flips * (H x) / sqrt(n)``, which undoes it because H is symmetric and H H = n I.
    """
    n = values.shape[1]
    tile = min(n, _TILE)
    scale = np.float32(1 / np.sqrt(n))
    for i in range(values.shape[0]):
        x = values[i]
        if not inverse:
            for j in range(n):
                x[j] *= flips[j]
        # Stages of stride below the tile size touch one tile only: all of them are done while it
        # is in the cache of the core.
        for first in range(0, n, tile):
            h = 1
            while 4 * h <= tile:
                _combine_twice(x, first, tile, h)
                h *= 4
            if h < tile:
                _combine(x, first, tile, h)
        # The remaining stages combine values of different tiles, two stages in each pass.
        h = tile
        while 4 * h <= n:
            _combine_twice(x, 0, n, h)
            h *= 4
        if h < n:
            _combine(x, 0, n, h)
        for j in range(n):
            x[j] *= scale * flips[j] if inverse else scale
