"""Weights of classes at prediction: fewer classes, and priors of places or seasons."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError, did_you_mean


def split_labels(text: str, class_names: Collection[str]) -> list[str]:
    """Return the labels of a list with commas; the name of a class is one label, comma or not."""
    if text in class_names:
        return [text]
    return [word.strip() for word in text.split(",") if word.strip()]


def find_classes(labels: Iterable[str], class_names: Sequence[str], where: str) -> list[int]:
    """Return the numbers of labels; `InputError` with the nearest name for an unknown one."""
    numbers = {name: c for c, name in enumerate(class_names)}
    found = []
    for label in labels:
        if label not in numbers:
            hint = did_you_mean(label, class_names)
            raise InputError(f"{where}: the model has no label {label!r}.{hint}")
        found.append(numbers[label])
    return found


def weigh_classes(
    class_names: Sequence[str],
    only: Iterable[str] | None = None,
    prior: Mapping[str, float] | None = None,
    *,
    names: tuple[str, str] = ("only", "prior"),
) -> NDArray[np.float64] | None:
    """Return the weight of each class, by which probabilities are multiplied; None for all 1.

    Parameters
    ----------
    only : labels to choose from; all others get the weight 0.
    prior : weights of labels; one that is not named keeps the weight 1.
    names : what errors call the two.
    """
    if only is None and prior is None:
        return None
    if isinstance(only, str):  # whose letters would be taken for labels
        raise InputError(f"{names[0]} must be a list of labels, such as [{only!r}].")
    weights = np.ones(len(class_names))
    if prior is not None:
        if not prior:
            raise InputError(f"{names[1]} has no weights.")
        given = np.array(list(prior.values()), np.float64)
        bad = np.flatnonzero(~((given >= 0) & np.isfinite(given)))
        if len(bad):
            label = list(prior)[bad[0]]
            raise InputError(
                f"{names[1]}: the weight of {label!r} must be a number of at least 0, not "
                f"{prior[label]!r}."
            )
        weights[find_classes(prior, class_names, names[1])] = given
        if not weights.any():
            raise InputError(f"{names[1]} gives no weight above 0 to any label.")
    if only is not None:
        chosen = find_classes(only, class_names, names[0])
        if not chosen:
            raise InputError(f"{names[0]} names no label.")
        allowed = np.zeros(len(class_names))
        allowed[chosen] = 1.0
        weights *= allowed
        if not weights.any():
            raise InputError(f"{names[1]} gives no weight to any of the labels of {names[0]}.")
    return weights
