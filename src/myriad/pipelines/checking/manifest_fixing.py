"""Write a manifest without duplicates and leaks, for ``check --fix``."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myriad.checks.components import Components, join_pairs
from myriad.checks.duplicates import DuplicatePair
from myriad.checks.findings import HELD_OUT, DuplicateGroup
from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.images import ImageList


def check_fixable(images: ImageList) -> None:
    """Raise `InputError` if a manifest cannot name these images."""
    if images.archive is not None:
        raise InputError(
            f"--fix writes a manifest, which cannot name the files in {images.root}: unpack the "
            "archive, then check the folder."
        )


def choose_kept(
    images: ImageList, pairs: Sequence[DuplicatePair], groups: Sequence[DuplicateGroup]
) -> NDArray[np.bool_]:
    """Return which images a fixed manifest keeps.

    Among equal files with the same label and split, the first stays. In a group of copies in
    several splits, those of the test split stay, otherwise those of the validation split, so that
    measurements on them are valid. The same picture under two labels stays twice: only a person can
    decide which label is correct.
    """
    kept = np.ones(len(images), bool)
    for group in groups:
        if group.leaks:
            stated = [split for split in HELD_OUT if split and split in group.splits]
            leaking = np.isin(images.splits[group.items], stated[1:])
            kept[np.array(group.items)[leaking]] = False
    equal = join_pairs(((one.first, one.second) for one in pairs if one.exact), len(images))
    seen = set()
    for image in np.flatnonzero(kept).tolist():
        key = (equal.find(image), images.labels[image], images.splits[image])
        kept[image] = key not in seen
        seen.add(key)
    return kept


def join_groups(images: ImageList, groups: Sequence[DuplicateGroup]) -> NDArray[np.int64]:
    """Return the group of each image, -1 for none: those it had, and copies together."""
    components = Components(len(images))
    first_of: dict[int, int] = {}
    for i, group in enumerate([] if images.groups is None else images.groups.tolist()):
        if group >= 0:
            components.join(first_of.setdefault(group, i), i)
    for duplicates in groups:
        for item in duplicates.items[1:]:
            components.join(duplicates.items[0], item)
    roots = components.roots()
    sizes = np.bincount(roots, minlength=len(images))
    single = sizes[roots] == 1
    if images.groups is not None:
        single &= images.groups < 0
    return np.where(single, -1, roots)


def write_fixed(
    images: ImageList,
    kept: NDArray[np.bool_],
    groups: Sequence[DuplicateGroup],
    path: Path,
) -> None:
    """Write a manifest of the images that are kept: path, label, split and group.

    Paths are relative to the folder of the manifest, as ``train`` reads them.
    """
    # Groups are joined through images that stay: one that is left out could join two splits.
    staying = [
        DuplicateGroup(items, one.exact, one.mirrored, one.classes, one.splits)
        for one in groups
        if len(items := [item for item in one.items if kept[item]]) > 1
    ]
    numbers = join_groups(images, staying)
    folder = path.absolute().parent
    with (
        atomic_write(path) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["path", "label", "split", "group"])
        for i in np.flatnonzero(kept).tolist():
            label = images.class_names[images.labels[i]]
            group = f"g{numbers[i]}" if numbers[i] >= 0 else ""
            writer.writerow([_relate(images.locate(i), folder), label, images.splits[i], group])


def _relate(path: str, folder: Path) -> str:
    """Return a path relative to a folder, with "/" between folders."""
    try:
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # on another drive
        return os.path.abspath(path)
    return f"./{relative}" if relative != relative.lstrip() else relative
