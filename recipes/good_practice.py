"""Objectives, imbalance and regularisation of SGD: [GP, Table 2, Figures 1 to 4, recommendations].

    python recipes/good_practice.py --data caltech101.zip --rows FOLDER --seeds 3 --out FILE.json
    python recipes/good_practice.py --quick                      # drawn glyphs, seconds
    python recipes/evidence.py docs/evidence.md                  # the results as tables and plots

`--data` is a folder or an archive with `train/CLASS/IMAGE` and `test/CLASS/IMAGE`, of which the
first `--classes` are taken. Dense SIFT as in the paper; bags of 1,024 visual words over four
regions (4,096 features) and Fisher vectors of 4 to 256 Gaussians of the whole image (512 to 32,768
features). Rows are not centred, as in the paper, except in the lines that say so.

A fifth of the training images of each class, drawn by the seed, chooses the settings: each learning
rate is trained to its end, of at most 60 epochs or of more where an epoch looks at few classes
(`LONGER`), and stopped at its best epoch; a best rate at an end of the grid extends it. The other
seeds keep the rate of the first. w-OVR is the best of all values of beta on validation images. The
test images are measured once: accuracies are means over classes, as in the paper. Figure 2 is that
of the largest of `--features`, with the learning rate and lam of the first seed; a best lam at an
end of its grid, 1e-5 to 0.1, extends it.

Each result is written to `--out` as soon as it is known; `--features` runs some of them, `--short`
leaves reweighted and centred lines out, and `--rows FOLDER` keeps the rows. Caltech-101, 100
classes of 30 training images, on one core: for each feature, rows two minutes and all lines four.

Expected, top-1 of one-vs-rest (w-OVR), multiclass, ranking and WARP on Fisher vectors of 256
Gaussians: 69.3, 69.0, 65.6, 66.2; with one negative per positive 65.4. All are in docs/evidence.md.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from myriad.images import choose_glyphs, write_glyphs
from myriad.store import ArrayRows
from myriad.training import SGD, BinaryDual, Context, Fitted, Method
from myriad.training.optimiser import Schedule

sys.path.insert(0, str(Path(__file__).parent))
from good_practice_rows import Rows, load_rows
from results import Results, make_parser, need, run_recipe

OBJECTIVES: dict[str, dict[str, Any]] = {
    "u-OVR": {"objective": "ovr", "beta": math.inf},
    "MUL": {"objective": "multiclass"},
    "RNK": {"objective": "ranking"},
    "WAR": {"objective": "warp"},
}
BETAS = (1, 4, 16, 64)
"""Of Figure 1; all negatives are u-OVR."""
LONGER = {"RNK": 20, "WAR": 5, "beta=1": 10, "beta=4": 5, "beta=16": 2}
"""How many times longer some lines train: an epoch of theirs looks at few classes for each row, and
with 24 rows per class that adds up to little. The paper has hundreds of rows per class."""
PATIENCE = 8
ETAS = (0.03, 0.1, 0.3)
MOST_EXTENSIONS = 3
CHOSEN = "w-OVR"
"""The line that is the best of all values of beta."""
LAMS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Explicit regularisation of Figure 2, for rows of norm 1."""
CURVE = 200
"""Epochs of Figure 2, none of them stopped early."""
LISTED = 4
"""Best and worst classes of Figure 4."""


def split_rows(rows: Rows, seed: int) -> list[ArrayRows]:
    """Return the rows to train and to validate on: a fifth of each class validates."""
    y = rows.y
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    number = np.concatenate([np.arange(n) for n in np.bincount(y)])
    validates = number % 5 == 0
    return [
        ArrayRows(rows.X[order[some]], y[order[some]], rows.class_names)
        for some in (~validates, validates)
    ]


def list_lines(epochs: int, *, short: bool) -> Iterator[tuple[str, Method]]:
    """Yield the lines: the objectives, every beta and the dual, and what surrounds them.

    Parameters
    ----------
    epochs : at most; see `LONGER`.
    short : leave out the dual, and the reweighted and the centred lines.

    Features are not scaled: the rows of `good_practice_rows.py` allow no such thing.
    """

    def make(name: str, **options: Any) -> SGD:
        times = LONGER.get(name.split(",")[0], 1)
        length = {"epochs": times * epochs, "patience": times * PATIENCE}
        return SGD(**{"scale": False, "center": False} | length | options)

    for name, options in OBJECTIVES.items():
        yield name, make(name, **options)
    for beta in BETAS:
        yield f"beta={beta}", make(f"beta={beta}", objective="ovr", beta=float(beta))
    if short:
        return
    yield "dual", BinaryDual(loss="squared_hinge", center=False)
    for name in ("MUL", "RNK", "WAR"):
        line = f"{name}, reweighted"
        yield line, make(line, balanced=True, **OBJECTIVES[name])
    for name in ("u-OVR", "MUL"):
        line = f"{name}, centred"
        yield line, make(line, **OBJECTIVES[name] | {"center": True})


def train(method: Method, rows: Rows, seed: int, eta: float | None) -> dict[str, Any]:
    """Return the accuracies of a method, its learning rate chosen unless it is given."""
    began = time.process_time()
    part, val = split_rows(rows, seed)
    method = replace(method, seed=seed)
    context, n_classes = Context(threads=1), len(rows.class_names)
    if isinstance(method, SGD):
        tried: dict[float, tuple[float, Fitted]] = {}

        def try_rate(eta: float) -> None:
            fitted = replace(method, eta=eta).fit(part, val, n_classes=n_classes, context=context)
            tried[eta] = max(row["top1"] for row in fitted.history), fitted

        for rate in ETAS if eta is None else (eta,):
            try_rate(rate)
        for _ in range(MOST_EXTENSIONS if eta is None else 0):
            best = find_best(tried)
            beyond = {min(tried): best / 3, max(tried): best * 3}.get(best)
            if beyond is None:
                break
            try_rate(beyond)
        validation, fitted = max(tried.values(), key=lambda found: found[0])
    else:
        fitted = method.fit(part, val, n_classes=n_classes, context=context)
        validation = 100 * float((fitted.model.rank_true_labels(val.X, val.labels)[0] == 1).mean())
    return measure(fitted.model, rows) | {
        "validation": round(validation, 2),
        "dim": rows.dim,
        "epochs": fitted.epochs,
        "settings": fitted.settings,
        "seconds": round(time.process_time() - began, 1),
    }


def measure(model: Any, rows: Rows) -> dict[str, Any]:
    """Return top-1 and top-5 as means over the classes, and the classes at both ends."""
    ranks, _ = model.rank_true_labels(rows.X_test, rows.y_test)
    counts = np.bincount(rows.y_test)
    first, five = (100 * np.bincount(rows.y_test, ranks <= k) / counts for k in (1, 5))
    order = np.argsort(-first, kind="stable")
    ends = {"best": order[:LISTED], "worst": order[-LISTED:]}
    return {
        "top1": round(float(first.mean()), 2),
        "top5": round(float(five.mean()), 2),
        "tested": len(ranks),
        "classes": {
            name: {rows.class_names[c]: round(float(first[c]), 1) for c in some}
            for name, some in ends.items()
        },
    }


def list_strategies(lams: tuple[float, ...]) -> dict[str, tuple[Schedule, tuple[float, ...]]]:
    """Return the three strategies of [GP, Figure 2]: a schedule, and each lam."""
    return {
        "(i) lam, decreasing step": (Schedule("lam"), lams),
        "(ii) lam, fixed step": (Schedule(), lams),
        "(iii) early stopping": (Schedule(), (0.0,)),
    }


def follow(
    strategy: tuple[Schedule, tuple[float, ...]],
    epochs: int,
    rows: Rows,
    seed: int,
    first: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the result of a strategy with the best lam, and its validation accuracy by epoch.

    One-vs-rest with beta = 1; all epochs are trained. The learning rate and lam are chosen on
    validation rows, or are those of the result `first`, that of the first seed; a best lam at an
    end of several extends them.
    """
    began = time.process_time()
    part, val = split_rows(rows, seed)
    context, n_classes = Context(threads=1), len(rows.class_names)
    schedule, lams = strategy
    plain = SGD(objective="ovr", beta=1.0, scale=False, center=False, epochs=epochs, seed=seed)
    plain = plain.without_early_stopping(epochs)
    eta = None
    if first is not None:
        eta, lams = first["settings"]["eta"], (first["settings"]["lam"],)
    tried: dict[float, tuple[float, Fitted]] = {}

    def try_lam(lam: float) -> None:
        method = replace(plain, eta=eta, lam=lam, schedule=schedule)
        fitted = method.fit(part, val, n_classes=n_classes, context=context)
        tried[lam] = max(row["top1"] for row in fitted.history), fitted

    for lam in lams:
        try_lam(lam)
    best = find_best(tried)
    for _ in range(MOST_EXTENSIONS if len(lams) > 1 else 0):
        beyond = {min(tried): best / 10, max(tried): best * 10}.get(best)
        if beyond is None:
            break
        try_lam(beyond)
        best = find_best(tried)
    fitted = tried[best][1]
    return measure(fitted.model, rows) | {
        "dim": rows.dim,
        "curve": [round(row["top1"], 2) for row in fitted.history],
        "tried": {f"{lam:g}": round(top1, 2) for lam, (top1, _) in sorted(tried.items())},
        "epochs": fitted.epochs,
        "settings": fitted.settings,
        "seconds": round(time.process_time() - began, 1),
    }


def find_best(tried: dict[float, tuple[float, Fitted]]) -> float:
    """Return the value of a setting with the best validation accuracy, the first on ties."""
    return max(tried, key=lambda value: tried[value][0])


def order_features(name: str) -> tuple[str, int]:
    """Return the key that sorts features: bags of words, then Fisher vectors by length."""
    kind, _, size = name.partition("-")
    if kind not in ("bov", "fv") or not size.isdigit():
        sys.exit(f"--features knows names such as bov-1024 and fv-64, not {name}.")
    return kind, int(size)


def run_feature(feature: str, rows: Rows, results: Results, options: argparse.Namespace) -> None:
    """Fill the results of one kind of features, and print them."""

    def show(line: str, cell: dict[str, Any], seed: int) -> None:
        shown = f"{cell['top1']:6.2f} %  {cell['top5']:6.2f} %  {cell['seconds']:7.1f} s"
        print(f"seed {seed}  {feature:<9} {line:<22} {shown}", flush=True)

    for seed in range(options.seeds):
        for line, method in list_lines(options.epochs, short=options.short):
            first = results.cells.get(f"{feature}/{line}/0")
            eta = first["settings"].get("eta") if first else None
            compute = partial(train, method, rows, seed, eta)
            show(line, results.fill(f"{feature}/{line}/{seed}", compute), seed)
        names = [f"{feature}/{line}/{seed}" for line in ("u-OVR", *(f"beta={b}" for b in BETAS))]
        best = max((results.cells[name] for name in names), key=lambda cell: cell["validation"])
        show(CHOSEN, results.fill(f"{feature}/{CHOSEN}/{seed}", partial(dict, best)), seed)
    if feature != options.largest:
        return
    epochs, lams = (3, LAMS[1::2]) if options.quick else (CURVE, LAMS)
    for seed in range(options.seeds):
        for line, strategy in list_strategies(lams).items():
            first = results.cells.get(f"{feature}/{line}/0")
            compute = partial(follow, strategy, epochs, rows, seed, first)
            show(line, results.fill(f"{feature}/{line}/{seed}", compute), seed)


def main() -> None:
    """Run all features and lines, print, and write the results down if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder or archive with train/ and test/")
    parser.add_argument("--classes", type=int, default=100, help="the first ones")
    parser.add_argument("--images", type=int, default=50, help="of each class and split, at most")
    parser.add_argument("--features", help="bov-1024,fv-4,fv-16,fv-64,fv-256 by default")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--epochs", type=int, default=60, help="at most")
    parser.add_argument("--short", action="store_true", help="Table 2 and every beta alone")
    parser.add_argument("--quick", action="store_true", help="glyphs instead of --data")
    parser.add_argument("--rows", type=Path, help="a folder that keeps the rows of the images")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    if options.quick:
        options.classes, options.epochs, options.seeds = 10, 2, 1
    features = options.features or ("fv-2" if options.quick else "bov-1024,fv-4,fv-16,fv-64,fv-256")
    options.largest = max(features.split(","), key=order_features)
    with tempfile.TemporaryDirectory() as folder:
        if options.quick:
            data = Path(folder)
            write_glyphs(data, choose_glyphs(10), images=12, seed=0, splits=(0.7, 0, 0.3))
        else:
            data = need(options.data, "images in train/CLASS and test/CLASS")
        described = {
            "recipe": "good_practice",
            "classes": options.classes,
            "images": options.images,
        }
        described["data"] = "glyphs" if options.quick else data.stem
        described["epochs"] = options.epochs
        results = Results(options.out, described)
        print("                                        top-1     top-5, over classes")
        for feature in features.split(","):
            rows = load_rows(data, feature, options.classes, options.images, options.rows)
            run_feature(feature, rows, results, options)


if __name__ == "__main__":
    run_recipe(main)
