"""SGD beside batch solvers, three penalties, training on codes: the experiments of [LS].

    python recipes/large_scale_learning.py --data tiny200.zip --rows FOLDER --out FILE.json
    python recipes/large_scale_learning.py --quick               # drawn glyphs, seconds
    python recipes/evidence.py docs/evidence.md                  # the results as tables

`--data` is a folder or an archive with `train/CLASS/IMAGE` and `test/CLASS/IMAGE`, of which the
first 100 classes are taken. Fisher vectors of 32 Gaussians, 4,096 features. Parts, of which
`--parts` runs some:

- solvers: 10, 25, 50 and 100 training images per class. SGD (one-vs-rest, multiclass and softmax),
  the same problems in the dual (`dual`, and `crammer-singer`, the multiclass SVM), and LIBLINEAR by
  scikit-learn on the problems of the dual with the same regularisation. The settings are found on a
  fifth of the training images of each class. Seconds are the processor time of one training on
  all training images with these settings, as in the tables of the slides. Sizes that no class has
  are left out.
- penalties: 10 and 25 images per class, one-vs-rest (dual), L2 softmax (SGD, lam searched) and the
  trace norm.
- codes: product codes of a 32nd of the size; trained and tested on plain rows, trained on decoded
  codes and tested on plain rows or on codes.

Accuracies are over samples. Each result is written to `--out` as soon as it is known. On one core:
rows three minutes, all parts about a quarter of an hour. Expected: see docs/evidence.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from myriad import ProductQuantizer
from myriad.images import choose_glyphs, write_glyphs
from myriad.store import ArrayRows
from myriad.training import SGD, AtomDescent, BinaryDual, Context, Method, TopK

sys.path.insert(0, str(Path(__file__).parent))
from good_practice_rows import Rows, load_rows
from results import Results, make_parser, need, run_recipe, show

SIZES = (10, 25, 50, 100)
FEW = (10, 25)
METHODS: dict[str, Method] = {
    "SGD one-vs-rest": SGD(objective="ovr", scale=False),
    "SGD multiclass": SGD(objective="multiclass", scale=False),
    "SGD softmax": SGD(objective="softmax", scale=False),
    "dual": BinaryDual(loss="squared_hinge"),
    "crammer-singer": TopK(k=1),
}
LIBLINEAR = {"dual": "ovr", "crammer-singer": "crammer_singer"}
PENALTIES: dict[str, Method] = {
    "one-vs-rest": BinaryDual(loss="squared_hinge"),
    "L2 softmax": SGD(objective="softmax", lam=None),
    "trace norm": AtomDescent(),
}


def take(rows: Rows, size: int) -> ArrayRows:
    """Return the training rows of the first images of each class."""
    kept = np.concatenate([np.flatnonzero(rows.y == c)[:size] for c in np.unique(rows.y)])
    return ArrayRows(rows.X[kept], rows.y[kept], rows.class_names)


def hold_out(rows: ArrayRows) -> list[ArrayRows]:
    """Return rows to train and to validate on: every fifth row of a class validates."""
    number = np.concatenate([np.arange(n) for n in np.bincount(rows.labels)])
    held = number % 5 == 4
    return [ArrayRows(rows.X[s], rows.labels[s], rows.class_names) for s in (~held, held)]


def measure(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return top-1 and top-5 over samples in percent, and the number of samples."""
    ranks, _ = model.rank_true_labels(X, y)
    found: dict[str, Any] = {f"top{k}": round(100 * float((ranks <= k).mean()), 2) for k in (1, 5)}
    return found | {"tested": len(ranks)}


def fit(method: Method, some: ArrayRows) -> tuple[Any, dict[str, Any], float]:
    """Return the model of all rows with settings found on a fifth, the settings, and seconds."""
    part, val = hold_out(some)
    n_classes, context = len(some.class_names), Context(threads=1)
    found = method.fit(part, val, n_classes=n_classes, context=context)
    final = method.settled(found)
    if isinstance(method, BinaryDual | TopK):  # the same C = 1 / (lam n)
        final = replace(method, lam=found.settings["lam"] * part.n_rows / some.n_rows)
    began = time.process_time()
    fitted = final.fit(some, None, n_classes=n_classes, context=context)
    return fitted.model, found.settings, time.process_time() - began


def solve(name: str, size: int, rows: Rows) -> dict[str, Any]:
    """Return accuracy and time of one of our solvers."""
    some = take(rows, size)
    model, settings, seconds = fit(METHODS[name], some)
    cell = measure(model, rows.X_test, rows.y_test)
    cell |= {"settings": settings, "rows": some.n_rows, "seconds": round(seconds, 2)}
    return cell


def solve_by_liblinear(name: str, size: int, rows: Rows, lam: float) -> dict[str, Any]:
    """Return accuracy and time of LIBLINEAR on the problem of one of our dual solvers.

    Parameters
    ----------
    lam : that of our solver on the rows that trained while it was chosen.
    """
    from sklearn.svm import LinearSVC

    some = take(rows, size)
    part = hold_out(some)[0].n_rows
    mean = some.X.mean(axis=0)
    # One term for each row there, a mean here; the squared hinge has no factor 1/2 in either.
    solver = LinearSVC(C=1 / (lam * part), multi_class=LIBLINEAR[name], tol=0.01, max_iter=300)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver.fit((some.X - mean).astype(np.float64), some.labels)
    seconds = time.process_time() - began
    scores = solver.decision_function((rows.X_test - mean).astype(np.float64))
    own = scores[np.arange(len(scores)), rows.y_test][:, None]
    ranks = (scores > own).sum(axis=1) + 1
    cell: dict[str, Any] = {f"top{k}": round(100 * float((ranks <= k).mean()), 2) for k in (1, 5)}
    return cell | {"rows": some.n_rows, "seconds": round(seconds, 2)}


def penalise(name: str, size: int, rows: Rows) -> dict[str, Any]:
    """Return accuracy of a penalty."""
    model, settings, seconds = fit(PENALTIES[name], take(rows, size))
    cell = measure(model, rows.X_test, rows.y_test)
    return cell | {"settings": settings, "seconds": round(seconds, 2)}


def code_rows(rows: Rows, size: int) -> dict[str, Any]:
    """Return accuracies of models that are trained on plain rows or on product codes."""
    began = time.process_time()
    some, test = take(rows, size), rows.X_test
    bits = 8 if some.n_rows >= 256 else 4  # as many rows as words
    coder = ProductQuantizer(bits=bits, threads=1).fit(some.X)
    coded = ArrayRows(coder.decode(coder.encode(some.X)), some.labels, some.class_names)
    method = METHODS["dual"]
    plain, trained = fit(method, some)[0], fit(method, coded)[0]
    found = {
        "plain, plain": measure(plain, test, rows.y_test)["top1"],
        "codes, plain": measure(trained, test, rows.y_test)["top1"],
        "codes, codes": measure(trained, coder.decode(coder.encode(test)), rows.y_test)["top1"],
    }
    return found | {"seconds": round(time.process_time() - began, 1)}


def run_part(part: str, rows: Rows, results: Results, sizes: tuple[int, ...]) -> None:
    """Fill the results of a part, and print them."""

    def fill(name: str, compute: Any) -> dict[str, Any]:
        cell = results.fill(f"{part}/{name}", compute)
        shown = {n: v for n, v in cell.items() if isinstance(v, float)}
        print(f"{part} {name}: {show(shown)}", flush=True)
        return cell

    for size in sizes if part == "solvers" else sizes[: len(FEW)]:
        if part == "penalties":
            for name in PENALTIES:
                fill(f"{name}/{size}", partial(penalise, name, size, rows))
        elif part == "codes":
            fill(f"{size}", partial(code_rows, rows, size))
        else:
            for name in METHODS:
                cell = fill(f"{name}/{size}", partial(solve, name, size, rows))
                if name in LIBLINEAR:
                    lam = cell["settings"]["lam"]
                    compute = partial(solve_by_liblinear, name, size, rows, lam)
                    fill(f"LIBLINEAR {name}/{size}", compute)


def main() -> None:
    """Run the parts, print, and write the results down if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder or archive with train/ and test/")
    parser.add_argument("--classes", type=int, default=100, help="the first ones")
    parser.add_argument("--parts", default="solvers,penalties,codes", help="what is run")
    parser.add_argument("--quick", action="store_true", help="glyphs instead of --data")
    parser.add_argument("--rows", type=Path, help="a folder that keeps the rows of the images")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes, feature, n_classes = SIZES, "fv-32", options.classes
        if options.quick:
            data, sizes, feature, n_classes = Path(folder), (10, 20), "fv-2", 10
            write_glyphs(data, choose_glyphs(10), images=24, seed=0, splits=(0.84, 0, 0.16))
        else:
            data = need(options.data, "images in train/CLASS and test/CLASS")
        rows = load_rows(data, feature, n_classes, max(sizes), options.rows)
    n_classes, largest = len(rows.class_names), int(np.bincount(rows.y).max())
    sizes = tuple(size for size in sizes if size <= largest) or (largest,)
    described = {"recipe": "large_scale_learning", "classes": n_classes}
    described["data"] = "glyphs" if options.quick else data.stem
    results = Results(options.out, described)
    for part in options.parts.split(","):
        run_part(part, rows, results, sizes)


if __name__ == "__main__":
    run_recipe(main)
