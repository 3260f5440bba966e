"""The rows of `highly_multiclass.py`: Omniglot, drawn glyphs, other images, or a file of rows."""

from __future__ import annotations

import argparse
import sys
import tempfile
import zipfile
from pathlib import Path

import cv2
import numpy as np
from image_folders import select_readable

from myriad.images import choose_glyphs, find_images, read_image, write_glyphs
from myriad.store import ArrayRows

GLYPHS = 2000
FEWEST = 8
"""Rows of a class that are enough to train, to validate and to test on."""


def describe(picture: np.ndarray) -> np.ndarray:
    """Return a histogram of gradient orientations in a grid of cells, of norm 1.

    `picture` is float, with bright ink on a dark ground.
    """
    picture = cv2.resize(
        cv2.GaussianBlur(picture, (0, 0), 1.5), (64, 64), interpolation=cv2.INTER_AREA
    )
    dx, dy = cv2.Sobel(picture, cv2.CV_32F, 1, 0), cv2.Sobel(picture, cv2.CV_32F, 0, 1)
    strength, angle = np.hypot(dx, dy), (np.arctan2(dy, dx) * (4 / np.pi)) % 8
    low = np.floor(angle)
    cells = []
    for o in range(8):
        near = np.where(low % 8 == o, 1 - (angle - low), 0) + np.where(
            (low + 1) % 8 == o, angle - low, 0
        )
        blurred = cv2.GaussianBlur((strength * near).astype(np.float32), (0, 0), 4)
        cells.append(cv2.resize(blurred, (8, 8), interpolation=cv2.INTER_AREA))
    row = np.sqrt(np.concatenate(cells, axis=None))
    return row / max(float(np.linalg.norm(row)), 1e-12)


def read_data(path: Path, n_classes: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of the first classes: of Omniglot, of a file of rows, or of images."""
    if path.suffix != ".npz":
        images = select_readable(find_images(path))
        kept, labels = number_classes(images.labels, n_classes, path)
        pictures = (read_image(images.read(int(i))) for i in kept)
        return np.stack([describe(255.0 - p.astype(np.float32)) for p in pictures]), labels
    try:
        with np.load(path) as stored:
            X, y = stored["X"], stored["y"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        sys.exit(f"{path} cannot be used: a .npz file needs the arrays X and y.")
    if X.ndim not in (2, 3) or len(X) != len(y):
        sys.exit(f"{path} cannot be used: X has the shape {X.shape}, and y {y.shape}.")
    if X.ndim == 2:
        kept, labels = number_classes(np.unique(y, return_inverse=True)[1], n_classes, path)
        return X[kept].astype(np.float32), labels
    kept = y < (n_classes or len(y))
    drawings = np.unpackbits(X[kept], axis=-1)[..., :105]
    rows = np.stack([describe(1.0 - drawing.astype(np.float32)) for drawing in drawings])
    return rows, y[kept].astype(np.int32)


def number_classes(
    labels: np.ndarray, n_classes: int | None, path: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the first classes with at least `FEWEST` rows, and their new labels."""
    counts = np.bincount(labels[labels >= 0])
    large = np.flatnonzero(counts >= FEWEST)[:n_classes]
    if len(large) < 3:
        sys.exit(f"{path} has fewer than three classes of {FEWEST} images or more.")
    few = int(((counts > 0) & (counts < FEWEST)).sum())
    if few:
        print(f"Left out: {few} classes of {path.name}, which have fewer than {FEWEST} images.")
    numbers = np.full(len(counts) + 1, -1, np.int32)  # the last is for unknown labels
    numbers[large] = np.arange(len(large))
    kept = np.flatnonzero(numbers[labels] >= 0)
    return kept, numbers[labels[kept]]


def draw_glyphs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of characters drawn with noise; see `myriad demo`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glyphs"
        write_glyphs(path, choose_glyphs(n_classes), images=20, seed=0, splits=(1.0, 0, 0))
        images = find_images(path)
        rows = [
            describe(255.0 - cv2.imread(images.locate(i), 0).astype(np.float32))
            for i in range(len(images))
        ]
        return np.stack(rows), images.labels


def read_rows(options: argparse.Namespace, n_classes: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels, from the file that keeps them if there is one."""
    if options.rows is not None and options.rows.exists():
        with np.load(options.rows) as kept:
            return kept["X"], kept["y"]
    if options.data is None:
        X, y = draw_glyphs(n_classes or GLYPHS)
    else:
        X, y = read_data(options.data, n_classes)
    if options.rows is not None:
        np.savez(options.rows, X=X, y=y)
    return X, y


def split(X: np.ndarray, y: np.ndarray, seed: int) -> list[ArrayRows]:
    """Return training, validation and test rows; test rows are the same for all seeds.

    Of 20 rows of a class 15 train, 2 validate and 3 test; other numbers are divided in proportion.
    """
    by_class = shuffle(np.arange(len(y)), y, 0)
    sizes = np.bincount(y)
    position, size = 20 * np.concatenate([np.arange(n) for n in sizes]), np.repeat(sizes, sizes)
    tested = position >= 17 * size
    learned = by_class[~tested]
    learned = shuffle(learned, y[learned], seed + 1)
    order = np.empty_like(by_class)
    order[~tested], order[tested] = learned, by_class[tested]
    names = [str(c) for c in range(int(y.max()) + 1)]
    trained = position < 15 * size
    parts = (trained, ~trained & ~tested, tested)
    return [ArrayRows(X[order[part]], y[order[part]], names) for part in parts]


def shuffle(rows: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """Return rows in the order of their labels, those of a label in random order."""
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows[order[np.argsort(labels[order], kind="stable")]]
