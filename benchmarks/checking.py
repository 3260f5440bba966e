"""What ``myriad check`` adds to the time of describing images: the search for near duplicates.

    python benchmarks/checking.py                    # 100,000 rows, about two minutes on one core
    python benchmarks/checking.py --rows 20000
    python benchmarks/checking.py --out benchmarks/results/checking.json

Rows of 1,280 features are drawn around 1,000 class means, such that the centred rows of a class
have a mean cosine of about 0.5, as those of photographs described by a network have; the thumbnails
are drawn at random, smooth. One row in a hundred is a copy of another one with little noise. The
time of describing is that of EfficientNet-Lite0 for a drawn image of 300 x 200 pixels, times the
number of rows. Both are times of the processor.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from record import describe_run, write_results

from myriad.checks.alignment import THUMBNAIL_SIDE
from myriad.checks.duplicates import find_equal, find_near_images
from myriad.pipelines.checking.check import SIGNATURE
from myriad.signatures.registry import open_network
from myriad.store import ArrayRows

DIM, CLASSES = 1280, 1000
COPIED = 0.01
HEIGHT, WIDTH = 200, 300


def draw_rows(n_rows: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, thumbnails, and the row that each is a copy of, itself for most of them."""
    means = draws.standard_normal((CLASSES, DIM), np.float32)
    rows = draws.standard_normal((n_rows, DIM), np.float32)
    rows += means[draws.integers(0, CLASSES, n_rows)]
    noise = draws.standard_normal((n_rows, THUMBNAIL_SIDE, THUMBNAIL_SIDE), np.float32)
    thumbnails = np.stack([cv2.GaussianBlur(one, (0, 0), 1.5) for one in noise])
    thumbnails = np.clip(128 + 200 * thumbnails, 0, 255).astype(np.uint8)
    source = np.arange(n_rows)
    copies = draws.permutation(n_rows)[: 2 * round(COPIED * n_rows)].reshape(2, -1)
    source[copies[0]] = copies[1]
    few = draws.standard_normal((copies.shape[1], DIM), np.float32)
    rows[copies[0]] = rows[copies[1]] + 0.3 * few
    thumbnails[copies[0]] = thumbnails[copies[1]]
    return rows, thumbnails, source


def measure(n_rows: int, n_images: int) -> dict[str, Any]:
    """Return the times of describing and of checking, and the copies that were found."""
    draws = np.random.default_rng(0)
    network = open_network(SIGNATURE)
    image = draws.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    network.describe(image)
    began = time.process_time()
    for _ in range(n_images):
        network.describe(image)
    describing = (time.process_time() - began) / n_images * n_rows
    rows, thumbnails, source = draw_rows(n_rows, draws)
    began = time.process_time()
    found = find_near_images(ArrayRows(rows), thumbnails, threads=1)
    find_equal([one.tobytes() for one in thumbnails])
    checking = time.process_time() - began
    pairs = {(one.first, one.second) for one in found}
    planted = [(min(i, j), max(i, j)) for i, j in enumerate(source.tolist()) if i != j]
    return {
        "rows": n_rows,
        "seconds of describing": round(describing, 1),
        "seconds of checking": round(checking, 1),
        "percent of describing": round(100 * checking / describing, 2),
        "copies planted": len(planted),
        "copies found": sum(pair in pairs for pair in planted),
        "other pairs": len(pairs - set(planted)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = measure(given.rows, given.images)
    for name, value in found.items():
        print(f"{name:<24}{value}")
    write_results(given.out, {**describe_run(), "results": found})


if __name__ == "__main__":
    main()
