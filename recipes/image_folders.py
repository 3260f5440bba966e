"""Images of any folder or archive for the recipes of the papers: classes, splits, and kept rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from results import make_folder

from myriad.images import BadImage, ImageList, find_images, read_image

TESTS = 5
"""One image of so many tests, where the data name no splits."""
LEAST = 3
"""Classes that a recipe needs."""
LEAST_IMAGES = 5
"""Training images that a class needs: a fifth of them validates."""


def find_splits(data: Path) -> ImageList:
    """Return the images of all classes with enough in train/ and some in test/.

    Where the data name no splits, as in a folder CLASS/IMAGE, a fifth of each class tests. Other
    images, such as those of val/, are left out. Ends the program where there is nothing to run.
    """
    images = find_images(data)
    if not (images.splits != "").any():
        images = replace(images, splits=draw_splits(images.labels))
    return choose_classes(images)


def choose_classes(images: ImageList) -> ImageList:
    """Return the images of all classes with enough to train and some to test on."""
    labels, splits, n_classes = images.labels, images.splits, len(images.class_names)
    train, test = (
        np.bincount(labels[(labels >= 0) & (splits == split)], minlength=n_classes)
        for split in ("train", "test")
    )
    kept = np.flatnonzero((train >= LEAST_IMAGES) & (test > 0))
    needed = f"{LEAST_IMAGES} images or more in train/CLASS and at least one in test/CLASS"
    if len(kept) < LEAST:
        sys.exit(f"{images.root} has {len(kept)} classes with {needed}: this recipe needs {LEAST}.")
    if len(kept) < n_classes:
        print(f"Left out: {n_classes - len(kept)} of {n_classes} classes, without {needed}.")
    numbers = np.full(n_classes + 1, -1, np.int32)  # the last is for unknown labels
    numbers[kept] = np.arange(len(kept))
    images = replace(
        images,
        labels=numbers[labels],
        class_names=[images.class_names[c] for c in kept],
        sets=None,
    )
    return images.select((images.labels >= 0) & np.isin(splits, ("train", "test")))


def select_readable(images: ImageList) -> ImageList:
    """Return the images that can be read, and say which cannot."""
    unusable = {}
    for i in range(len(images)):
        try:
            read_image(images.read(i))
        except BadImage as error:
            unusable[i] = error
    if unusable:
        first, why = next(iter(unusable.items()))
        print(
            f"Left out: {len(unusable)} of {len(images)} images, which cannot be read, "
            f"such as {images.locate(first)} ({why})."
        )
    return images.select([i for i in range(len(images)) if i not in unusable])


def draw_splits(labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return a split of each image: a fifth of each class, at random, is for testing."""
    order = np.random.default_rng(seed).permutation(len(labels))
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
        make_folder(folder)
        part = path.with_suffix(".part.npz")
        np.savez(part, **compute())
        part.replace(path)
    with np.load(path) as stored:
        return dict(stored)
