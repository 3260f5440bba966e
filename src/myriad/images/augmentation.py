"""Augmentation: further views of training images, which become rows of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myriad.arrays import Bytes
from myriad.images.listing import ImageList

CROP = 7 / 8
"""Height and width of a crop, as a fraction of those of the image."""
WHOLE = 0
"""The number of the view that is the image itself; 1 is its mirror image, 2 to 5 are crops at its
corners."""


def augment_images(images: ImageList, added: Sequence[int]) -> ImageList:
    """Return the images, followed by further views of those to train on.

    All views of an image have the same group, that of the image or a new one, so that no fold and
    no split of the rows separates them. Images for validation and test have no further views.

    Parameters
    ----------
    added : the views that each of them gets, see `WHOLE`.
    """
    if not added:
        return images
    training = np.flatnonzero(images.splits == "train")
    n = len(images)
    groups = np.full(n, -1, np.int32) if images.groups is None else images.groups.copy()
    alone = training[groups[training] < 0]
    groups[alone] = max(int(groups.max(initial=-1)), -1) + 1 + np.arange(len(alone))
    grouped = replace(images, groups=groups)
    order = np.concatenate([np.arange(n), np.tile(training, len(added))])
    views = np.concatenate([np.full(n, WHOLE), np.repeat(added, len(training))]).astype(np.int8)
    return replace(grouped.select(order), views=views)


def take_view(image: Bytes, view: int) -> Bytes:
    """Return a view of a uint8 image, grey or in colour."""
    if view == WHOLE:
        return image
    if view == 1:
        return np.ascontiguousarray(image[:, ::-1])
    height, width = image.shape[:2]
    high, wide = max(1, round(CROP * height)), max(1, round(CROP * width))
    top = height - high if view in (4, 5) else 0
    left = width - wide if view in (3, 5) else 0
    return np.ascontiguousarray(image[top : top + high, left : left + wide])
