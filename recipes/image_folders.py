"""Images of any folder or archive for the recipes of the papers: classes, splits, and kept rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import MyriadError
from myriad.images import ImageList, find_images

TESTS = 5
"""One image of so many tests, where the data name no splits."""
LEAST = 3
"""Classes that a recipe needs."""


def find_splits(data: Path) -> ImageList:
    """Return the images of all classes that have some in train/ and in test/.

    Where the data name no splits, as in a folder CLASS/IMAGE, a fifth of each class tests. Other
    images, such as those of val/, are left out. Ends the program where there is nothing to run.
    """
    try:
        images = find_images(data)
    except MyriadError as error:
        sys.exit(str(error))
    labels, splits = images.labels, images.splits
    if not (splits != "").any():
        splits = draw_splits(labels)
    chosen = {
        split: np.bincount(
            labels[(labels >= 0) & (splits == split)], minlength=len(images.class_names)
        )
        for split in ("train", "test")
    }
    kept = np.flatnonzero((chosen["train"] > 0) & (chosen["test"] > 0))
    if len(kept) < LEAST:
        sys.exit(f"{data} needs {LEAST} classes or more with images in train/CLASS and test/CLASS.")
    numbers = np.full(len(images.class_names) + 1, -1, np.int32)  # the last is for unknown labels
    numbers[kept] = np.arange(len(kept))
    images = replace(
        images,
        labels=numbers[labels],
        class_names=[images.class_names[c] for c in kept],
        splits=splits,
        sets=None,
    )
    return images.select((images.labels >= 0) & np.isin(splits, ("train", "test")))


def draw_splits(labels: np.ndarray) -> np.ndarray:
    """Return a split of each image: a fifth of each class, at random, is for testing."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    splits = np.full(len(labels), "train", "<U5")
    for c in np.unique(labels):
        splits[order[labels[order] == c][TESTS - 1 :: TESTS]] = "test"
    return splits


def keep_arrays(
    folder: Path | None, name: str, images: ImageList, compute: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return arrays, from the file of a folder that keeps them for these very images, if any."""
    if folder is None:
        return compute()
    path = folder / f"{name}-{images.fingerprint()[:8]}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, **compute())
        part.replace(path)
    with np.load(path) as stored:
        return dict(stored)
