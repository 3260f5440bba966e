"""`LinearClassifier()` beside rivals whose settings are searched, on many problems.

Command:   python recipes/automatic.py --data DATA --out runs/automatic
           [--problems digits,omniglot] [--rivals auto,logistic] [--seeds 3]
           python recipes/automatic.py --out runs/automatic [--table | --summary FILE [--page FILE]]
           python recipes/automatic.py --quick               # digits of scikit-learn, seconds
Time:      one thread: auto 1 s (digits) to 2 minutes a seed; rivals up to half an hour each
Expected:  see docs/automatic.md; --table prints what has been run so far (wsabie and trace are for
           two small problems)

DATA is a folder with omniglot_1623.npz, scene15, caltech101.zip and tiny200.zip. Rivals choose
their settings by three folds of the training rows. The rival that a problem is compared with is
the one with the best accuracy on the same folds; test rows are scored once. Times are those of the
processor, on one thread, so that other programs do not count. Every result is a JSON file in OUT;
what is there is not run again.

Old versions: set PYTHONPATH to the src of their work tree, and give --rivals sgd --label old.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from automatic_problems import DATA, PROBLEMS, Problem
from automatic_rivals import RIVALS, mean_class_accuracy
from results import describe_run, fill_page, keep_folder, make_parser, need, write_results
from threadpoolctl import threadpool_limits

BOOTSTRAP = 1000


def run(name: str, rival: str, seed: int, data: Path, out: Path, label: str) -> None:
    """Run a rival on a problem unless its result is there."""
    path = out / f"{name.replace(' ', '-')}.{seed}.{rival.replace(' ', '-')}{label}.json"
    if path.exists():
        return
    problem = PROBLEMS[name](data, out, seed)
    began = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rival.startswith("auto"):  # compiled before it is timed
            few = np.sort(np.random.default_rng(0).permutation(len(problem.y))[:200])
            y = np.unique(problem.y[few], return_inverse=True)[1]
            RIVALS[rival](Problem(problem.X[few], y, problem.X[few], y), seed)
            began = time.process_time()
        found = RIVALS[rival](problem, seed)
    found.setdefault("seconds", time.process_time() - began)
    guesses = found.pop("guesses")
    found |= {"test": mean_class_accuracy(problem.y_test, guesses), "guesses": guesses.tolist()}
    found["truths"] = problem.y_test.tolist()
    found |= {"problem": name, "rival": rival + label, "seed": seed, "rows": len(problem.y)}
    found |= {"classes": problem.n_classes, "features": problem.X.shape[1]}
    path.write_text(json.dumps(found, default=float))
    shown = f"{found['test']:.2f} % in {found['seconds']:.1f} s"
    print(f"{name}, seed {seed}, {rival}{label}: {shown}", flush=True)


def summarise(out: Path) -> dict[str, Any]:
    """Return mean accuracies and times of all that was run, and the differences to auto."""
    found = [json.loads(path.read_text()) for path in sorted(out.glob("*.*.json"))]
    problems: dict[str, Any] = {}
    for name in dict.fromkeys(one["problem"] for one in found):
        here = [one for one in found if one["problem"] == name]
        rivals = {}
        for rival in dict.fromkeys(one["rival"] for one in here):
            some = [one for one in here if one["rival"] == rival]
            rivals[rival] = {
                "test": [round(one["test"], 2) for one in some],
                "seconds": [round(one["seconds"], 1) for one in some],
                "folds": [round(one["cv"], 2) for one in some if "cv" in one],
            }
        facts = {key: here[0][key] for key in ("rows", "features", "classes")}
        problems[name] = facts | {"rivals": rivals} | compare(here)
    return with_mean(problems)


def with_mean(problems: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of problems, with the mean of their differences."""
    known = [one["difference"] for one in problems.values() if "difference" in one]
    return {"problems": problems, "mean_difference": float(np.mean(known)) if known else None}


def update(before: dict[str, Any], summary: dict[str, Any]) -> dict[str, Any]:
    """Return an earlier summary, in which what was run again replaces what was there."""
    problems = dict(before["problems"])
    for name, problem in summary["problems"].items():
        rivals = problems.get(name, {}).get("rivals", {}) | problem["rivals"]
        problems[name] = problem | {"rivals": rivals}  # an earlier comparison no longer holds
    return with_mean(problems)


def print_summary(summary: dict[str, Any]) -> None:
    """Print what `summarise` returns."""
    for name, problem in summary["problems"].items():
        print(f"\n{name}")
        for rival, one in problem["rivals"].items():
            folds = f", folds {np.mean(one['folds']):.2f}" if one["folds"] else ""
            print(
                f"  {rival:24} {np.mean(one['test']):6.2f} over {len(one['test'])} seeds, "
                f"{np.mean(one['seconds']):8.1f} s{folds}"
            )
        if "difference" in problem:
            against = ", ".join(problem["against"])
            print(
                f"  auto {problem['difference']:+.2f} against {against}, "
                f"standard error {problem['error']:.2f}"
            )
    if summary["mean_difference"] is not None:
        print(f"\nmean difference over problems: {summary['mean_difference']:+.2f}")


TITLES = {
    "digits": "digits",
    "omniglot": "Omniglot, pixels",
    "omniglot rotated": "Omniglot, upright and rotated, gradient orientations",
    "scene15 network": "Scene 15, network",
    "scene15 fisher": "Scene 15, Fisher vectors",
    "caltech101 network": "Caltech-101, network",
    "caltech101 fisher": "Caltech-101, Fisher vectors",
    "caltech101 fisher pq": "the same, product codes",
    "tiny200 network": "Tiny-ImageNet, network",
    "tiny200 few": "20 rows per class of it",
    "tiny200 tail": "its long tail, 100 to 2 rows per class",
    "glyphs": "drawn characters, Fisher vectors of 32 Gaussians",
    "many": "drawn rows in families of classes",
}
TABLE_HEAD = (
    "problem",
    "rows x features, classes",
    "auto",
    "seconds",
    "LogisticRegressionCV, 6 values",
    "seconds",
    "auto against the best rival",
)


def make_table(summary: dict[str, Any]) -> str:
    """Return what `summarise` returns as Markdown."""
    lines = [f"| {' | '.join(TABLE_HEAD)} |", "|" + "---|" * len(TABLE_HEAD)]
    for name, title in TITLES.items():
        problem = summary["problems"].get(name)
        if problem is None or "auto" not in problem["rivals"]:
            continue
        n_splits = len(problem["rivals"]["auto"]["test"])
        shape = f"{problem['rows']:,} x {problem['features']:,}, {problem['classes']}"
        cells = [title + (f", {n_splits} splits" if n_splits > 1 else ""), shape]
        for rival in ("auto", "logistic cv"):
            found = problem["rivals"].get(rival)
            seconds = np.mean(found["seconds"]) if found else 0.0
            shown = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"
            cells += [f"{np.mean(found['test']):.2f}", shown] if found else ["", ""]
        n_rivals = sum(bool(rival["folds"]) for rival in problem["rivals"].values())
        if "difference" in problem:
            ahead = f"{problem['difference']:+.2f} ± {problem['error']:.2f}".replace("-", "−")
            cells.append(f"{ahead}, of {n_rivals} rival{'s' * (n_rivals > 1)}")
        else:
            cells.append("")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def compare(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how auto compares with the rival that the folds choose, seed by seed, on average."""
    differences, against, draws = [], [], np.random.default_rng(0)
    samples = np.zeros(BOOTSTRAP)
    for seed in sorted({one["seed"] for one in found}):
        some = {one["rival"]: one for one in found if one["seed"] == seed}
        others = [one for one in some.values() if "cv" in one]
        if "auto" in some and others:
            best = max(others, key=lambda one: one["cv"])
            differences.append(some["auto"]["test"] - best["test"])
            against.append(best["rival"])
            samples += bootstrap(some["auto"], best, draws)
    if not differences:
        return {}
    error = float(samples.std() / len(differences))
    return {"difference": float(np.mean(differences)), "error": error, "against": against}


def bootstrap(
    first: dict[str, Any], second: dict[str, Any], draws: np.random.Generator
) -> np.ndarray:
    """Return differences of mean class accuracy on test rows drawn with replacement."""
    y = np.array(first["truths"])
    gain = (np.array(first["guesses"]) == y).astype(float) - (np.array(second["guesses"]) == y)
    gain *= 100.0 / np.bincount(y)[y] / len(np.unique(y))
    return np.array([gain[draws.integers(len(y), size=len(y))].sum() for _ in range(BOOTSTRAP)])


def main() -> None:
    """Run what is asked for."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--out", type=Path, help="a folder that keeps stores and results")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--quick", action="store_true", help="digits, auto and ridge, one seed")
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--label", default="")
    parser.add_argument("--table", action="store_true", help="print what has been run so far")
    parser.add_argument("--summary", type=Path, help="print it, and update a JSON file with it")
    parser.add_argument("--page", type=Path, help="write its table to a page")
    options = parser.parse_args()
    options.out = keep_folder(options.out, quick=options.quick)
    if options.table or options.summary:
        summary = summarise(options.out)
        if options.summary is not None and options.summary.exists():
            summary = update(json.loads(options.summary.read_text()), summary)
        print_summary(summary)
        write_results(options.summary, describe_run() | summary)
        if options.page:
            fill_page(options.page, {"automatic": make_table(summary)})
        return
    if options.quick:
        options.problems, options.rivals, options.seeds = "digits", "auto,ridge", 1
    else:
        need(options.data, DATA)
    for name in options.problems.split(","):
        for rival in options.rivals.split(","):
            for seed in range(options.seeds):
                run(name, rival, seed, options.data, options.out, options.label)


if __name__ == "__main__":
    main()
