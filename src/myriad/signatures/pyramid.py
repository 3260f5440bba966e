"""Spatial pyramids: regions of an image, each described by itself, and their normalisation.

The edges of all regions divide the image into cells. Descriptors are summed once, cell by cell, and
every region is a sum of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError, quote
from myriad.serialisation import is_number

Region = tuple[float, float, float, float]


@dataclass(frozen=True)
class Pyramid:
    """Regions, each ``(left, top, right, bottom)`` in fractions of width and height.

    A region holds the positions with ``left <= x < right`` and ``top <= y < bottom``; one that
    ends at 1 holds everything beyond as well, so that no descriptor is lost to rounding.
    """

    regions: tuple[Region, ...]

    @cached_property
    def x_edges(self) -> Float:
        """The inner edges between cells along x, float32, ascending."""
        return self._inner_edges(0)

    @cached_property
    def y_edges(self) -> Float:
        """The inner edges between cells along y, float32, ascending."""
        return self._inner_edges(1)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return (len(self.x_edges) + 1) * (len(self.y_edges) + 1)

    @cached_property
    def membership(self) -> NDArray[np.bool_]:
        """The cells that make up each region: shape (n_regions, n_cells), cells row by row."""
        x = _middles(self.x_edges)
        y = _middles(self.y_edges)
        inside = [
            ((y >= top) & (y < bottom))[:, None] & ((x >= left) & (x < right))
            for left, top, right, bottom in self.regions
        ]
        return np.stack([cells.ravel() for cells in inside])

    def locate(self, positions: Float) -> Ints:
        """Return the cell of each position, int32; positions are float32 of shape (n, 2)."""
        x = np.searchsorted(self.x_edges, positions[:, 0], side="right")
        y = np.searchsorted(self.y_edges, positions[:, 1], side="right")
        return (y * (len(self.x_edges) + 1) + x).astype(np.int32)

    def sum_cells(self, cells: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return sums over regions (n_regions, ...) of sums over cells (n_cells, ...)."""
        return np.stack([cells[members].sum(axis=0) for members in self.membership])

    def _inner_edges(self, axis: int) -> Float:
        edges = {edge for region in self.regions for edge in (region[axis], region[axis + 2])}
        return np.array(sorted(edges - {0.0, 1.0}), np.float32)


def _middles(edges: Float) -> NDArray[np.float64]:
    ends = np.concatenate([[0.0], edges.astype(np.float64), [1.0]])
    return (ends[1:] + ends[:-1]) / 2


_WHOLE: tuple[Region, ...] = ((0.0, 0.0, 1.0, 1.0),)
_STRIPES: tuple[Region, ...] = tuple((0.0, i / 3, 1.0, (i + 1) / 3) for i in range(3))
_QUARTERS: tuple[Region, ...] = tuple(
    (x, y, x + 0.5, y + 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5)
)

PYRAMIDS = {
    1: Pyramid(_WHOLE),
    4: Pyramid(_WHOLE + _STRIPES),
    8: Pyramid(_WHOLE + _STRIPES + _QUARTERS),
}
"""By number of regions: the image; and three stripes [GP]; and 2 x 2 quarters [CC]."""


def pyramid_of(regions: int) -> Pyramid:
    """Return the pyramid with this many regions."""
    if type(regions) is not int or regions not in PYRAMIDS:
        raise InputError(f"A pyramid has 1, 4 or 8 regions, not {quote(regions)}.")
    return PYRAMIDS[regions]


def normalise_regions(regions: Float, *, power: float) -> Float:
    """Return the normalised concatenation of the vectors of all regions.

    It is the last step of every signature: signed power, L2 norm 1 for each region and over all.

    Parameters
    ----------
    regions : float32 array of shape (n_regions, size), changed in place.
    power : the exponent of ``sign(x) |x|^power``; 1 leaves values as they are.

    Returns
    -------
    float32 array of shape (n_regions * size,) of norm 1, or 0 if all regions are zero.
    """
    if power == 0.5:
        np.copysign(np.sqrt(np.abs(regions)), regions, out=regions)
    elif power != 1.0:
        np.copysign(np.abs(regions) ** np.float32(power), regions, out=regions)
    norms = np.sqrt(np.einsum("rd,rd->r", regions, regions))
    filled = norms > 0
    scales = np.zeros_like(norms)
    scales[filled] = 1 / (norms[filled] * np.sqrt(filled.sum()))
    regions *= scales[:, None]
    return regions.reshape(-1)


def check_power(power: float) -> None:
    """Raise `InputError` unless `power` is a number above 0 and at most 1."""
    if not is_number(power) or not 0 < power <= 1:
        raise InputError(
            f"The power of a signature must be above 0 and at most 1, not {quote(power)}."
        )
