"""Fisher vectors of Scene 15, chosen or compressed: [CC, Figures 1 and 5], and presence bits.

    python recipes/choose_or_compress.py --data scene15 --out FILE.json
    python recipes/choose_or_compress.py --quick                 # drawn glyphs, seconds
    python recipes/evidence.py docs/evidence.md                  # the results as tables

`--data` is a folder or an archive with `train/CLASS/IMAGE` and `test/CLASS/IMAGE`, of which 60 and
50 images a class are drawn. Fisher vectors of 64 Gaussians over 4 regions (32,768 features), dense
SIFT. First the correlations of features: the share of pairs with |r| < 0.2, over 1,000 random
features, a tenth of a region, and all features of a Gaussian. Then one-vs-rest support vector
machines (squared hinge, in the dual, lam searched on a fifth of the training rows) on the rows of
each code at each ratio; training and test rows are coded alike. Codes are learned from the training
rows. `random` keeps random features as sign bits instead of those with the most information.

Each result is written to `--out` as soon as it is known; `--rows FILE` keeps the rows. Five minutes
on one core, most of it for the rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.codes import CODES, CodeOptions, Source, learn_bits
from myriad.codes.presence import find_cells
from myriad.images import choose_glyphs, find_images, read_image, write_glyphs
from myriad.parallel import LearningContext
from myriad.pipelines.code_learning import inform
from myriad.signatures.fisher import learn_fisher
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context

sys.path.insert(0, str(Path(__file__).parent))
from results import Results, need

COUNTS = {"train": 60, "test": 50}
RATIOS = (32, 64, 128, 256)
LINES = ("pq", "bits", "presence", "hadamard", "bilinear", "random")
QUICK_LINES = ("bits", "presence", "random")
WEAK = 0.2
"""Correlations below this count as none  [CC, 3.1]."""


def describe(data: Path, counts: dict[str, int], gaussians: int) -> dict[str, np.ndarray]:
    """Return rows and labels of some images of each split, and the cell of each feature."""
    images = find_images(data)
    chosen = {}
    for split, count in counts.items():
        chosen[split] = [
            int(i)
            for c in range(len(images.class_names))
            for i in draw(np.flatnonzero((images.labels == c) & (images.splits == split)), count, c)
        ]
    pictures = {split: [read_image(images.read(i)) for i in some] for split, some in chosen.items()}
    signature = learn_fisher(
        pictures["train"][::3], n_components=gaussians, regions=4, sample=60_000, threads=1
    )
    found: dict[str, np.ndarray] = {"cells": signature.cells}
    for split, some in chosen.items():
        found[split] = np.stack([signature.describe(picture) for picture in pictures[split]])
        found[f"{split}_labels"] = images.labels[some]
    return found


def draw(numbers: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return some of the numbers, in random order."""
    return numbers[np.random.default_rng(seed).permutation(len(numbers))[:count]]


def correlate(X: np.ndarray, cells: np.ndarray) -> dict[str, Any]:
    """Return the share of weakly correlated pairs of features, for three kinds of pairs."""
    rng = np.random.default_rng(0)
    region = X.shape[1] // 4
    subsets = {
        "random": rng.permutation(X.shape[1])[:1000],
        "same region": region + rng.permutation(region)[: region // 10],
        "same Gaussian": np.flatnonzero(cells == cells[region]),
    }
    shares = {}
    for name, some in subsets.items():
        Z = X[:, some].astype(np.float64)
        Z = Z[:, np.abs(Z).sum(axis=0) > 0]
        Z /= np.linalg.norm(Z, axis=0)
        r = (Z.T @ Z)[np.triu_indices(Z.shape[1], 1)]
        shares[name] = round(100 * float((np.abs(r) < WEAK).mean()), 2)
    present = find_cells(X, cells).find_present(X)
    return {"weak": shares, "empty": round(100 * float(1 - present.mean()), 1), "seconds": 0.0}


def code_rows(line: str, ratio: int, rows: ArrayRows, test: np.ndarray, cells: np.ndarray) -> Any:
    """Return the code of a line, and training and test rows as it decodes them."""
    context = LearningContext(threads=1)
    if line == "none":
        return None, rows.X, test
    source = Source(rows.X, None, rows.dim // 4, cells)
    if line == "random":
        count = 32 * rows.dim // ratio
        drawn = np.random.default_rng(0).random(rows.dim)
        code = learn_bits(rows.X, n_bits=count, information=drawn)
    else:
        options = CodeOptions(line, ratio)
        source = replace(source, information=inform(rows, source, options, context))
        code = CODES[line].learn(source, options, context)
    return code, code.decode(code.encode(rows.X)), code.decode(code.encode(test))


def train(line: str, ratio: int, found: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the accuracy of one line at one ratio."""
    began = time.process_time()
    names = [str(c) for c in range(int(found["train_labels"].max()) + 1)]
    rows = ArrayRows(found["train"], found["train_labels"], names)
    code, X, test = code_rows(line, ratio, rows, found["test"], found["cells"])
    held = np.arange(len(X)) % 5 == 0
    y = rows.labels
    parts = [ArrayRows(X[some], y[some], names) for some in (~held, held)]
    method = BinaryDual(loss="squared_hinge")
    context, n_classes = Context(threads=1), len(names)
    lam = method.fit(*parts, n_classes=n_classes, context=context).settings["lam"]
    method = replace(method, lam=lam * len(parts[0].labels) / len(y))
    model = method.fit(ArrayRows(X, y, names), None, n_classes=n_classes, context=context).model
    ranks, _ = model.judge(test, found["test_labels"])
    right = np.bincount(found["test_labels"], ranks == 1) / np.bincount(found["test_labels"])
    return {
        "class_top1": round(100 * float(right.mean()), 2),
        "ratio": 1.0 if code is None else round(code.ratio, 2),
        "lam": lam,
        "seconds": round(time.process_time() - began, 1),
    }


def main() -> None:
    """Run all lines, print, and write the results down if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder or archive with train/ and test/")
    parser.add_argument("--quick", action="store_true", help="glyphs instead of --data")
    parser.add_argument("--rows", type=Path, help="a file that keeps the rows of the images")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    ratios, lines = (RATIOS[:1], QUICK_LINES) if options.quick else (RATIOS, LINES)
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            write_glyphs(Path(folder), choose_glyphs(10), images=40, seed=0, splits=(0.8, 0, 0.2))
            found = describe(Path(folder), COUNTS, 2)
    elif options.rows is not None and options.rows.exists():
        found = dict(np.load(options.rows))
    else:
        data = need(options.data, "images in train/CLASS and test/CLASS")
        found = describe(data, COUNTS, 64)
        if options.rows is not None:
            np.savez(options.rows, **found)
    results = Results(options.out, {"recipe": "choose_or_compress", "quick": options.quick})
    told = results.fill("correlations", lambda: correlate(found["train"], found["cells"]))
    print(f"|r| < {WEAK}, %: {told['weak']}; empty cells: {told['empty']} %", flush=True)
    for line, ratio in [("none", 1), *((line, ratio) for line in lines for ratio in ratios)]:
        cell = results.fill(f"{line}/{ratio}", lambda a=line, b=ratio: train(a, b, found))
        shown = f"{cell['class_top1']:6.2f} %  {cell['seconds']:6.1f} s"
        print(f"{line:<9} {ratio:>4} ({cell['ratio']:.1f})  {shown}", flush=True)


if __name__ == "__main__":
    main()
