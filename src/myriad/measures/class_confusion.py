"""The empirical class-confusion loss [HM, Eq. 7]: systematic confusions count less than others.

An error counts as the fraction of its class's rows that are *not* predicted as the same wrong
class: a single error of a class counts nearly 1, each error of a class that is always predicted as
its twin nearly 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def class_confusion(truths: NDArray[np.int32], guesses: NDArray[np.int32]) -> float | None:
    """Return the mean class-confusion loss in percent; None where no row has a known class.

    It lies between 0 and the error, 100 minus the accuracy over the same rows.

    Parameters
    ----------
    truths, guesses : int32 arrays of shape (n_samples,); rows with a truth of -1 are left out.
    """
    known = truths >= 0
    truths, guesses = truths[known].astype(np.int64), guesses[known].astype(np.int64)
    if len(truths) == 0:
        return None
    sizes = np.bincount(truths)
    wrong = truths != guesses
    width = int(guesses.max()) + 1
    pairs, counts = np.unique(truths[wrong] * width + guesses[wrong], return_counts=True)
    losses = counts * (1.0 - counts / sizes[pairs // width])
    return float(100.0 * losses.sum() / len(truths))
