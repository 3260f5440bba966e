"""The last steps of every signature: signed power, L2 for each region, L2 over all."""

from __future__ import annotations

from math import isfinite

import numpy as np

from myriad.arrays import Float
from myriad.errors import InputError


def normalise_regions(regions: Float, *, power: float) -> Float:
    """Return the normalised concatenation of the vectors of all regions.

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
    number = isinstance(power, int | float) and not isinstance(power, bool)
    if not number or not isfinite(power) or not 0 < power <= 1:
        raise InputError(f"The power of a signature must be above 0 and at most 1, not {power!r}.")
