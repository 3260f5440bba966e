"""Small data, drawn from a fixed seed: rows of classes, and images of shapes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

SHAPES = ("ellipse", "rectangle", "triangle", "cross")


@cache
def draw_rows(n_classes: int = 12, n_each: int = 30, dim: int = 24, seed: int = 0) -> Any:
    """Return rows (n, dim) and labels, in random order; classes overlap a little."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).standard_normal((n_classes, dim))
    y = rng.permutation(np.repeat(np.arange(n_classes), n_each))
    X = means[y] + rng.standard_normal((len(y), dim))
    return X.astype(np.float32), y


@cache
def draw_sets(n_classes: int = 12) -> list[list[int]]:
    """Return one to three labels for each row of `draw_rows`, its own first."""
    rng = np.random.default_rng(5)
    _, y = draw_rows(n_classes)
    others = [rng.integers(0, n_classes, rng.integers(0, 3)) for _ in y]
    return [sorted({int(own), *map(int, more)}) for own, more in zip(y, others, strict=True)]


@cache
def draw_images(n_each: int = 10, size: int = 72) -> Any:
    """Return images of shapes, uint8 (size, size, 3), and their labels."""
    rng = np.random.default_rng(1)
    images, labels = [], []
    for number in range(n_each * len(SHAPES)):
        shape = SHAPES[number % len(SHAPES)]
        noise = rng.integers(0, 60, (size, size, 3), dtype=np.uint8)
        picture = Image.fromarray(noise)
        x, y = (int(v) for v in rng.integers(4, 20, 2))
        w, h = (int(v) for v in rng.integers(28, 44, 2))
        colour = tuple(int(v) for v in rng.integers(90, 256, 3))
        _draw(ImageDraw.Draw(picture), shape, (x, y, x + w, y + h), colour)
        images.append(np.asarray(picture))
        labels.append(shape)
    return images, labels


def _draw(draw: Any, shape: str, box: tuple[int, int, int, int], colour: Any) -> None:
    x0, y0, x1, y1 = box
    if shape == "ellipse":
        draw.ellipse(box, fill=colour)
    elif shape == "rectangle":
        draw.rectangle(box, fill=colour)
    elif shape == "triangle":
        draw.polygon([(x0, y1), (x1, y1), ((x0 + x1) // 2, y0)], fill=colour)
    else:
        draw.line([(x0, y0), (x1, y1)], fill=colour, width=7)
        draw.line([(x0, y1), (x1, y0)], fill=colour, width=7)


def write_images(folder: Path) -> Path:
    """Write the images as PNG files, a sub-folder per class; return the folder."""
    images, labels = draw_images()
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / label / f"{number:03}.png")
    return folder


def write_rows(folder: Path) -> Path:
    """Write rows and labels in each format that can be imported; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = draw_rows()
    np.save(folder / "rows.npy", X)
    np.save(folder / "half.npy", X.astype(np.float16))
    np.save(folder / "y.npy", y)
    np.savez(folder / "rows.npz", rows=X, label=y)
    pq.write_table(pa.table({"rows": list(X), "label": y}), folder / "rows.parquet")
    lines = [
        f"{label} " + " ".join(f"{i + 1}:{float(v)!r}" for i, v in enumerate(row))
        for row, label in zip(X, y, strict=True)
    ]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    for name in ("img_emb", "metadata"):
        (folder / "clip" / name).mkdir(parents=True, exist_ok=True)
    np.save(folder / "clip/img_emb/img_emb_0.npy", X)
    table = pa.table({"image_path": [f"{i}.jpg" for i in range(len(X))], "label": y})
    pq.write_table(table, folder / "clip/metadata/metadata_0.parquet")
    (folder / "several.txt").write_text("\n".join(";".join(map(str, s)) for s in draw_sets()))
    X, y = draw_rows(1200, 2, 2048)
    np.save(folder / "wide.npy", X)
    np.save(folder / "wide_y.npy", y)
    return folder
