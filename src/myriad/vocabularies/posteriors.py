"""Sums of descriptors weighted by the posteriors of a mixture: the kernel of EM and Fisher.

Posteriors come from logits, one row a descriptor. Only a few of hundreds of Gaussians matter to a
descriptor; those whose posterior is below `CUT` times the largest get none of it, and the sums are
sparse. (A dense product of posteriors and descriptors took ten times as long.)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined, jit, jit_reassociated
from myriad.arrays import Float, Ints

CUT = 1e-5
_LOG_CUT = np.float32(math.log(CUT))


@jit
def find_posteriors(logits: Float, kept: Ints, posteriors: Float) -> tuple[int, float]:
    """Find the Gaussians that matter to one descriptor.

    Parameters
    ----------
    logits : float32 array of shape (n_components,), log of weight times density, read.
    kept : int32 array of shape (n_components,); its front is set to the Gaussians that matter.
    posteriors : float32 array of shape (n_components,); its front is set to their posteriors, which
        sum to 1.

    Returns
    -------
    count : how many matter.
    evidence : the log of the descriptor's density under the mixture.
    """
    top = logits[0]
    for k in range(1, logits.size):
        top = logits[k] if logits[k] > top else top
    bound = top + _LOG_CUT
    count = 0
    total = np.float32(0.0)
    for k in range(logits.size):
        if logits[k] >= bound:
            kept[count] = k
            posteriors[count] = math.exp(logits[k] - top)
            total += posteriors[count]
            count += 1
    for j in range(count):
        posteriors[j] /= total
    return count, np.float64(top) + math.log(total)


@inlined
def _add(
    q: np.float32, row: Float, mean: Float, precision: Float, first: Float, second: Float
) -> None:
    for d in range(row.size):
        z = (row[d] - mean[d]) * precision[d]
        weighted = q * z
        first[d] += weighted
        second[d] += weighted * z


@jit_reassociated
def add_posteriors(
    rows: Float,
    logits: Float,
    cells: Ints,
    means: Float,
    precisions: Float,
    counts: NDArray[np.float64],
    first: Float,
    second: Float,
) -> float:
    """Add the rows' standardised first and second moments, cell by cell and Gaussian by Gaussian.

    Parameters
    ----------
    rows : float32 array of shape (n, dim), read.
    logits : float32 array of shape (n, n_components), read.
    cells : int32 array of shape (n,), the cell to which each row is added, read.
    means, precisions : float32 arrays of shape (n_components, dim); a precision is one over the
        deviation; read.
    counts : float64 array of shape (n_cells, n_components), ``sum q`` is added.
    first, second : float32 arrays of shape (n_cells, n_components, dim), ``sum q z`` and
        ``sum q z²`` are added, with ``z = (x - mean) * precision``.

    Returns
    -------
    evidence : the sum of the log densities of all rows.
    """
    kept = np.empty(means.shape[0], np.int32)
    posteriors = np.empty(means.shape[0], np.float32)
    evidence = 0.0
    for i in range(rows.shape[0]):
        count, log_density = find_posteriors(logits[i], kept, posteriors)
        evidence += log_density
        c = cells[i]
        for j in range(count):
            k = kept[j]
            q = posteriors[j]
            counts[c, k] += q
            _add(q, rows[i], means[k], precisions[k], first[c, k], second[c, k])
    return evidence
