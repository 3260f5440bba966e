"""Sibling precision: predicting a class with the same parent is not entirely wrong [HM, 10].

Of the k best classes of a row, the fraction that are its class or siblings of it (classes with the
same parent in a hierarchy), relative to the largest fraction possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError


def number_parents(class_names: Sequence[str], parents: Mapping[str, str]) -> NDArray[np.int32]:
    """Return a number for the parent of each class; a class without one gets its own."""
    if not set(class_names) & parents.keys():
        raise InputError("The hierarchy names none of the classes of the model.")
    numbers: dict[str, int] = {}
    found = np.empty(len(class_names), np.int32)
    alone = len(class_names)
    for c, name in enumerate(class_names):
        if name in parents:
            found[c] = numbers.setdefault(parents[name], len(numbers))
        else:
            found[c] = alone + c
    return found


def sibling_precision(
    truths: NDArray[np.int32], ranked: NDArray[np.int32], parents: NDArray[np.int32]
) -> float | None:
    """Return the mean sibling precision in percent; None where no row has a known class.

    Parameters
    ----------
    truths : int32 array of shape (n_samples,); rows with a truth of -1 are left out.
    ranked : int32 array of shape (n_samples, k), the best classes of each row.
    parents : int32 array of shape (n_classes,), a number for the parent of each class.
    """
    known = truths >= 0
    truths, ranked = truths[known], ranked[known]
    if len(truths) == 0:
        return None
    _, families, sizes = np.unique(parents, return_inverse=True, return_counts=True)
    hits = (families[ranked] == families[truths][:, None]).sum(axis=1)
    most = np.minimum(ranked.shape[1], sizes[families[truths]])
    return float(100.0 * (hits / most).mean())
