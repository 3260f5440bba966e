"""Top-k support vector machines on rows of networks: the claim of [TK, Table 1] on CNN rows.

    myriad extract scene15 --signature efficientnet-lite0 --layers last --out scene15.store
    python recipes/topk_networks.py --data scene15.store --name scene15 --out FILE.json
    python recipes/topk_networks.py --quick                      # digits of scikit-learn, seconds
    python recipes/evidence.py docs/evidence.md                  # the results as tables

`--data` is a store, or images in train/CLASS and test/CLASS (a folder or an archive), of which
`--work FOLDER` keeps the store of EfficientNet-Lite0 rows. Without test rows a fifth of each class
tests. Seed 0 has the splits of the data, the
others draw as many training rows of each class from all rows. A fifth of the training rows of each
class chooses lam by top-1 accuracy, on the path that every dual method of myriad takes; then the
model is trained on all of them with the same ``C = 1 / (lam n)``, and measured once on the test
rows. TopPush chooses its number of steps instead. Recall@1 ranks batches of at most 4,096 rows.
Rows are centred; those of one-vs-all have a constant feature. `--methods` runs some of the lines.
Results of several data sets go into one file, one after the other; a result that is there is not
computed again.

Expected, top-5 accuracy of the top-5 alpha SVM beside the multiclass SVM (top-1) on Tiny-ImageNet
with `--images 50`, seed 0: 84.2 and 82.9; all rows are in docs/evidence.md. On one core with three
seeds: Scene 15 20 seconds, Caltech-101 80 seconds; Tiny-ImageNet a minute and a half a seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from automatic_problems import Problem, load_digits, read_store, run_verb
from image_folders import LEAST, LEAST_IMAGES, draw_splits, find_splits

from myriad.store import ArrayRows, Store
from myriad.training import BinaryDual, Context, Recall, TopK, TopPush
from myriad.training.dual.method import DualMethod

sys.path.insert(0, str(Path(__file__).parent))
from results import Results, make_parser, need, run_recipe

DEPTHS = (1, 2, 3, 4, 5, 10)
GUESSES = (3, 5, 10)
NETWORK = "efficientnet-lite0"
BATCH = 4096
"""Rows that Recall@1 ranks together."""


def list_methods(n_classes: int, tol: float) -> dict[str, DualMethod]:
    """Return the methods by the names of the paper's rows."""
    methods: dict[str, DualMethod] = {
        "OVA": BinaryDual(loss="squared_hinge", tol=tol),
        "OVA, plain hinge": BinaryDual(loss="hinge", tol=tol),
        "top-1": TopK(k=1, tol=tol),
    }
    for variant in ("alpha", "beta"):
        for k in GUESSES:
            if k < n_classes:
                methods[f"top-{k} {variant}"] = TopK(k=k, variant=variant, tol=tol)
    return methods | {"TopPush": TopPush(tol=tol), "Recall@1": Recall(batch=BATCH, tol=tol)}


def hold_out(y: np.ndarray) -> np.ndarray:
    """Return which rows validate: a fifth of each class."""
    order = np.argsort(y, kind="stable")
    number = np.empty(len(y), np.int64)
    number[order] = np.concatenate([np.arange(n) for n in np.bincount(y)])
    return number % 5 == 4


def run(method: DualMethod, problem: Problem) -> dict[str, Any]:
    """Return the accuracies of a method, its lam chosen on a fifth of the training rows."""
    began = time.process_time()
    n_classes, context = problem.n_classes, Context(threads=1)
    names = [str(c) for c in range(n_classes)]
    held = hold_out(problem.y)
    y = problem.y.astype(np.int32)
    rows, val = (ArrayRows(problem.X[some], y[some], names) for some in (~held, held))
    chosen = method.fit(rows, val, n_classes=n_classes, context=context)
    lam = chosen.settings["lam"]
    final = replace(method.settled(chosen), lam=lam * rows.n_rows / len(y))
    whole = ArrayRows(problem.X, y, names)
    fitted = final.fit(whole, None, n_classes=n_classes, context=context)
    ranks, _ = fitted.model.rank_true_labels(problem.X_test, problem.y_test.astype(np.int32))
    return {
        "test": [round(100 * float((ranks <= depth).mean()), 2) for depth in DEPTHS],
        "C": float(f"{1 / (lam * rows.n_rows):.3g}"),
        "gap": fitted.history[-1]["gap"],
        "rows": len(y),
        "tested": len(ranks),
        "classes": n_classes,
        "seconds": round(time.process_time() - began, 1),
    }


def read_rows(folder: Path, seed: int) -> Problem:
    """Return the rows of a store; a fifth of each class tests if the store has no test rows."""
    store = Store.open(folder)
    names = sorted(set(store.splits))
    if "test" in names:
        return read_store(folder, seed)
    rows = store.rows(names)
    X = np.concatenate([block.X for block in rows.blocks(256)]).astype(np.float32)
    y = np.asarray(rows.labels).astype(np.int64)
    test = draw_splits(y, seed) == "test"
    return Problem(X[~test], y[~test], X[test], y[test])


def choose_classes(found: Problem, data: Path) -> Problem:
    """Return the rows of all classes with enough to train and some to test on."""
    n_classes = int(max(found.y.max(), found.y_test.max(initial=0))) + 1
    train, test = (np.bincount(y, minlength=n_classes) for y in (found.y, found.y_test))
    kept = (train >= LEAST_IMAGES) & (test > 0)
    if kept.sum() < LEAST:
        sys.exit(
            f"{data} has {kept.sum()} classes with {LEAST_IMAGES} rows or more to train and one to "
            f"test on: this recipe needs {LEAST}."
        )
    numbers = np.cumsum(kept) - 1
    some, others = kept[found.y], kept[found.y_test]
    return Problem(
        found.X[some],
        numbers[found.y[some]],
        found.X_test[others],
        numbers[found.y_test[others]],
    )


def load(options: argparse.Namespace, seed: int) -> Problem:
    """Return the rows of a seed."""
    if options.quick:
        whole = load_digits(Path(), Path(), seed)
        return Problem(whole.X[:200], whole.y[:200], whole.X_test[:200], whole.y_test[:200])
    data = need(options.data, "a store, or images in train/CLASS and test/CLASS")
    store = data
    if not (data / "store.json").exists():
        if options.work is None:
            sys.exit(f"{data} holds images: --work is missing, a folder that keeps their rows.")
        images = find_splits(data)
        store = options.work / f"{data.stem}-{NETWORK}-{images.fingerprint()[:8]}"
        if not store.exists():
            words = ["--signature", NETWORK, "--layers", "last", "--codes", "none"]
            run_verb("extract", data, "--out", store, *words)
    found = choose_classes(read_rows(store, seed), data)
    number = np.empty(len(found.y), np.int64)
    number[np.argsort(found.y, kind="stable")] = np.concatenate(
        [np.arange(n) for n in np.bincount(found.y)]
    )
    kept = number < (options.images or len(found.y))
    return Problem(found.X[kept], found.y[kept], found.X_test, found.y_test)


def main() -> None:
    """Run the methods on one data set, print, and write the results down if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="a store, or images with train/ and test/")
    parser.add_argument("--name", help="of the data in the results; that of the file by default")
    parser.add_argument("--work", type=Path, help="a folder that keeps the rows of images")
    parser.add_argument("--images", type=int, help="of each class to train on, at most")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--methods", help="names of some lines, with semicolons; all by default")
    parser.add_argument("--quick", action="store_true", help="digits of scikit-learn instead")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    name = "digits" if options.quick else options.name or (options.data and options.data.stem)
    results = Results(options.out, {"recipe": "topk_networks", "quick": options.quick})
    tol = 0.05 if options.quick else 1e-3
    known = list_methods(sys.maxsize, tol)
    asked = options.methods.split(";") if options.methods else list(known)
    if unknown := [line for line in asked if line not in known]:
        parser.error(f"--methods knows {'; '.join(known)}, not {'; '.join(unknown)}")
    for seed in range(options.seeds):
        problem = load(options, seed)
        methods = list_methods(problem.n_classes, tol)  # fewer guesses with few classes
        for line, method in methods.items():
            if line not in asked:
                continue
            cell = results.fill(
                f"{name}/{line}/{seed}", lambda method=method, problem=problem: run(method, problem)
            )
            shown = "".join(f"{number:8.2f}" for number in cell["test"])
            print(f"{name} {seed} {line:<16}{shown}  C {cell['C']:g}, {cell['seconds']} s")
            sys.stdout.flush()


if __name__ == "__main__":
    run_recipe(main)
