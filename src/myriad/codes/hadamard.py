"""Turned bits: the signs of rows that are centred and turned at random first.

The signs of plain features count a feature that is hardly there as much as one that is strong: a
Gaussian that an image barely touches as much as one that it is full of. Once a row is turned, every
feature is a mixture of all of them, as strong as the row; how often the signs of two rows agree
then tells the angle between the rows, the better the more bits there are. Bits of the turned
features that say most about the class are kept, as of plain ones [CC, section 3].

A row is turned by signs drawn at random and a Walsh-Hadamard transform of as many of its first
features as a power of 2 allows, then by others of its last ones: an orthogonal map of any number of
features, in ``dim log(dim)`` additions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float, Ints, as_rows
from myriad.codes.bits import SignCode, decode_bits, learn_bits
from myriad.codes.code import Code
from myriad.codes.mixing_kernels import mix
from myriad.errors import InputError
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.serialisation import Serialisable


@dataclass(frozen=True, eq=False)
class HadamardRotation(Serialisable, kind="turn"):
    """A shift and a rotation of rows.

    Parameters
    ----------
    centre : float32 (dim,), what is taken from every row.
    flips : int8 (2, width), +1 and -1; `width` is the largest power of 2 that is at most `dim`.
    """

    centre: Float
    flips: NDArray[np.int8]

    def __post_init__(self) -> None:
        centre, flips = self.centre, self.flips
        if not isinstance(centre, np.ndarray) or centre.dtype != np.float32 or centre.ndim != 1:
            raise InputError("The centre of turned rows must be a float32 vector.")
        if len(centre) == 0 or not np.isfinite(centre).all():
            raise InputError("The centre of turned rows must be finite, a number a feature.")
        if (
            not isinstance(flips, np.ndarray)
            or flips.dtype != np.int8
            or flips.shape != (2, _choose_width(len(centre)))
            or not (np.abs(flips) == 1).all()
        ):
            raise InputError(f"The signs of a turn do not fit rows of {len(centre)} features.")

    @property
    def dim(self) -> int:
        """Number of features of a row."""
        return len(self.centre)

    def turn(self, rows: Float) -> Float:
        """Return rows (n_samples, dim) centred and turned; their distances stay."""
        turned = rows - self.centre
        width = self.flips.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            mix(turned[:, :width], self._signs[0], False)
            mix(turned[:, self.dim - width :], self._signs[1], False)
        return turned

    def undo(self, turned: Float) -> Float:
        """Return the rows that `turn` made turned ones of."""
        rows = turned.copy()
        width = self.flips.shape[1]
        mix(rows[:, self.dim - width :], self._signs[1], True)
        mix(rows[:, :width], self._signs[0], True)
        rows += self.centre
        return rows

    @cached_property
    def _signs(self) -> Float:
        return self.flips.astype(np.float32)


@dataclass(frozen=True, eq=False)
class HadamardCode(Code, kind="turned"):
    """Sign bits of turned rows; the learner sees +1 and -1.

    Parameters
    ----------
    turning : how rows are turned.
    code : which of the turned features are kept.
    """

    turning: HadamardRotation
    code: SignCode

    def __post_init__(self) -> None:
        if not isinstance(self.turning, HadamardRotation) or not isinstance(self.code, SignCode):
            raise InputError("A code of turned bits needs a turn and sign bits.")
        if self.turning.dim != self.code.dim:
            raise InputError(
                f"A turn of {self.turning.dim} features does not fit sign bits of {self.code.dim}."
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
        """The learner sees signs of mixtures of the features."""
        return False

    @property
    def bytes_per_row(self) -> int:
        """Bytes that one coded row takes."""
        return self.code.bytes_per_row

    @property
    def chosen(self) -> Ints:
        """The turned features that are kept, the most informative first."""
        return self.code.chosen

    @property
    def information(self) -> Float | None:
        """Bits that each turned feature says about the class, if that was measured."""
        return self.code.information

    def shorten(self, n_bits: int) -> HadamardCode:
        """Return the code of the first `n_bits` bits, whose rows begin the rows of this one."""
        return replace(self, code=self.code.shorten(n_bits))

    def project(self, rows: Float) -> Float:
        """Return the turned values over their mean size: near +1 and -1, nothing rounded."""
        return self.code.project(self.turning.turn(rows))

    def expand(self, decoded: Float) -> Float:
        """Return the plain rows whose turned values are the signs times their mean sizes."""
        return self.turning.undo(self.code.expand(decoded))

    def _encode(self, rows: Float, codes: Bytes) -> None:
        for start in range(0, len(rows), 8):  # of so few rows the bits are made in the cache
            self.code._encode(self.turning.turn(rows[start : start + 8]), codes[start : start + 8])

    def _decode(self, codes: Bytes, out: Float) -> None:
        decode_bits(codes, out)


def _choose_width(dim: int) -> int:
    """Return the largest power of 2 that is at most `dim`."""
    return 1 << (dim.bit_length() - 1)


def draw_rotation(sample: Float, *, seed: int = 0) -> HadamardRotation:
    """Return a random turn about the mean of a sample (n_samples, dim); the same for a seed."""
    rows = as_rows(sample, name="The sample for turned bits")
    if rows.size == 0:
        raise InputError("Turned bits need a sample of at least one row and one feature.")
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
    threads: int | None = None,
    progress: Progress = SILENT,
) -> HadamardCode:
    """Return the code of the `n_bits` most informative features of rows turned at random.

    Parameters
    ----------
    sample : float32 (n_samples, dim), at least one row; gives the centre and the mean sizes.
    n_bits : None for one a feature.
    information : (dim,) bits of the features as `draw_rotation` with the same sample and seed turns
        them; None where it is not known: turned features are alike, and the first are taken.
    """
    rows = as_rows(sample, name="The sample for turned bits")
    turning = draw_rotation(rows, seed=seed)
    if n_bits is not None and not 1 <= n_bits <= turning.dim:
        raise InputError(f"The number of bits to keep must lie between 1 and {turning.dim}.")
    some = turning.turn(rows[:256])
    if information is None:
        code = learn_bits(some)
        return HadamardCode(turning, code if n_bits is None else code.shorten(n_bits))
    return HadamardCode(turning, learn_bits(some, n_bits=n_bits, information=information))
