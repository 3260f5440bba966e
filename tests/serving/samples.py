"""Small models for the tests of the server, made without training."""

from pathlib import Path

import cv2
import numpy as np

from myriad.descriptors import DenseSIFT
from myriad.images import choose_glyphs, read_image, write_glyphs
from myriad.images.thumbnails import make_thumbnail
from myriad.models import (
    ClassPictures,
    HeldScores,
    LinearModel,
    ModelFolder,
    calibrate,
    save_model,
)
from myriad.signatures import learn_fisher

SEED = 0


def make_rows_model(path: Path, n_classes: int = 6, dim: int = 8, seed: int = SEED) -> Path:
    """Write a model of rows; class c is called ``class 00c``."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_classes, dim)).astype(np.float32)
    biases = rng.standard_normal(n_classes).astype(np.float32)
    names = [f"class {c:03d}" for c in range(n_classes)]
    folder = ModelFolder(LinearModel(weights, biases), names, None, {})
    save_model(path, folder, card="A model.")
    return path


def make_image_model(path: Path, photos: Path) -> Path:
    """Write a model of images in folders `photos`: Fisher vectors, means of classes, pictures."""
    names = sorted(folder.name for folder in photos.iterdir())
    files = [sorted((photos / name).iterdir()) for name in names]
    images = [[read_image(file) for file in some] for some in files]
    signature = learn_fisher(
        [image for some in images for image in some],
        n_components=8,
        regions=1,
        descriptor=DenseSIFT(scales=2),
        seed=SEED,
        threads=1,
    )
    rows = np.stack([signature.describe(image) for some in images for image in some])
    means = rows.reshape(len(names), len(images[0]), -1).mean(axis=1)
    model = LinearModel(20 * means, -10 * np.square(means).sum(axis=1))
    labels = np.repeat(np.arange(len(names)), len(images[0])).astype(np.int32)
    held = HeldScores.of(model.scores(rows), labels)
    folder = ModelFolder(
        model, names, signature, {}, calibration=calibrate(held, source="validation")
    )
    thumbnails = [make_thumbnail(some[0]) for some in images]
    pictures = ClassPictures.of([*thumbnails[:-1], None])
    save_model(path, folder, card="A model.", pictures=pictures)
    return path


def write_photos(path: Path) -> Path:
    """Write six images of each of ten letters, in a folder per letter."""
    write_glyphs(path, choose_glyphs(10), images=6, seed=SEED, splits=(1, 0, 0), threads=1)
    return path / "train"


def encode_image(image: np.ndarray, ending: str = ".png") -> bytes:
    """Return an image as a file."""
    done, coded = cv2.imencode(ending, image)
    assert done
    return coded.tobytes()
