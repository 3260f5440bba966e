"""Extended models beside models trained from scratch: accuracy and time.

Command:   python recipes/extending.py --data DATA --work runs --out FILE.json [--seeds 5]
           [--problems NAME...]
           python recipes/extending.py --quick               # digits of scikit-learn, seconds
           python recipes/extending.py --table [docs/verbs/extend.md]
Time:      one thread: half a minute (caltech101, scene15) to three minutes (tiny200) a seed
Expected:  see docs/verbs/extend.md and docs/verbs/merge.md

A fifth of the classes, drawn by the seed, is new. A model is trained on the others, and extended by
`myriad extend`: with the old rows and frozen weights, with --update, and from the model alone.
"scratch" is `myriad train` on all rows. Accuracies are top-1 in % on the test rows of all classes,
and of old and new ones by themselves. Times are those of the whole call on rows that are described
already: reading, training, calibrating and writing the model, in seconds on the clock, which other
work on the machine disturbs, and of the processor, which tables compare. Merged labels are measured
as well: at most ten pairs of classes, drawn or most confused, whose label has the
higher of two scores, or the mean of two vectors.

DATA and the stores of photographs, which are made once in --work, are those of
automatic_problems.py. Every seed is written to --out at once, and what is there is not run again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from myriad import Store
from myriad.models import LinearModel, load_model
from myriad.pipelines.run import Run
from myriad.pipelines.training.train import train
from myriad.pipelines.updating.extend import extend

sys.path.insert(0, str(Path(__file__).parent))
from automatic_problems import DATA, PROBLEMS, Problem, load_few
from results import Results, fill_page, make_parser, need

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "extending.json"
CASES = {**PROBLEMS, "caltech101 few": partial(load_few, "caltech101.zip", 7)}
"""Those with few rows have 7 (caltech101) and 20 (tiny200) training rows of each class."""
MEASURED = ("caltech101 network", "scene15 network", "tiny200 network")
MEASURED += ("caltech101 few", "tiny200 few")
NEW = 0.2
MERGED = 10
PARTS = ("all", "old", "new")
"""Classes whose test rows an accuracy is about."""


def write_rows(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    """Write rows as a store; classes are called by their numbers, with zeros in front."""
    classes = np.unique(y)
    names = [f"{c:05d}" for c in classes]
    writer = Store.create(path, class_names=names, dim=X.shape[1], n_shards=1)
    labels = np.searchsorted(classes, y).astype(np.int32)
    writer.write_shard(0, X, labels, [str(i) for i in range(len(X))], ["train"] * len(X))
    writer.finish()
    return path


def measure(folder: Path, problem: Problem, y_test: np.ndarray, n_old: int) -> dict[str, float]:
    """Return the accuracy on all test rows, and on those of old and of new classes."""
    model = load_model(folder)
    order = np.array([int(name) for name in model.class_names])
    right = order[model.model.scores(problem.X_test).argmax(axis=1)] == y_test
    is_old = y_test < n_old
    parts = dict(zip(PARTS, (right, right[is_old], right[~is_old]), strict=True))
    return {name: 100.0 * float(part.mean()) for name, part in parts.items()}


def measure_time(call: Callable[[], Any]) -> dict[str, float]:
    """Return the time that a call takes, on the clock and of the processor, in seconds."""
    began, used = time.perf_counter(), time.process_time()
    call()
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(time.process_time() - used, 2),
    }


def run(problem: Problem, seed: int, threads: int | None) -> dict[str, dict[str, float]]:
    """Return accuracies and times of one seed."""
    n_classes = problem.n_classes
    n_old = n_classes - round(NEW * n_classes)
    number = np.random.default_rng(seed).permutation(n_classes)
    y, y_test = number[problem.y], number[problem.y_test]
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        is_old = y < n_old
        every = write_rows(here / "all", problem.X, y)
        old = write_rows(here / "old", problem.X[is_old], y[is_old])
        new = write_rows(here / "new", problem.X[~is_old], y[~is_old])
        # The first training compiles kernels or loads them, so it is not the one that is timed.
        train(old, here / "model", run=Run(threads=threads))
        times = measure_time(partial(train, every, here / "scratch", run=Run(threads=threads)))
        found["scratch"] = {**measure(here / "scratch", problem, y_test, n_old), **times}
        ways: dict[str, dict[str, Any]] = {
            "model alone": {},  # first, as it loads what the others need too
            "frozen": {"old": [old]},
            "update": {"old": [old], "update": True},
        }
        for name, options in ways.items():
            call = partial(
                extend, here / "model", new, here / name, run=Run(threads=threads), **options
            )
            times = measure_time(call)
            found[name] = {**measure(here / name, problem, y_test, n_old), **times}
        found |= measure_merging(here / "scratch", problem, y_test, seed)
    return found


def measure_merging(
    folder: Path, problem: Problem, y_test: np.ndarray, seed: int
) -> dict[str, dict[str, float]]:
    """Return the accuracy of models with merged pairs of classes, by the two ways to merge."""
    model = load_model(folder).model
    assert isinstance(model, LinearModel)
    scores, n = model.scores(problem.X_test), model.n_classes
    counts = np.zeros((n, n))
    np.add.at(counts, (y_test, scores.argmax(axis=1)), 1)
    counts += counts.T
    n_pairs = min(MERGED, n // 2)
    drawn = np.random.default_rng(seed).permutation(n)[: 2 * n_pairs].reshape(-1, 2)
    confused, free = [], set(range(n))
    for flat in np.argsort(-np.triu(counts, 1), axis=None):
        a, b = divmod(int(flat), n)
        if a in free and b in free and len(confused) < n_pairs:
            confused.append((a, b))
            free -= {a, b}
    found = {}
    for name, pairs in (("drawn pairs", drawn), ("confused pairs", np.array(confused))):
        numbers = np.arange(n)
        numbers[pairs[:, 1]] = pairs[:, 0]
        labels = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
        truths = labels[y_test]
        highest = model.relabelled(labels)
        sums = np.zeros((labels.max() + 1, model.dim))
        biases, sizes = np.zeros(len(sums)), np.bincount(labels)
        np.add.at(sums, labels, model.weights)
        np.add.at(biases, labels, model.biases)
        mean = (problem.X_test @ (sums / sizes[:, None]).T) + biases / sizes
        found[name] = {
            "highest": 100.0 * float((highest.scores(problem.X_test).argmax(1) == truths).mean()),
            "mean": 100.0 * float((mean.argmax(axis=1) == truths).mean()),
        }
    return found


WAYS = {
    "scratch": "trained from scratch",
    "frozen": "extended with the old rows, old weights frozen",
    "update": "extended with the old rows and `--update`",
    "model alone": "extended from the model alone",
}


def write_tables(cells: dict[str, Any]) -> dict[str, str]:
    """Return the results as a table of Markdown, means over seeds."""
    lines = [
        "| | top-1 | old classes | new classes | difference | processor time |",
        "|---|---|---|---|---|---|",
    ]
    for problem in dict.fromkeys(key.rpartition(" ")[0] for key in cells):
        runs = [cell for key, cell in cells.items() if key.rpartition(" ")[0] == problem]
        seeds = "1 seed" if len(runs) == 1 else f"{len(runs)} seeds"
        lines.append(f"| **{problem}**, {seeds} | | | | | |")
        for way, title in WAYS.items():
            if not all(way in run for run in runs):
                continue
            means = [f"{np.mean([run[way][key] for run in runs]):.1f}" for key in PARTS]
            gains = np.array([run[way]["all"] - run["scratch"]["all"] for run in runs])
            error = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else np.nan
            gain = "" if way == "scratch" else f"{gains.mean():+.2f} ± {error:.2f}"
            gain = gain.replace(" ± nan", "")  # of one seed
            times = [[run[one]["processor_seconds"] for run in runs] for one in (way, "scratch")]
            share = np.mean(np.divide(*times))
            lines.append(f"| {title} | {' | '.join(means)} | {gain} | {100 * share:.0f} % |")
    return {"extended models": "\n".join(lines)}


def main() -> None:
    """Run the seeds that are missing, and print them."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--work", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    parser.add_argument("--quick", action="store_true", help="digits, one seed")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--threads", type=int, help="threads to use")
    parser.add_argument("--table", type=Path, nargs="?", const=Path(), help="print, or a page")
    parser.add_argument("--problems", nargs="*", default=MEASURED)
    given = parser.parse_args()
    results = Results(given.out or (None if given.quick else RESULTS), {"recipe": "extending"})
    if given.table is not None:
        fill_page(given.table, write_tables(results.cells))
        return
    if given.quick:
        given.problems, given.seeds, given.threads = ["digits"], 1, 1
    else:
        need(given.data, DATA)

    def measure_seed(name: str, seed: int) -> dict[str, Any]:
        return run(CASES[name](given.data, given.work, seed), seed, given.threads)

    for name in given.problems:
        for seed in range(given.seeds):
            found = results.fill(f"{name} {seed}", partial(measure_seed, name, seed))
            print(name, seed, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
