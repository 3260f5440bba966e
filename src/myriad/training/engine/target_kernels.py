"""Rows of a chunk by their classes."""

from __future__ import annotations

from myriad._jit import jit


@jit
def sort_places(targets, classes, start, places, bounds):
    """Write down the places in the epoch of the rows of each class, class by class, in order.

    Labels beyond the last class are left out, and what `places` then has at its end means nothing.

    Parameters
    ----------
    targets, classes : see `targets`.
    start : place of the first row.
    places : int64 array, as long as `classes`; changed.
    bounds : int64 array of zeros, one more than there are classes; set to where in `places` a class
        begins, and to the end.
    """
    n_classes = len(bounds) - 1
    for c in classes:
        if c < n_classes:
            bounds[c + 1] += 1
    for c in range(1, n_classes + 1):
        bounds[c] += bounds[c - 1]
    for i in range(len(targets)):
        for k in range(targets[i].first, targets[i].last):
            if classes[k] < n_classes:
                places[bounds[classes[k]]] = start + i
                bounds[classes[k]] += 1
    for c in range(n_classes, 0, -1):
        bounds[c] = bounds[c - 1]
    bounds[0] = 0
