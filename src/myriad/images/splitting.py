"""Draw a validation split, the same one for the same seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.errors import InputError
from myriad.images.listing import ImageList
from myriad.randomness import generator

VALIDATION = 0.1
"""Fraction of the training images of each class that is drawn for validation."""
_ENOUGH = 5  # a class of this many images has at least one for validation

Positions = NDArray[np.int64]


def split_images(images: ImageList, *, seed: int, val: float = VALIDATION) -> ImageList:
    """Assign images without a split to train or val; given splits stay as they are.

    If no image is given for validation, the fraction `val` of the training images of each class is
    drawn, at least one of a class of five, none of a class of one; test images are not changed.
    A group is in one split: the one given for any of its images, or the one that it is drawn for.
    Images that are not drawn are for training.

    Parameters
    ----------
    images : images with or without a split.
    seed : the same images and seed give the same splits.
    val : the fraction for validation, at least 0 and below 1.

    Returns
    -------
    The same images with all `splits` assigned, and with `warnings` added.
    """
    splits, warnings = fill_splits(
        images.splits, images.labels, images.groups, images.class_names, seed=seed, val=val
    )
    return replace(images, splits=splits, warnings=[*images.warnings, *warnings])


def fill_splits(
    splits: NDArray[np.str_],
    labels: Ints,
    groups: Ints | None,
    class_names: list[str],
    *,
    seed: int,
    val: float = VALIDATION,
    noun: str = "image",
) -> tuple[NDArray[np.str_], list[str]]:
    """Return the splits of images or rows with missing ones assigned, and warnings.

    The rules are those of `split_images`; warnings call an item `noun`.
    """
    if not 0.0 <= val < 1.0:
        raise InputError(f"The validation fraction must be at least 0 and below 1, not {val}.")
    splits = _spread_over_groups(splits, groups)
    stated = bool((splits == "val").any())
    splits[splits == ""] = "train"
    if stated or val == 0.0:
        return splits, []
    positions = np.flatnonzero(splits == "train")
    chosen = _draw_validation(
        labels[positions], None if groups is None else groups[positions], seed, val
    )
    splits[positions[chosen]] = "val"
    return splits, _warn_of_small_classes(labels, class_names, splits, noun)


def _spread_over_groups(splits: NDArray[np.str_], groups: Ints | None) -> NDArray[np.str_]:
    """Assign images without a split to the split of their group, if it has one."""
    filled = splits.astype("<U5")
    if groups is None:
        return filled
    stated = (filled != "") & (groups >= 0)
    split_of_group = dict(zip(groups[stated].tolist(), filled[stated].tolist(), strict=True))
    for i in np.flatnonzero(filled == ""):
        filled[i] = split_of_group.get(int(groups[i]), "")
    return filled


def _draw_validation(labels: Ints, groups: Ints | None, seed: int, val: float) -> Positions:
    """Return the positions of the validation images, drawn class by class."""
    if not len(labels):
        return np.empty(0, np.int64)
    random = generator(seed, "validation split")
    order = random.permutation(len(labels))
    sizes = np.bincount(labels - labels.min())
    quotas = _set_quotas(sizes, val, random)[labels - labels.min()]
    if groups is None:
        return order[_rank_in_class(labels[order]) < quotas[order]]
    return draw_groups(labels, groups, order, quotas)


def _set_quotas(sizes: NDArray[np.intp], val: float, random: np.random.Generator) -> Positions:
    """Return the number of validation images of each class.

    If every class is too small for one, randomly drawn classes of two or more images get one each,
    as many as the fraction requires: otherwise there would be no validation images at all.
    """
    quotas = np.floor(val * sizes + 0.5).astype(np.int64)
    quotas[(sizes >= _ENOUGH) & (quotas == 0)] = 1
    quotas = np.minimum(quotas, np.maximum(sizes - 1, 0))
    if not quotas.any():
        small = np.flatnonzero(sizes >= 2)
        wanted = min(len(small), max(1, round(val * float(sizes[small].sum()))))
        quotas[random.permutation(small)[:wanted]] = 1
    return quotas


def _rank_in_class(labels: Ints) -> Positions:
    """Return for each image the number of earlier images of its class."""
    by_class = np.argsort(labels, kind="stable")
    ordered = labels[by_class]
    starts = np.searchsorted(ordered, ordered, side="left")
    ranks = np.empty(len(labels), np.int64)
    ranks[by_class] = np.arange(len(labels)) - starts
    return ranks


def draw_groups(labels: Ints, groups: Ints, order: Positions, quotas: Positions) -> Positions:
    """Draw complete groups in random order, if at least half of a group fits the open quotas.

    Every class keeps at least one training image.

    Parameters
    ----------
    order : positions of the images in the order in which their groups are drawn.
    quotas : how many images of the class of each image to draw.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for i in order.tolist():
        members[int(groups[i]) if groups[i] >= 0 else -2 - i].append(i)
    class_of = labels.tolist()
    training = Counter(class_of)
    lacking = dict(zip(class_of, quotas.tolist(), strict=True))
    chosen: list[int] = []
    for group in members.values():
        content = Counter(class_of[i] for i in group)
        fitting = sum(min(n, lacking[label]) for label, n in content.items())
        if 2 * fitting < len(group) or not fitting:
            continue
        if any(training[label] <= n for label, n in content.items()):
            continue
        for label, n in content.items():
            lacking[label] = max(0, lacking[label] - n)
        training -= content
        chosen.extend(group)
    return np.array(chosen, dtype=np.int64)


def _warn_of_small_classes(
    labels: Ints, class_names: list[str], splits: NDArray[np.str_], noun: str
) -> list[str]:
    """Return warnings on classes without validation images."""
    sizes = np.bincount(labels[(splits == "train") & (labels >= 0)])
    held = np.bincount(labels[(splits == "val") & (labels >= 0)], minlength=len(sizes))
    without = np.flatnonzero((sizes > 0) & (held[: len(sizes)] == 0))
    single = without[sizes[without] == 1]
    warnings: list[str] = []
    if len(single):
        first = class_names[single[0]]
        warnings.append(
            f"Classes with one {noun} only, which stays in training: {len(single)}, the first is "
            f"{first!r}."
        )
    if len(without) > len(single):
        warnings.append(
            f"Classes with too few {noun}s or groups to set one apart for validation: "
            f"{len(without) - len(single)}."
        )
    if not held.any():
        warnings.append(f"No {noun} could be set apart for validation.")
    return warnings
