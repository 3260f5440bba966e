"""Labels that `predict --next` saves against a random choice, on Tiny-ImageNet.

Command:   python recipes/next_labels.py DATA --out runs [--seeds 5] [--rounds 10] [--save]
Time:      two threads: about five minutes a seed
Expected:  see docs/verbs/predict.md

A model of 200 classes begins with 5 labelled images a class. In each round 100 of the other 19,000
training images are labelled, chosen as --next does
(with --store) or at random, and the model is trained again;
its settings are searched once, at the beginning. The curve of each way gives the accuracy on the
5,000 test images after each round. "saved" is how many percent fewer labels --next needs for the
accuracy that the random choice has at the end, by interpolation between rounds.

DATA and the store of photographs, which is made once, are those of automatic_problems.py.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from automatic_problems import PROBLEMS, Problem

from myriad.models import Decider, LinearModel, ModelFolder, calibrate
from myriad.pipelines.evidence import environment
from myriad.pipelines.label_choice import CLASSES, Unlabelled, choose_rows
from myriad.store import ArrayRows
from myriad.training import Automatic, Context, Method

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "next_labels.json"
FIRST, ROUND = 5, 100


def draw_first(y: np.ndarray, seed: int) -> np.ndarray:
    """Return the numbers of the images that are labelled at the beginning."""
    draws = np.random.default_rng(seed)
    parts = [draws.permutation(np.flatnonzero(y == c))[:FIRST] for c in range(int(y.max()) + 1)]
    return np.concatenate(parts)


def follow(
    problem: Problem, way: str, method: Method, scale: Any, seed: int, rounds: int, context: Context
) -> list[float]:
    """Return the accuracy after each round."""
    labelled, accuracies = draw_first(problem.y, seed), []
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
            known = problem.X[labelled]
            chosen = np.array(choose_rows(unlabelled, ROUND, labelled=known, seed=number))
        labelled = np.concatenate([labelled, pool[chosen]])
    return accuracies


def count_saved(curve: list[float], other: list[float]) -> float:
    """Return how many percent fewer labels a curve needs to reach the end of another one."""
    best = np.maximum.accumulate(curve)
    goal = other[-1]
    needed = float(np.interp(goal, best, np.arange(len(best)))) if best[-1] >= goal else np.nan
    return 100.0 * (1.0 - needed / (len(other) - 1))


def main() -> None:
    """Print the curves and the labels saved, means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    problem = PROBLEMS["tiny200 network"](given.data, given.out, 0)
    context, runs = Context(threads=given.threads), []
    for seed in range(given.seeds):
        first = draw_first(problem.y, seed)
        rows = ArrayRows(problem.X[first], problem.y[first].astype(np.int32))
        method = Automatic(search="quick")
        fitted = method.fit(rows, None, n_classes=problem.n_classes, context=context)
        assert fitted.held_scores is not None
        scale = calibrate(fitted.held_scores, "cross-fitted")
        settled = method.settled(fitted)
        curves = {
            way: follow(problem, way, settled, scale, seed, given.rounds, context)
            for way in ("random", "next")
        }
        saved = count_saved(curves["next"], curves["random"])
        runs.append({**curves, "saved": saved})
        print(seed, json.dumps(runs[-1]), flush=True)
    mean = float(np.nanmean([one["saved"] for one in runs]))
    print(f"labels saved: {mean:.1f} %, mean of {len(runs)} seeds")
    if given.save:
        made = {"created": datetime.now(UTC).isoformat(timespec="seconds"), **environment()}
        results = {"made": made, "saved": mean, "runs": runs}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
