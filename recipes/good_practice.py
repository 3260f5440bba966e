"""Objectives for SGD side by side: [GP, Table 2, Figures 1 and 3].

    python recipes/good_practice.py --data tiny200.zip --classes 100 --out FILE.json
    python recipes/good_practice.py --quick                      # drawn glyphs, under a minute
    python recipes/evidence.py docs/evidence.md                  # the results as tables

`--data` is a folder or an archive with `train/CLASS/IMAGE` and `test/CLASS/IMAGE`. Dense SIFT,
bags of 1,024 visual words and Fisher vectors of 16 to 256 Gaussians, no pyramid. The objectives are
one-vs-rest with all negatives (u-OVR) and with `beta` of them for each positive (w-OVR),
multiclass, ranking and WARP; learning rate and beta are searched on a fifth of the training images
of each class (`beta` is given for the lines of Figure 1), and training stops at the best epoch on
them. Test images are measured once. A seed draws which images validate.

Each result is written to `--out` as soon as it is known; `--features` and `--seeds` run some of
them, `--rows FOLDER` keeps the rows of the images. With 100 classes of 50 training images, 16 and
64 Gaussians and one seed: a quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myriad import BagOfVisualWords, FisherVector
from myriad.images import choose_glyphs, find_images, read_image, write_glyphs
from myriad.store import ArrayRows
from myriad.training import SGD, Context

sys.path.insert(0, str(Path(__file__).parent))
from results import Results, need

OBJECTIVES = {
    "u-OVR": {"objective": "ovr", "beta": math.inf},
    "w-OVR": {"objective": "ovr"},
    "MUL": {"objective": "multiclass"},
    "RNK": {"objective": "ranking"},
    "WAR": {"objective": "warp"},
}
BETAS = (1, 4, 16, 64)
"""Of Figure 1; all negatives are u-OVR."""


def read_images(
    data: Path, n_classes: int, most: int
) -> dict[str, tuple[list[np.ndarray], np.ndarray]]:
    """Return images and labels of the first classes by split, at most so many of each class."""
    images = find_images(data)
    found = {}
    for split in ("train", "test"):
        kept = [
            i
            for c in range(n_classes)
            for i in np.flatnonzero((images.labels == c) & (images.splits == split))[:most]
        ]
        pictures = [read_image(images.read(int(i))) for i in kept]
        found[split] = pictures, images.labels[kept]
    return found


def describe(name: str, pictures: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the rows of all images: `bov` with a number of words, `fv` with one of Gaussians."""
    kind, size = name.split("-")
    shared: dict[str, Any] = {"regions": 1, "threads": 1}
    if kind == "bov":
        signature: Any = BagOfVisualWords(n_words=int(size), **shared)
    else:
        signature = FisherVector(n_components=int(size), **shared)
    signature.fit(pictures["train"][:: max(1, len(pictures["train"]) // 1000)])
    return {split: signature.transform(some) for split, some in pictures.items()}


def split_rows(X: np.ndarray, y: np.ndarray, seed: int, names: list[str]) -> list[ArrayRows]:
    """Return the rows to train and to validate on: a fifth of each class validates."""
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    number = np.concatenate([np.arange(n) for n in np.bincount(y)])
    validates = number % 5 == 0
    return [ArrayRows(X[order[some]], y[order[some]], names) for some in (~validates, validates)]


def list_methods(epochs: int, betas: bool) -> Iterator[tuple[str, SGD]]:
    """Yield the lines: the objectives, and one-vs-rest with each `beta`."""
    for name, options in OBJECTIVES.items():
        yield name, SGD(epochs=epochs, **options)
    if betas:
        for beta in BETAS:
            yield f"beta={beta}", SGD(objective="ovr", beta=float(beta), epochs=epochs)


def train(method: SGD, parts: list[ArrayRows], test: ArrayRows) -> dict[str, Any]:
    """Return the accuracies of a method whose open settings are searched."""
    began = time.process_time()
    rows, val = parts
    fitted = method.fit(rows, val, n_classes=len(rows.class_names), context=Context(threads=1))
    ranks, _ = fitted.model.judge(test.X, test.labels)
    return {
        "top1": round(100 * float((ranks == 1).mean()), 2),
        "top5": round(100 * float((ranks <= 5).mean()), 2),
        "dim": rows.dim,
        "epochs": fitted.epochs,
        "settings": fitted.settings,
        "seconds": round(time.process_time() - began, 1),
    }


def draw_images(folder: Path) -> Path:
    """Draw glyphs for a quick run."""
    write_glyphs(folder, choose_glyphs(10), images=12, seed=0, splits=(0.7, 0, 0.3))
    return folder


def main() -> None:
    """Run all features and objectives, print, and write the results down if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder or archive with train/ and test/")
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--images", type=int, default=50, help="of each class and split, at most")
    parser.add_argument("--features", help="bov-1024,fv-16,fv-64,fv-256 by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="glyphs instead of --data")
    parser.add_argument("--rows", type=Path, help="a folder that keeps the rows of the images")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    if options.quick:
        options.classes, options.epochs = 10, 2
    usual = "bov-8,fv-2" if options.quick else "bov-1024,fv-16,fv-64,fv-256"
    with tempfile.TemporaryDirectory() as folder:
        what = "images in train/CLASS and test/CLASS"
        data = draw_images(Path(folder)) if options.quick else need(options.data, what)
        images = read_images(data, options.classes, options.images)
    names = [str(c) for c in range(options.classes)]
    described = {"recipe": "good_practice", "data": data.stem, "classes": options.classes}
    if options.quick:
        described["data"] = "glyphs"
    results = Results(options.out, described | {"images": options.images})
    for feature in (options.features or usual).split(","):
        kept = options.rows / f"{feature}.npz" if options.rows else None
        if kept is not None and kept.exists():
            rows = dict(np.load(kept))
        else:
            rows = describe(feature, {split: found[0] for split, found in images.items()})
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                np.savez(kept, **rows)
        test = ArrayRows(rows["test"], images["test"][1], names)
        for seed in range(options.seeds):
            parts = split_rows(rows["train"], images["train"][1], seed, names)
            for line, method in list_methods(options.epochs, betas=seed == 0):
                cell = results.fill(
                    f"{feature}/{line}/{seed}",
                    lambda method=method, parts=parts, test=test: train(method, parts, test),
                )
                shown = f"{cell['top1']:6.2f} %  {cell['top5']:6.2f} %  {cell['seconds']:7.1f} s"
                print(f"seed {seed}  {feature:<9} {line:<8} {shown}", flush=True)


if __name__ == "__main__":
    main()
