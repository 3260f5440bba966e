"""Corrections of labels: a CSV file with the columns path and label, edited by a person."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.errors import InputError, did_you_mean
from myriad.files import open_csv
from myriad.images.listing import ImageList


@dataclass(frozen=True)
class Correction:
    """A line of the file.

    Attributes
    ----------
    where : the file and the line, for errors.
    path : of the image.
    label : the right label; empty to leave the image out.
    given : the label that the image had when the file was written; empty if not stated.
    """

    where: str
    path: str
    label: str
    given: str


def read_corrections(path: Path) -> list[Correction]:
    """Read a file of corrections; it must have the columns path and label, others are ignored."""
    with open_csv(path) as reader:
        names = [name.strip().lower() for name in next(reader, [])]
        for name in ("path", "label"):
            if names.count(name) != 1:
                raise InputError(
                    f"{path}, line 1: corrections have one column path and one column label, "
                    f"separated by commas, not {', '.join(names) or 'an empty line'}."
                )
        found: dict[str, Correction] = {}
        for line in filter(None, reader):
            where = f"{path}, line {reader.line_num}"
            if len(line) != len(names):
                raise InputError(f"{where}: not as many cells as the header has columns.")
            cells = dict(zip(names, line, strict=True))
            name = cells["path"]
            if not name:
                raise InputError(f"{where}: the path is empty.")
            if name in found:
                raise InputError(f"{where}: {name!r} is already in an earlier line.")
            label, given = cells["label"].strip(), cells.get("given", "").strip()
            found[name] = Correction(where, name, label, given)
    return list(found.values())


def correct_labels(
    corrections: Sequence[Correction],
    numbers: Mapping[str, int],
    labels: Ints,
    class_names: Sequence[str],
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the corrected labels, and which items stay.

    Parameters
    ----------
    numbers : the number of the item of each path.
    labels : int32 (n,), those that items have now.
    """
    corrected, kept = labels.copy(), np.ones(len(labels), bool)
    label_of = {name.strip(): label for label, name in enumerate(class_names)}
    for one in corrections:
        number = numbers.get(one.path)
        if number is None:
            raise InputError(f"{one.where}: the data have no image {one.path!r}.")
        for name in (one.label, one.given):
            if name and name not in label_of:
                near = did_you_mean(name, label_of)
                raise InputError(f"{one.where}: {name!r} is not a class of the data.{near}")
        now = class_names[labels[number]].strip() if labels[number] >= 0 else ""
        if one.given and now not in (one.given, one.label):
            raise InputError(
                f"{one.where}: the label of {one.path!r} is {now!r}, not {one.given!r}. Check the "
                "data again, or remove the line."
            )
        if one.label:
            corrected[number] = label_of[one.label]
        else:
            kept[number] = False
    if not kept.any():
        raise InputError("The corrections leave out every image.")
    return corrected, kept


def correct_images(images: ImageList, path: Path) -> ImageList:
    """Return images with the labels that a file of corrections states.

    Classes that have no image any more are left out.

    Paths may be those of the list, or lead to the images from the current folder as those that
    ``check`` writes do.
    """
    if images.sets is not None:
        raise InputError(
            f"--corrections {path} states one label per image, but images have several here: "
            "correct the manifest itself."
        )
    known = {os.path.abspath(images.locate(i)): i for i in range(len(images))}
    known |= {os.path.normpath(name): i for i, name in enumerate(images.paths)}
    corrections = read_corrections(path)
    numbers = {
        one.path: known[name]
        for one in corrections
        for name in (os.path.abspath(one.path), os.path.normpath(one.path))
        if name in known
    }
    labels, kept = correct_labels(corrections, numbers, images.labels, images.class_names)
    present, labels[kept] = np.unique(labels[kept], return_inverse=True)
    names = [images.class_names[c] for c in present]
    return replace(images, labels=labels, class_names=names).select(kept)
