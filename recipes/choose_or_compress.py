"""Fisher vectors of Scene 15, chosen or compressed: [CC, Figures 1 to 7], and presence bits.

    python recipes/choose_or_compress.py --data scene15 --rows FOLDER --out FILE.json
    python recipes/choose_or_compress.py --data scene15 --gaussians 256 --out FILE.json
    python recipes/choose_or_compress.py --quick                 # drawn glyphs, seconds
    python recipes/evidence.py docs/evidence.md                  # the results as tables and a plot

`--data` is a folder or an archive with `train/CLASS/IMAGE` and `test/CLASS/IMAGE`, of which at most
100 and 1,000 images per class are drawn. Fisher vectors of 128 Gaussians over 8 regions (131,072
features), as in Figures 1 to 3; Figures 4 to 7 have 256 (`--gaussians`), for which, as for other
numbers, fewer lines are run. Dense SIFT. First the features by themselves: correlations (the share
of pairs with |r| < 0.2 among 1,000 random features, a tenth of a region, and all features of a
Gaussian), the share of features whose values are bimodal about 0, and the mutual information of
each feature with the class by the sign and in 2 to 32 bins.

Then each code at each ratio: one-vs-rest support vector machines (squared hinge, in the dual, lam
searched on a fifth of the training rows) on the decoded rows; training and test rows are coded
alike, and codes are learned from the training rows. `random` keeps random features as sign bits
instead of those with the most information. Seconds are processor time: for learning the code and
coding all rows; for decoding the training rows, their inner products, and training with a known lam
(training); and for decoding and scoring the test rows (testing). `right` holds the bits of the
test images that were recognised, so that two lines can be compared image by image, and `rows` a
fingerprint of the Fisher vectors: two lines are compared only if it is the same, since vocabularies
that are learned on different machines differ.

Each result is written to `--out` as soon as it is known; `--rows FOLDER` keeps the rows. On one
core: rows four minutes, all codes a quarter of an hour. Expected on Scene 15, mean over classes:
plain rows 88.1; at ratio 32 pq 87.7, bits 85.1, presence 87.1; at ratio 256 pq 84.4, bits 77.2,
presence 85.4; see docs/evidence.md.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.codes import CODES, CodeOptions, Source, learn_bits
from myriad.codes.presence import find_cells
from myriad.codes.registry import BINS
from myriad.errors import InputError
from myriad.images import ImageList, choose_glyphs, read_image, write_glyphs
from myriad.models import LinearModel
from myriad.parallel import LearningContext
from myriad.pipelines.describing.code_learning import measure_information
from myriad.signatures.fisher import learn_fisher
from myriad.store import ArrayRows, feature_information
from myriad.training import BinaryDual, Context

sys.path.insert(0, str(Path(__file__).parent))
from image_folders import choose_classes, find_splits, keep_arrays, select_readable
from photograph_rows import COLUMNS, span
from results import Results, make_parser, need, run_recipe

COUNTS = {"train": 100, "test": 1000}
"""At most so many images of each class."""
TESTED = 256
"""Rows that are decoded and scored at once."""
REGIONS = 8
RATIOS = (32, 256, 1024, 64, 128, 512)
"""In this order, so that an interrupted run has whole columns of a table."""
MOST_OF_PQ = 256
LINES = ("pq", "bits", "presence", "hadamard", "bilinear", "random")
QUICK_LINES = ("bits", "presence", "random")
FEW = {"lines": ("bits", "pq", "presence", "bilinear"), "ratios": (64, 128, 256, 32, 512)}
"""What is run with other numbers of Gaussians: the lines and ratios of Figure 5, and more."""
PAPER = 128
"""Gaussians of Figures 1 to 3; Figures 5 to 7 have 256."""
WEAK = 0.2
"""Correlations below this count as none  [CC, 3.1]."""
BEST = (50, 25, 10, 5, 1)
"""Percentages of the features, the best ones, whose least information is told: points of the axis
of Figure 2."""
USELESS = 0.1
"""Bits of information below which a feature counts as useless  [CC, 3.3]."""


def describe(images: ImageList, gaussians: int) -> dict[str, np.ndarray]:
    """Return rows and labels of some images of each split, and the cell of each feature."""
    images = choose_classes(select_readable(images))
    chosen = {}
    for split, count in COUNTS.items():
        chosen[split] = [
            int(i)
            for c in range(len(images.class_names))
            for i in draw(np.flatnonzero((images.labels == c) & (images.splits == split)), count, c)
        ]
    learned = [read_image(images.read(i)) for i in chosen["train"][::3]]
    signature = learn_fisher(
        learned, n_components=gaussians, regions=REGIONS, coordinates=False, threads=1
    )
    found: dict[str, np.ndarray] = {"cells": signature.cells}
    for split, some in chosen.items():
        rows = (signature.describe(read_image(images.read(i))) for i in some)
        found[split] = np.stack(list(rows))
        found[f"{split}_labels"] = images.labels[some]
    return found


def draw(numbers: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return some of the numbers, in random order."""
    return numbers[np.random.default_rng(seed).permutation(len(numbers))[:count]]


def correlate(X: np.ndarray, cells: np.ndarray) -> dict[str, Any]:
    """Return the share of weakly correlated pairs of features, for three kinds of pairs."""
    began = time.process_time()
    rng = np.random.default_rng(0)
    region = X.shape[1] // REGIONS
    subsets = {
        "random": rng.permutation(X.shape[1])[:1000],
        "same region": region + rng.permutation(region)[: region // 10],
        "same Gaussian": np.flatnonzero(cells == cells[region]),
    }
    shares = {}
    for name, some in subsets.items():
        Z = X[:, some].astype(np.float64)
        Z -= Z.mean(axis=0)
        Z = Z[:, np.abs(Z).sum(axis=0) > 0]
        Z /= np.linalg.norm(Z, axis=0)
        r = (Z.T @ Z)[np.triu_indices(Z.shape[1], 1)]
        shares[name] = round(100 * float((np.abs(r) < WEAK).mean()), 2)
    present = find_cells(X, cells).find_present(X)
    return {
        "weak": shares,
        "empty": round(100 * float(1 - present.mean()), 1),
        "seconds": round(time.process_time() - began, 1),
    }


def find_modes(X: np.ndarray, cells: np.ndarray) -> dict[str, Any]:
    """Return the percentage of features with fewer values near 0 than on either side  [CC, Fig. 3].

    Near is at most a quarter of the root of the mean square; the sides are as wide, and next to it.
    All values are counted, and those of cells that are not empty.
    """
    began = time.process_time()
    found = {"all values": 0, "cells that are not empty": 0}
    here = find_cells(X, cells).find_present(X)
    for start in range(0, X.shape[1], COLUMNS):
        Z = X[:, start : start + COLUMNS]
        shown = here[:, cells[start : start + COLUMNS]] > 0
        for name, kept in zip(found, (np.ones_like(shown), shown), strict=True):
            squares = np.square(Z * kept).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)
            scaled = 4 * Z / np.maximum(np.sqrt(squares), 1e-12)
            near = ((np.abs(scaled) <= 1) & kept).sum(axis=0)
            sides = [((s > 1) & (s <= 3) & kept).sum(axis=0) for s in (scaled, -scaled)]
            found[name] += int((near < np.minimum(*sides)).sum())
    shares = {name: round(100 * count / X.shape[1], 1) for name, count in found.items()}
    return {"bimodal": shares, "seconds": round(time.process_time() - began, 1)}


def find_useless(rows: ArrayRows) -> dict[str, Any]:
    """Return the percentage of features with little information, by quantiser  [CC, Figure 2]."""
    began = time.process_time()
    useless, median = {}, {}
    quantiles: dict[str, dict[str, float]] = {str(share): {} for share in BEST}
    for bins in (None, *BINS):
        values = feature_information(rows, bins=bins, threads=1)
        name = "sign" if bins is None else f"{bins} bins"
        useless[name] = round(100 * float((values < USELESS).mean()), 1)
        median[name] = round(float(np.median(values)), 4)
        for share in BEST:
            quantiles[str(share)][name] = round(float(np.quantile(values, 1 - share / 100)), 4)
    seconds = round(time.process_time() - began, 1)
    return {"useless": useless, "median": median, "quantiles": quantiles, "seconds": seconds}


def find_spread(rows: ArrayRows, cells: np.ndarray) -> dict[str, Any]:
    """Return how few cells hold the features with the most information, in percent, by ratio.

    Half of the chosen features lie in so many of the cells; of random features, in half of them.
    """
    began = time.process_time()
    order = np.argsort(-feature_information(rows, bins=None, threads=1), kind="stable")
    shares = {}
    for ratio in sorted(RATIOS)[1:]:
        chosen = order[: 32 * rows.dim // ratio]
        held = np.sort(np.bincount(cells[chosen], minlength=int(cells.max()) + 1))[::-1]
        half = int(np.searchsorted(np.cumsum(held), len(chosen) / 2)) + 1
        shares[str(ratio)] = round(100 * half / len(held), 1)
    return {"cells of half": shares, "seconds": round(time.process_time() - began, 1)}


def learn(line: str, ratio: int, rows: ArrayRows, cells: np.ndarray) -> Any:
    """Return the code of a line."""
    context = LearningContext(threads=1)
    source = Source(rows.X, None, rows.dim // REGIONS, cells)
    if line == "random":
        count = 32 * rows.dim // ratio
        drawn = np.random.default_rng(0).random(rows.dim)
        return learn_bits(rows.X, n_bits=count, information=drawn)
    options = CodeOptions(line, ratio)
    source = replace(source, information=measure_information(rows, source, options, context))
    return CODES[line].learn(source, options, context)


def train(line: str, ratio: int, found: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the accuracy of one line at one ratio, and the times of its parts."""
    names = [str(c) for c in range(int(found["train_labels"].max()) + 1)]
    rows, truths = ArrayRows(found["train"], found["train_labels"], names), found["test_labels"]
    clock = [time.process_time()]
    code, X, test = None, rows.X, found["test"]
    if line != "none":
        code = learn(line, ratio, rows, found["cells"])
        X, test = code.encode(X), code.encode(test)
    clock.append(time.process_time())
    X = X if code is None else code.decode(X)
    L = span(X) if X.shape[1] > len(X) else None  # the same inner products, fewer columns
    seen = X if L is None else L.astype(np.float32)
    clock.append(time.process_time())
    model, lam, fitting = fit(ArrayRows(seen, rows.labels, names))
    if L is not None:
        weights = np.linalg.solve(L.T, model.weights.T).astype(np.float32).T @ X
        model = LinearModel(weights, model.biases)
    clock.append(time.process_time())
    ranks = []
    for start in range(0, len(test), TESTED):
        some = slice(start, start + TESTED)
        part = test[some] if code is None else code.decode(test[some])
        ranks.append(model.rank_true_labels(part, truths[some])[0])
    clock.append(time.process_time())
    right = np.concatenate(ranks) == 1
    coding, decoding, _, testing = np.diff(clock)
    return {
        "class_top1": round(
            100 * float((np.bincount(truths, right) / np.bincount(truths)).mean()), 2
        ),
        "right": np.packbits(right).tobytes().hex(),
        "ratio": 1.0 if code is None else round(code.ratio, 2),
        "lam": lam,
        "coding": round(float(coding), 2),
        "training": round(float(decoding + fitting), 2),
        "testing": round(float(testing), 2),
        "seconds": round(clock[-1] - clock[0], 1),
    }


def fit(rows: ArrayRows) -> tuple[LinearModel, float, float]:
    """Return the model of all rows with a lam found on a fifth of them, that lam, and seconds."""
    n_classes, context = len(rows.class_names), Context(threads=1)
    held, method = np.arange(rows.n_rows) % 5 == 0, BinaryDual(loss="squared_hinge")
    parts = [ArrayRows(rows.X[some], rows.labels[some]) for some in (~held, held)]
    lam = method.fit(*parts, n_classes=n_classes, context=context).settings["lam"]
    began = time.process_time()
    method = replace(method, lam=lam * parts[0].n_rows / rows.n_rows)  # the same C = 1 / (lam n)
    model = method.fit(rows, None, n_classes=n_classes, context=context).model
    assert isinstance(model, LinearModel)
    return model, lam, time.process_time() - began


def hash_rows(X: np.ndarray) -> str:
    """Return a fingerprint of rows: another machine may learn another vocabulary."""
    return hashlib.sha256(np.ascontiguousarray(X[:: max(1, len(X) // 16)])).hexdigest()[:12]


def load(options: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return the rows, from the folder that keeps them if they are there."""
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            write_glyphs(Path(folder), choose_glyphs(10), images=20, seed=0, splits=(0.8, 0, 0.2))
            return describe(find_splits(Path(folder)), options.gaussians)
    data = need(options.data, "images in train/CLASS and test/CLASS")
    images, size = find_splits(data), options.gaussians
    return keep_arrays(options.rows, f"{data.stem}-{size}", images, lambda: describe(images, size))


def main() -> None:
    """Run all lines, print, and write the results down if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder or archive with train/ and test/")
    parser.add_argument("--gaussians", type=int, default=PAPER, help="of the mixture")
    parser.add_argument("--quick", action="store_true", help="glyphs instead of --data")
    parser.add_argument("--rows", type=Path, help="a folder that keeps the rows of the images")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    lines, ratios = LINES, RATIOS
    if options.quick:
        options.gaussians, lines, ratios = 2, QUICK_LINES, RATIOS[:1]
    elif options.gaussians != PAPER:
        lines, ratios = FEW["lines"], FEW["ratios"]  # type: ignore[assignment]
    found = load(options)
    described = {"recipe": "choose_or_compress", "quick": options.quick}
    described |= {"data": "glyphs" if options.quick else options.data.stem}
    described |= {f"{split}_rows": len(found[split]) for split in COUNTS}
    described |= {"test_counts": np.bincount(found["test_labels"]).tolist()}
    results = Results(options.out, described)
    size = options.gaussians
    told = results.fill(f"{size}/correlations", lambda: correlate(found["train"], found["cells"]))
    print(f"|r| < {WEAK}, %: {told['weak']}; empty cells: {told['empty']} %", flush=True)
    told = results.fill(f"{size}/modes", lambda: find_modes(found["train"], found["cells"]))
    print(f"features with two modes, %: {told['bimodal']}", flush=True)
    rows = ArrayRows(found["train"], found["train_labels"])
    told = results.fill(f"{size}/information", lambda: find_useless(rows))
    print(f"information below {USELESS} bits, %: {told['useless']}", flush=True)
    told = results.fill(f"{size}/selection", lambda: find_spread(rows, found["cells"]))
    print(f"cells that hold half of the chosen features, %: {told['cells of half']}", flush=True)
    fingerprint = hash_rows(found["train"])
    asked = [(line, ratio) for ratio in ratios for line in lines]
    if options.gaussians != PAPER:
        asked.sort(key=lambda one: lines.index(one[0]))
    for line, ratio in [("none", 1), *asked]:
        if line == "pq" and ratio > MOST_OF_PQ:
            continue
        name = f"{size}/{line}/{ratio}"
        try:
            cell = results.fill(
                name,
                lambda line=line, ratio=ratio: train(line, ratio, found) | {"rows": fingerprint},
            )
        except InputError as error:  # a code that needs more rows
            print(f"{size} {line:<9} {ratio:>4} not run: {error}", flush=True)
            continue
        shown = f"{cell['class_top1']:6.2f} %  {cell['seconds']:6.1f} s"
        print(f"{size} {line:<9} {ratio:>4} ({cell['ratio']:.1f})  {shown}", flush=True)


if __name__ == "__main__":
    run_recipe(main)
