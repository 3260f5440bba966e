"""Statistics of rows: the distribution of their values, and the correlation of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float

MOST_DEVIATIONS = 4.0
SINGLE_FEATURES = 6
BINS = 80

Density = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Edges of bins (n + 1,), and the fraction of all values in each, (n,)."""


@dataclass(frozen=True, eq=False)
class Values:
    """The distribution of the values of rows [CC, Figure 3].

    Attributes
    ----------
    after : the density of all values, each feature in units of its own root mean square.
    before : the same with the power inverted; None where there was none.
    power : that power.
    zeros : the fraction of the values that is 0.
    single : some features by their index, each with its own density.
    """

    after: Density
    before: Density | None
    power: float
    zeros: float
    single: tuple[tuple[int, Density], ...]


@dataclass(frozen=True, eq=False)
class Correlation:
    """Pearson's correlation of all pairs of some features [CC, Figure 1].

    Attributes
    ----------
    density : of the coefficients, -1 to 1.
    n_pairs : their number.
    small : the fraction of them below 0.2 in magnitude.
    """

    density: Density
    n_pairs: int
    small: float


Correlations = dict[str, Correlation]


def spread_values(rows: Float, numbers: NDArray[np.int64], *, power: float) -> Values | None:
    """Return the distribution of the values of some features; None if all of them are 0.

    Inverting the power gives the row before it, up to a factor for each image and region, since
    rows are normalised afterwards.

    Parameters
    ----------
    rows : float32 array of shape (n_rows, n_features).
    numbers : the indices of these features.
    power : the exponent that was applied to the values.
    """
    values = rows.astype(np.float64)
    used = np.flatnonzero(values.any(axis=0))
    if len(used) == 0:
        return None
    values = values[:, used]
    undone = np.copysign(np.abs(values) ** (1 / power), values) if power != 1 else None
    spread = np.unique(np.linspace(0, len(used) - 1, SINGLE_FEATURES).round().astype(int))
    return Values(
        after=_measure(_scale(values)),
        before=None if undone is None else _measure(_scale(undone)),
        power=power,
        zeros=float((rows == 0).mean()),
        single=tuple((int(numbers[used[j]]), _measure(_scale(values[:, [j]]), 40)) for j in spread),
    )


def correlate(rows: Float) -> Correlation | None:
    """Return the correlations of all pairs of features that vary; None with fewer than two."""
    values = rows.astype(np.float64)
    values -= values.mean(axis=0)
    norms = np.sqrt((values**2).sum(axis=0))
    varied = norms > 1e-12
    if varied.sum() < 2:
        return None
    values = values[:, varied] / norms[varied]
    pairs = (values.T @ values)[np.triu_indices(values.shape[1], 1)]
    counts, edges = np.histogram(np.clip(pairs, -1, 1), bins=100, range=(-1, 1))
    small = float((np.abs(pairs) < 0.2).mean())
    return Correlation((edges, counts / len(pairs)), len(pairs), small)


def _scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values / np.sqrt((values**2).mean(axis=0))


def _measure(values: NDArray[np.float64], bins: int = BINS) -> Density:
    """Return the density of values; outliers count in the outermost bins."""
    clipped = np.clip(values, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    low = -MOST_DEVIATIONS if values.min() < 0 else 0.0
    counts, edges = np.histogram(clipped, bins=bins, range=(low, MOST_DEVIATIONS))
    return edges, counts / values.size
