"""Photographs on fresh random splits: Fisher vectors, networks, and what `train` chooses itself.

Command:   python recipes/photographs.py --data DATA --work runs/photographs
           [--problems caltech101,scene15,tiny200] [--arms sgd,auto] [--splits 5]
           [--out benchmarks/results/photographs.json] [--table docs/recipes.md]
Time:      two cores: networks 5 minutes per data set, Fisher vectors 5 to 10 minutes per setting,
           then 10 to 60 s for each arm and split
Expected:  see docs/recipes.md; Caltech-101, mean class accuracy in %: Fisher vectors 72 to 75,
           network with `LinearSGD()` 91 to 92, `--signature auto` 95

DATA is a folder with caltech101.zip, scene15 and tiny200.zip. Training and test images are pooled;
of each class 30 (Caltech-101) or 100 (the others) are drawn for training, the rest is for testing.
Images are described once and kept in the folder of --work. Differences between arms are paired: the
same split, the same test images. Results go into a JSON file, from which an interrupted run
resumes. --quick draws characters instead, for a test of the recipe itself. --weights compares
weights of colour by cross-validation inside the training images of the first split; no test image
is used.

Old versions: set PYTHONPATH to the src of their work tree and give --arms sgd --label " of fc6c517"
after the rows have been described.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from photograph_rows import DATA
from photograph_tables import FOLDS, MARKS, make_table, publish
from results import make_parser, need

from myriad.signatures.registry import FISHER, NETWORK, split_word

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "photographs.json"
ROWS_OF = {"fisher:colour": "colour"}
"""Signatures whose rows have another name in `photograph_rows`."""
COLOUR_WEIGHTS = (0.0, 0.25, 0.35, 0.5, 0.7, 1.0)
COLOUR_WEIGHT = 0.5


def mean_class_accuracy(y: np.ndarray, guesses: np.ndarray) -> float:
    """Return the mean of the accuracies of the classes, in percent."""
    sizes = np.bincount(y)
    right = np.bincount(y[guesses == y], minlength=len(sizes))
    return 100.0 * float((right[sizes > 0] / sizes[sizes > 0]).mean())


def fit_svm(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return the exact one-vs-rest SVM with C = 10, that of the comparisons with VLFeat."""
    from exact_svm import ExactSVM

    return ExactSVM(X, y)


def fit_sgd(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return plain `LinearSGD()`."""
    from myriad import LinearSGD

    return LinearSGD(random_state=seed).fit(X, y)


def fit_automatic(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return the automatic classifier."""
    from myriad import LinearClassifier

    return LinearClassifier(random_state=seed).fit(X, y)


def choose(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Return what ``--signature auto`` chooses on the training images of a split."""
    from photograph_rows import with_splits

    from myriad.images import split_images
    from myriad.parallel import LearningContext, open_local
    from myriad.pipelines.describing.options import ExtractOptions
    from myriad.pipelines.describing.signature_choice import choose_signature

    images = split_images(with_splits(rows.images, training).select(training), seed=seed)
    with open_local() as executor:
        context = LearningContext(seed=seed)
        choice = choose_signature(images, ExtractOptions(), executor, context)
    return {"signature": choice.options.signature, "choice": choice.facts["sentence"]}


def load_word(rows: Any, word: str) -> np.ndarray:
    """Return the rows of one or several signatures by the word of ``--signature``."""
    from photograph_rows import combine

    terms = split_word(word)
    return combine(
        [rows.load(name_of_term(term)) for term in terms], [weight for _, weight in terms]
    )


def name_of_term(term: tuple[str, float]) -> str:
    """Return the name that the rows of a part of ``--signature`` have here."""
    return ROWS_OF.get(term[0], term[0])


def run_automatic(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Choose the signature, train the automatic classifier, and test."""
    chosen = choose_only(rows, training, seed)
    seconds = chosen["seconds of the choice"]
    found = test_candidate(rows, chosen["signature"], seed)
    images = rows.seconds(map(name_of_term, split_word(chosen["signature"])))
    whole = seconds + found["seconds"] + images * training.mean()
    return chosen | {"seconds of all": round(whole, 1)} | found


def choose_only(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Choose the signature; return what is chosen and the seconds that it takes."""
    began = time.process_time()
    chosen = choose(rows, training, seed)
    return chosen | {"seconds of the choice": round(time.process_time() - began, 1)}


@cache
def test_candidate(rows: Any, word: str, seed: int) -> dict[str, Any]:
    """Test the automatic classifier on a signature; what was found is kept for other arms."""
    from photograph_rows import TRAINING_IMAGES, draw_split

    training = draw_split(rows.images.labels, TRAINING_IMAGES[rows.problem], seed)
    return test(load_word(rows, word), rows, training, seed, fit_automatic)


def test(
    X: np.ndarray, rows: Any, training: np.ndarray, seed: int, fit: Callable[..., Any]
) -> dict[str, Any]:
    """Train on the training rows; return the mean class accuracy of the others and the time."""
    y = rows.images.labels.astype(np.int64)
    began = time.process_time()
    model = fit(np.ascontiguousarray(X[training]), y[training], seed)
    seconds = time.process_time() - began
    guesses = model.predict(np.ascontiguousarray(X[~training]))
    found = {"accuracy": mean_class_accuracy(y[~training], guesses), "seconds": round(seconds, 1)}
    if fit is fit_automatic:
        found["settings"] = {k: model.settings_.get(k) for k in ("objective", "loss", "lam")}
    return found


Arm = Callable[[Any, np.ndarray, int], dict[str, Any]]


def arm(word: str, fit: Callable[..., Any]) -> Arm:
    """Return an arm that trains one classifier on the rows of one signature."""
    return lambda rows, training, seed: test(rows.load(word), rows, training, seed, fit)


def candidate(word: str) -> Arm:
    """Return an arm that describes by a stated candidate of ``--signature auto``."""
    return lambda rows, training, seed: test_candidate(rows, word, seed)


def train_on_codes(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Train on product codes of Fisher vectors; images are tested as `predict` describes them."""
    from exact_svm import solve

    coded, plain = rows.load("fisher-pq")
    y = rows.images.labels.astype(np.int64)
    weights = solve(coded[np.ix_(training, training)], y[training])
    scores = (plain[np.ix_(~training, training)] + np.float32(1)) @ weights.T
    return {"accuracy": mean_class_accuracy(y[~training], scores.argmax(axis=1))}


def late_colour(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Run Fisher vectors of SIFT and of colour side by side."""
    from photograph_rows import combine

    X = combine([rows.load("fisher"), rows.load("colour")], [1.0, COLOUR_WEIGHT])
    return test(X, rows, training, seed, fit_svm)


ARMS: dict[str, Arm] = {
    "sgd": arm("lite0", fit_sgd),
    "auto": run_automatic,
    "choice": choose_only,
    "candidate network": candidate(NETWORK),
    "candidate Fisher vectors": candidate(FISHER),
    "candidate both": candidate(f"{NETWORK}+{FISHER}"),
    "lite2": arm("efficientnet-lite2", fit_automatic),
    "fisher": arm("fisher", fit_svm),
    "fisher-earlier": arm("fisher-earlier", fit_svm),
    "fisher-plain": arm("fisher-plain", fit_svm),
    "fisher-pq": train_on_codes,
    "fisher-contrast": arm("fisher-contrast", fit_svm),
    "fisher-step": arm("fisher-step", fit_svm),
    "fisher-strong": arm("fisher-strong", fit_svm),
    "colour": arm("colour", fit_svm),
    "late-colour": late_colour,
}


def weigh_colour(rows: Any, training: np.ndarray) -> dict[str, float]:
    """Return the cross-validated accuracy of each weight of colour, on training images alone."""
    from exact_svm import cross_validate
    from photograph_rows import combine

    y = rows.images.labels[training].astype(np.int64)
    sift, colour = rows.load("fisher")[training], rows.load("colour")[training]
    found = {}
    for weight in COLOUR_WEIGHTS:
        X = combine([sift, colour], [1.0, weight]) if weight else sift
        accuracy = 100 * float(cross_validate(X @ X.T, y, folds=FOLDS).mean())
        found[str(weight)] = round(accuracy, 2)
        print(f"{rows.problem}, colour {weight}: {accuracy:.2f} % in folds", flush=True)
    return found


def read_results(out: Path, components: int | None) -> dict[str, Any]:
    """Return the results of a file, or none yet."""
    if not out.exists():
        return {"components": components, "cells": {}}
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if found["components"] != components:
        raise SystemExit(f"{out} has results of {found['components']} Gaussians: give another file")
    return found


def save(out: Path, results: dict[str, Any]) -> None:
    """Write results so that an interruption loses nothing."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from record import describe_run

    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    found = results | describe_run()
    part.write_text(json.dumps(found, indent=1, default=float) + "\n", encoding="utf-8")
    part.replace(out)


def run(problem: str, arms: list[str], options: argparse.Namespace) -> None:
    """Run some arms on a data set, split by split, and write each result when it is known."""
    from photograph_rows import FEWER_GAUSSIANS, TRAINING_IMAGES, Rows, draw_split, load_images

    options.work.mkdir(parents=True, exist_ok=True)
    results = read_results(options.out, options.components)
    images = load_images(problem, options.data, options.work)
    components = options.components or FEWER_GAUSSIANS.get(problem)
    rows = Rows(problem, images, options.work, components)
    known = results["cells"].setdefault(problem, {})
    if options.weights:
        training = draw_split(images.labels, TRAINING_IMAGES[problem], 0)
        results.setdefault("weights of colour", {})[problem] = weigh_colour(rows, training)
        save(options.out, results)
        return
    for name in arms:
        cells = known.setdefault(name + options.label, {})
        for seed in range(options.splits):
            if str(seed) in cells:
                continue
            training = draw_split(images.labels, TRAINING_IMAGES[problem], seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells[str(seed)] = ARMS[name](rows, training, seed)
            save(options.out, results)
            shown = cells[str(seed)]
            print(f"{problem}, {name}{options.label}, split {seed}: {shown}", flush=True)


def main() -> None:
    """Run what is asked for and is not in the file of results yet."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--work", type=Path, default=Path("runs/photographs"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--problems", default="caltech101,scene15")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--splits", type=int, default=5, help="number of splits")
    parser.add_argument("--components", type=int, help="Gaussians of all Fisher vectors")
    parser.add_argument("--label", default="", help="added to the names of arms")
    parser.add_argument("--weights", action="store_true", help="compare weights of colour")
    parser.add_argument("--quick", action="store_true", help="drawn characters")
    parser.add_argument("--table", type=Path, nargs="?", const=Path(), help="print, or a page")
    options = parser.parse_args()
    if options.table is not None:
        publish(options.out, options.table, make_table, MARKS)
        return
    if not options.quick:
        need(options.data, DATA)
    problems = ["glyphs"] if options.quick else options.problems.split(",")
    for problem in problems:
        run(problem, options.arms.split(","), options)


if __name__ == "__main__":
    main()
