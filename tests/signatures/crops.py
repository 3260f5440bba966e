"""Images and slow assignments that the tests of bags of words and VLAD share."""

import cv2
import numpy as np
from skimage import data

from myriad.descriptors import DenseSIFT

SMALL = {
    "n_words": 9,
    "pca_dim": 10,
    "sample": 2000,
    "descriptor": DenseSIFT(scales=2),
    "threads": 1,
}


def crops():
    scene = cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2GRAY)
    return [scene[50 * i : 50 * i + 130, 40 * i : 40 * i + 140] for i in range(4)]


def nearest(signature, image):
    """Return projected descriptors, their words, and for each region which of them it holds."""
    local = signature.descriptor.describe(image)
    values = signature.pca.project(local.values).astype(np.float64)
    centres = signature.words.centres
    words = ((values[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    y = local.positions[:, 1]
    inside = [y >= 0, y < 1 / 3, (y >= 1 / 3) & (y < 2 / 3), y >= 2 / 3]
    return values, words, inside
