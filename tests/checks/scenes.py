"""Invented photographs, copies of them, and a signature that takes no network."""

import io
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageEnhance

from myriad.checks.alignment import make_grey_thumbnail
from myriad.images import read_image
from myriad.signatures import Signature


def photograph(seed, height=96, width=128):
    """Return a smooth scene with edges, grey as RGB (height, width, 3), another for each seed."""
    draws = np.random.default_rng(seed)
    scene = np.zeros((height, width))
    for cells in (3, 6, 12, 24):
        noise = draws.standard_normal((cells, cells))
        scene += cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC) / cells**0.5
    scene += scene > np.quantile(scene, draws.uniform(0.3, 0.7))
    scene = 20 + 150 * (scene - scene.min()) / np.ptp(scene)
    return np.repeat(np.rint(scene).astype(np.uint8)[:, :, None], 3, axis=2)


def _resize(image):
    return image.resize((round(0.6 * image.width), round(0.6 * image.height)))


COPIES = {
    "quality": lambda image: image,
    "resized": _resize,
    "cropped": lambda image: image.crop((6, 5, image.width, image.height)),
    "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
    "mirrored": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
}


def copy_of(kind, seed):
    """Return a copy of a photograph as the content of a JPEG file."""
    stream = io.BytesIO()
    image = COPIES[kind](Image.fromarray(photograph(seed)))
    image.save(stream, "JPEG", quality=40 if kind == "quality" else 90)
    return stream.getvalue()


def thumbnail(source):
    """Return the grey thumbnail of a photograph or of the content of a file."""
    image = read_image(source, colour=True) if isinstance(source, bytes) else source
    return make_grey_thumbnail(image)


@dataclass(frozen=True, eq=False)
class CoarseSignature(Signature, kind="test-coarse"):
    """Mean grey values of an image in 8 x 8 cells, the same for its mirror image."""

    @property
    def dim(self):
        return 64

    @property
    def colour(self):
        return True

    def describe(self, image):
        cells = cv2.resize(image[:, :, 0], (8, 8), interpolation=cv2.INTER_AREA) / np.float32(255)
        return (cells + cells[:, ::-1]).reshape(-1).astype(np.float32)
