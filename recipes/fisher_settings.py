"""Settings of Fisher vectors, compared by cross-validation inside the training images.

Command:   python recipes/fisher_settings.py --data DATA --work runs/settings
           [--problems caltech101,scene15] [--settings plain,coordinates]
           [--out benchmarks/results/fisher_settings.json] [--table docs/recipes.md]
Time:      one core: 2 to 4 minutes per setting and data set
Expected:  see docs/recipes.md

The training images of the first split of `photographs.py` are described once for each setting, and
no test image is used. The inner products of two images are kept for each of the eight regions of
the pyramid by itself, so that every choice of regions follows from the same description. All rows
of a table share the folds, so that differences are paired; the SVM is that of `exact_svm.py`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from photograph_rows import (
    DATA,
    TRAINING_IMAGES,
    VOCABULARY_IMAGES,
    describe_by,
    describe_colours,
    draw_split,
    load_images,
)
from photograph_tables import TITLES, publish
from photographs import ROOT, save
from results import make_parser, need

RESULTS = ROOT / "benchmarks" / "results" / "fisher_settings.json"
MARKS = "<!-- settings: written by a command -->", "<!-- end of settings -->"

EARLIER: dict[str, Any] = {"root": True, "contrast": 0.001, "keep_empty": True}


def setting(
    n_components: int = 128, *, coordinates: bool = False, **sift: Any
) -> Callable[[], dict[str, Any]]:
    """Return a function that makes the arguments of `learn_fisher`."""
    return lambda: (
        describe_by(**sift)
        | {
            "n_components": n_components,
            "coordinates": coordinates,
        }
    )


SETTINGS: dict[str, Callable[[], dict[str, Any]]] = {
    "earlier": setting(**EARLIER),
    "earlier-256": setting(256, **EARLIER),
    "plain": setting(),
    "plain-256": setting(256),
    "coordinates": setting(coordinates=True),
    "coordinates-256": setting(256, coordinates=True),
    "contrast": setting(contrast=0.001),
    "patch-16": setting(patch=16),
    "step-4": setting(step=4),
    "smoothing": setting(smoothing=1 / 6),
    "colour": lambda: describe_colours() | {"n_components": 128, "coordinates": False},
}
SHOWN = {
    "earlier": "earlier descriptors, 128 Gaussians",
    "earlier-256": "earlier descriptors, 256 Gaussians",
    "plain": "128 Gaussians",
    "plain-256": "256 Gaussians",
    "coordinates": "128 Gaussians, x and y",
    "coordinates-256": "256 Gaussians, x and y",
    "contrast": "128 Gaussians, `--contrast 0.001`",
    "patch-16": "128 Gaussians, patches from 16 pixels",
    "step-4": "128 Gaussians, `--step 4`",
    "smoothing": "128 Gaussians, smoothed as VLFeat does",
    "colour": "128 Gaussians, `--descriptor colour`",
}
PYRAMIDS = {"whole image": [0], "and stripes (4)": [0, 1, 2, 3], "and quarters (8)": [*range(8)]}
BASE = "earlier-256", "and stripes (4)"


def describe(problem: str, name: str, options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return inner products (8, n, n) of the regions and labels (n,), from a file if it is there.

    Each region has norm 1, so that the mean over some regions is the kernel of their pyramid.
    """
    path = options.work / f"{problem}-{name}.npz"
    if path.exists():
        return dict(np.load(path))
    from myriad.images.reading import read_image
    from myriad.signatures import learn_fisher
    from myriad.signatures.fisher import fisher_vectors
    from myriad.signatures.pyramid import pyramid_of

    images = load_images(problem, options.data, options.work)
    first = draw_split(images.labels, TRAINING_IMAGES[problem], 0)
    order = np.random.default_rng(0).permutation(np.flatnonzero(first))[:VOCABULARY_IMAGES]
    settings = SETTINGS[name]() | ({"n_components": options.components} if options.quick else {})
    descriptor, pyramid = settings["descriptor"], pyramid_of(8)

    def read(i: int) -> np.ndarray:
        return read_image(images.read(i), colour=descriptor.colour, min_pixels=descriptor.pixels)

    began = time.perf_counter()
    signature = learn_fisher([read(i) for i in order], threads=1, **settings)
    chosen = np.flatnonzero(first)
    X = np.empty((8, len(chosen), signature.period), np.float32)
    for j, i in enumerate(chosen):
        local = signature.descriptor.describe(read(i))
        projected = signature.project(local)
        X[:, j] = fisher_vectors(projected, local.positions, signature.mixture, pyramid)
    products = np.stack([multiply(np.copysign(np.sqrt(np.abs(x)), x)) for x in X])
    print(f"{problem}, {name}: {time.perf_counter() - began:.0f} s", flush=True)
    found = {"products": products, "labels": images.labels[chosen].astype(np.int64)}
    part = path.with_suffix(".part.npz")
    np.savez(part, **found)
    part.replace(path)
    return found


def multiply(X: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs of rows."""
    products = X @ X.T
    norms = np.sqrt(np.maximum(np.diag(products), 1e-20))
    return products / norms[:, None] / norms


def compare(problem: str, names: list[str], options: argparse.Namespace) -> None:
    """Cross-validate each setting with each pyramid, and write which images were right."""
    from exact_svm import cross_validate

    for name in names:
        results = json.loads(options.out.read_text()) if options.out.exists() else {"cells": {}}
        cells = results["cells"].setdefault(problem, {})
        if name in cells:
            continue
        found = describe(problem, name, options)
        cells[name] = {}
        for pyramid, regions in PYRAMIDS.items():
            correct = cross_validate(found["products"][regions].mean(axis=0), found["labels"])
            accuracy = round(100 * float(correct.mean()), 2)
            cells[name][pyramid] = {"accuracy": accuracy, "correct": pack(correct)}
            print(f"{problem}, {name}, {pyramid}: {accuracy} %", flush=True)
        save(options.out, results)


def pack(correct: np.ndarray) -> str:
    """Return bits as hexadecimal digits, so that later settings can be compared in pairs."""
    return np.packbits(correct).tobytes().hex()


def unpack(text: str) -> np.ndarray:
    """Return the bits of `pack`, with some zeros behind them."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8)).astype(float)


def make_table(results: dict[str, Any]) -> str:
    """Return the results as Markdown, with paired differences from the earlier defaults."""
    lines = [f"{results['date'][:10]}, {results['machine']}."]
    for problem, cells in results["cells"].items():
        known = [name for name in SHOWN if name in cells]
        lines += ["", f"| {TITLES[problem]} | {' | '.join(PYRAMIDS)} |", "|---|---|---|---|"]
        for name in known:
            row = [show(cells, name, pyramid) for pyramid in PYRAMIDS]
            lines.append(f"| {SHOWN[name]} | {' | '.join(row)} |")
    return "\n".join(lines)


def show(cells: dict[str, Any], name: str, pyramid: str) -> str:
    """Return an accuracy, and its difference from that of `BASE` with the standard error."""
    cell = cells[name][pyramid]
    if BASE[0] not in cells or (name, pyramid) == BASE:
        return f"{cell['accuracy']:.1f}"
    before = cells[BASE[0]][BASE[1]]
    ahead = 100 * (unpack(cell["correct"]) - unpack(before["correct"]))
    error = ahead.std() / np.sqrt(len(ahead))
    difference = cell["accuracy"] - before["accuracy"]
    return f"{cell['accuracy']:.1f} ({difference:+.1f} ± {error:.1f})".replace("-", "−")


def main() -> None:
    """Compare what is asked for and is not in the file of results yet."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--work", type=Path, default=Path("runs/settings"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--problems", default="caltech101,scene15")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--quick", action="store_true", help="drawn characters, few Gaussians")
    parser.add_argument("--components", type=int, default=2, help="Gaussians of --quick")
    parser.add_argument("--table", type=Path, nargs="?", const=Path(), help="print, or a page")
    options = parser.parse_args()
    if options.table is not None:
        publish(options.out, options.table, make_table, MARKS)
        return
    if not options.quick:
        need(options.data, DATA)
    options.work.mkdir(parents=True, exist_ok=True)
    for problem in ["glyphs"] if options.quick else options.problems.split(","):
        compare(problem, options.settings.split(","), options)


if __name__ == "__main__":
    main()
