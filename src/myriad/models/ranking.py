"""The k best classes, found without sorting all scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.arrays import Float, Ints

FEW = 8
"""Rows up to which NumPy ranks: importing Numba would take longer, and the product dominates."""
SUMMED = 1 << 16
"""Exponentials that are summed at a time, about as many as a processor's cache holds."""


def select_top(scores: Float, labels: Ints, best: Float) -> None:
    """Write the k best classes of each row and their scores, best first, lowest class on ties.

    Parameters
    ----------
    scores : float array of shape (n_samples, n_classes)
    labels : int32 array of shape (n_samples, k), k <= n_classes; written.
    best : float array of shape (n_samples, k); written.
    """
    if len(scores) > FEW or np.isnan(scores).any():
        scan_top(scores, labels, best)
        return
    k = labels.shape[1]
    for row, found, values in zip(scores, labels, best, strict=True):
        lowest = np.partition(row, len(row) - k)[len(row) - k]
        reaching = np.flatnonzero(row >= lowest)
        found[:] = reaching[np.argsort(-row[reaching], kind="stable")[:k]]
        values[:] = row[found]


@jit
def scan_top(scores, labels, best):
    """Write the result of `select_top`, in one scan over the scores of each row.

    The k best are kept as a short sorted list. A class enters it only if its score beats the last
    entry, which is rare after a few classes: so the usual cost is one comparison per class.
    """
    k = labels.shape[1]
    for i in range(scores.shape[0]):
        held = 0
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if held == k and not score > best[i, k - 1]:
                continue
            # Insertion: entries with lower scores move one position down. Equal scores do not move,
            # so the lower class, which came first, stays in front.
            position = min(held, k - 1)
            while position > 0 and score > best[i, position - 1]:
                best[i, position] = best[i, position - 1]
                labels[i, position] = labels[i, position - 1]
                position -= 1
            best[i, position] = score
            labels[i, position] = c
            held = min(held + 1, k)


@jit
def merge_top(products, offsets, labels, best, first):
    """Merge the classes from `first` on into the k best of each row; see `select_top`.

    Parameters
    ----------
    products : float array of shape (n_samples, m), the scores of the classes from `first` on,
        without their `offsets`, of shape (m,).
    labels : int32 array of shape (n_samples, k), -1 in empty entries; changed in place.
    best : float array of shape (n_samples, k), -inf in empty entries; changed in place.
    """
    k = labels.shape[1]
    for i in range(products.shape[0]):
        last = best[i, k - 1]
        for c in range(products.shape[1]):
            score = products[i, c] + offsets[c]
            # The list may have empty entries, into which even a score of -inf must go.
            if not (score > last or labels[i, k - 1] < 0):
                continue
            position = k - 1
            while position > 0 and (score > best[i, position - 1] or labels[i, position - 1] < 0):
                best[i, position] = best[i, position - 1]
                labels[i, position] = labels[i, position - 1]
                position -= 1
            best[i, position] = score
            labels[i, position] = first + c
            last = best[i, k - 1]


@jit
def merge_cell(products, offsets, classes, rows, labels, best):
    """Merge the classes of a cell into the k best of some rows, lowest class on ties.

    Cells are not visited in the order of class numbers, so ties compare the numbers.

    Parameters
    ----------
    products : float array of shape (n_rows, m), the scores of the classes without their `offsets`,
        of shape (m,).
    classes : int32 array of shape (m,); a class must not be merged into a row twice.
    rows : int64 array of shape (n_rows,), positions of the rows in `labels` and `best`.
    labels, best : as in `merge_top`; changed in place.
    """
    k = labels.shape[1]
    for j in range(products.shape[0]):
        i = rows[j]
        last = best[i, k - 1]
        for c in range(products.shape[1]):
            score, label = products[j, c] + offsets[c], classes[c]
            if score < last:
                continue
            position = k
            while position > 0:
                held = labels[i, position - 1]
                above = best[i, position - 1]
                if held >= 0 and not (score > above or (score == above and label < held)):
                    break
                if position < k:
                    best[i, position], labels[i, position] = above, held
                position -= 1
            if position < k:
                best[i, position], labels[i, position] = score, label
                last = best[i, k - 1]


def rank_scores(scores: Float, k: int) -> tuple[Ints, Float]:
    """Return the `k` best classes of each row and their scores, best first; see `select_top`."""
    shape = len(scores), min(k, scores.shape[1])
    labels, best = np.empty(shape, np.int32), np.empty(shape, scores.dtype)
    select_top(scores, labels, best)
    return labels, best


def sum_exponentials(
    scores: Float,
    scales: Float,
    best: Float,
    bonuses: NDArray[np.float64],
    log_sums: NDArray[np.float64],
) -> None:
    """Write the logarithm of the sum of ``exp(scale_i s_ic)`` over the classes of each row.

    That of the best class counts ``exp(bonus_i)`` times.

    Parameters
    ----------
    scores : float32 array of shape (n_samples, n_classes); -inf for classes that do not count.
    scales : float32 array of shape (n_samples,), above 0.
    best : float32 array of shape (n_samples,), the largest score of each row.
    bonuses : float64 array of shape (n_samples,).
    log_sums : float64 array of shape (n_samples,); written.
    """
    more = np.expm1(bonuses)
    step = max(1, SUMMED // scores.shape[1])
    for first in range(0, len(scores), step):
        rows = slice(first, first + step)
        work = scores[rows] - best[rows, None]
        work *= scales[rows, None]
        np.exp(work, out=work)
        total = work.sum(axis=1, dtype=np.float64)
        log_sums[rows] = scales[rows].astype(np.float64) * best[rows] + np.log(total + more[rows])


@jit
def group_rest(scores, lowest, k, means, counts):
    """Write means and counts of the scores below the k best, in groups of equal width.

    Parameters
    ----------
    scores : float array of shape (n_samples, n_classes), finite.
    lowest : float array of shape (n_samples,), the k-th best score of each row.
    means, counts : float arrays of shape (n_samples, n_groups), zero; written.
    """
    n_groups = means.shape[1]
    for i in range(scores.shape[0]):
        low, above = lowest[i], 0
        for c in range(scores.shape[1]):
            low = min(low, scores[i, c])
            above += scores[i, c] >= lowest[i]
        width = (lowest[i] - low) / n_groups
        for c in range(scores.shape[1]):
            if scores[i, c] < lowest[i]:
                g = min(n_groups - 1, int((scores[i, c] - low) / width))
                counts[i, g] += 1
                # The mean so far moves by a part of the difference: no sum can lose digits.
                means[i, g] += (scores[i, c] - means[i, g]) / counts[i, g]
        ties = above - k  # as good as the k-th best, but not among the k
        if ties > 0:
            g = n_groups - 1
            counts[i, g] += ties
            means[i, g] += (lowest[i] - means[i, g]) * ties / counts[i, g]
