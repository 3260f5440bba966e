"""Labels that `predict --next` saves against a random choice, on Tiny-ImageNet.

Command:   python recipes/next_labels.py --data DATA --work runs --out FILE.json [--seeds 5]
           [--rounds 10]
           python recipes/next_labels.py --quick             # digits of scikit-learn, seconds
           python recipes/next_labels.py --table [docs/verbs/predict.md]
Time:      one thread: about two minutes per seed
Expected:  see docs/verbs/predict.md

A model of 200 classes begins with 5 labelled images per class. In each round 100 of the other
19,000 training images are labelled, chosen at random, as --next --store does or as --next does
without the labelled rows, and the model is trained again; its settings are searched once, at the
beginning. The curve of each strategy gives the accuracy on the 5,000 test images after each round.
"saved" is how many percent fewer labels --next needs for the accuracy that the random choice has at
the end, by interpolation between rounds.

DATA and the store of photographs, which is made once in --work, are those of automatic_problems.py.
Every curve is written to --out at once, and what is there is not run again.
"""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from myriad.models import Decider, LinearModel, ModelFolder, calibrate
from myriad.models.calibration.novelty import count_directions, find_directions
from myriad.pipelines.updating.label_choice import CLASSES, Unlabelled, choose_rows
from myriad.store import ArrayRows
from myriad.training import Automatic, Context, Method

sys.path.insert(0, str(Path(__file__).parent))
from automatic_problems import DATA, PROBLEMS, Problem
from results import Results, fill_page, make_parser, need

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "next_labels.json"
FIRST, ROUND = 5, 100
QUICK_FIRST = 30
"""Labelled images per class at the beginning; fewer digits would not suffice for calibration."""
WAYS = {"random": "at random", "next": "`predict --next --store`", "alone": "`predict --next`"}


def draw_first(y: np.ndarray, seed: int, count: int) -> np.ndarray:
    """Return the indices of the images that are labelled at first, `count` per class."""
    draws = np.random.default_rng(seed)
    parts = [draws.permutation(np.flatnonzero(y == c))[:count] for c in range(int(y.max()) + 1)]
    return np.concatenate(parts)


def find_means(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the class means of rows in their main directions, as a model keeps them."""
    mean, directions = find_directions(X, count_directions(X.shape[1], len(X)))
    sums = np.zeros((int(y.max()) + 1, len(directions)), np.float32)
    np.add.at(sums, y, (X - mean) @ directions.T)
    return (sums / np.bincount(y)[:, None]) @ directions + mean


def run_rounds(
    problem: Problem,
    way: str,
    method: Method,
    scale: Any,
    first: np.ndarray,
    seed: int,
    rounds: int,
    context: Context,
) -> list[float]:
    """Return the accuracy after each round, beginning with the labels of the rows `first`."""
    labelled, accuracies = first, []
    y = problem.y.astype(np.int32)
    for number in range(rounds + 1):
        rows = ArrayRows(problem.X[labelled], y[labelled])
        model = method.fit(rows, None, n_classes=problem.n_classes, context=context).model
        assert isinstance(model, LinearModel)
        right = model.scores(problem.X_test).argmax(axis=1) == problem.y_test
        accuracies.append(100.0 * float(right.mean()))
        pool = np.setdiff1d(np.arange(len(y)), labelled)
        if way == "random":
            chosen = np.random.default_rng([seed, number]).permutation(len(pool))[:ROUND]
        else:
            names = [str(c) for c in range(model.n_classes)]
            decider = Decider(ModelFolder(model, names, None, {}, None, scale))
            found = decider.decide(problem.X[pool], CLASSES)
            assert found.probabilities is not None
            unlabelled = Unlabelled(problem.X[pool], found.labels, found.probabilities)
            if way == "next":
                known: dict[str, Any] = {"labelled": problem.X[labelled]}
            else:
                known = {"means": find_means(problem.X[labelled], y[labelled])}
            chosen = np.array(choose_rows(unlabelled, ROUND, **known, seed=number))
        labelled = np.concatenate([labelled, pool[chosen]])
    return accuracies


def count_saved(curve: list[float], other: list[float]) -> float:
    """Return how many percent fewer labels a curve needs to reach the end of another one."""
    best = np.maximum.accumulate(curve)
    goal = other[-1]
    needed = float(np.interp(goal, best, np.arange(len(best)))) if best[-1] >= goal else np.nan
    return 100.0 * (1.0 - needed / (len(other) - 1))


def write_tables(cells: dict[str, Any]) -> dict[str, str]:
    """Return the results as a table of Markdown, means over seeds."""
    lines = ["| choice | accuracy after each round | labels saved | seeds |", "|---|---|---|---|"]
    curves: dict[str, dict[str, list[float]]] = {}
    for key, cell in cells.items():
        way, seed = key.split()
        curves.setdefault(way, {})[seed] = cell["accuracies"]
    for way, title in WAYS.items():
        found = curves.get(way, {})
        seeds = [seed for seed in found if seed in curves["random"]]
        if not seeds:
            continue
        mean = np.mean([found[seed] for seed in seeds], axis=0)
        saved = [count_saved(found[seed], curves["random"][seed]) for seed in seeds]
        error = np.std(saved, ddof=1) / len(saved) ** 0.5 if len(saved) > 1 else np.nan
        gain = "" if way == "random" else f"{np.mean(saved):.0f} ± {error:.0f} %"
        if np.isnan(saved).any():
            gain = "not reached"
        gain = gain.replace(" ± nan", "")
        shown = ", ".join(f"{accuracy:.1f}" for accuracy in mean)
        lines.append(f"| {title} | {shown} | {gain} | {len(seeds)} |")
    return {"labels saved": "\n".join(lines)}


def main() -> None:
    """Run the curves that are missing, and print them."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--work", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    parser.add_argument("--quick", action="store_true", help="digits, one seed, two rounds")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--threads", type=int, help="threads to use")
    parser.add_argument("--table", type=Path, nargs="?", const=Path(), help="print, or a page")
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.rounds, given.threads = 1, 2, 1
    out = given.out or (None if given.quick else RESULTS)
    results = Results(out, {"recipe": "next_labels", "rounds": given.rounds})
    if given.table is not None:
        fill_page(given.table, write_tables(results.cells))
        return
    if not given.quick:
        need(given.data, DATA)
    name = "digits" if given.quick else "tiny200 network"
    problem = PROBLEMS[name](given.data, given.work, 0)
    context, count = Context(threads=given.threads), QUICK_FIRST if given.quick else FIRST

    @cache
    def search(seed: int) -> tuple[Method, Any]:
        first = draw_first(problem.y, seed, count)
        rows = ArrayRows(problem.X[first], problem.y[first].astype(np.int32))
        method = Automatic(search="quick")
        fitted = method.fit(rows, None, n_classes=problem.n_classes, context=context)
        assert fitted.held_scores is not None
        return method.settled(fitted), calibrate(fitted.held_scores, "cross-fitted")

    def draw_curve(way: str, seed: int) -> dict[str, Any]:
        first = draw_first(problem.y, seed, count)
        curve = run_rounds(problem, way, *search(seed), first, seed, given.rounds, context)
        return {"accuracies": curve}

    for seed in range(given.seeds):
        for way in given.ways:
            found = results.fill(f"{way} {seed}", partial(draw_curve, way, seed))
            print(way, seed, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
