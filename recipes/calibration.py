"""How honest probabilities, prediction sets and novelty are, on rows that were never trained on.

Command:   python recipes/calibration.py --data DATA --out runs/calibration [--problems scene15]
           [--methods auto,softmax] [--seeds 5] [--novelty]
           python recipes/calibration.py --out runs/calibration [--table] [--save FILE]
           python recipes/calibration.py --quick             # digits of scikit-learn, seconds
Time:      one thread: 5 s (softmax, caltech101) to 3 minutes (auto, omniglot) a seed
Expected:  see docs/probabilities.md; --table prints what has been run so far, --save writes it to
           FILE, where it replaces the same problems and methods

For every problem, method and seed a classifier is trained with its defaults, and its probabilities
are compared with what happens on the test rows: the expected calibration error of the best class in
15 bins of equally many rows, minus its mean when labels are drawn from the probabilities; the same
for plain temperature scaling of the same scores. Prediction sets are compared with those of MAPIE
from the same calibration rows. --novelty leaves a fifth of the classes out of training, and tells
by the area under the ROC curve how well scores of novelty find them. Every result is a JSON file in
OUT; what is there is not run again.

DATA and the stores of photographs are those of automatic_problems.py.
"""

from __future__ import annotations

import json
import time
import warnings
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from automatic_problems import DATA, NETWORK, PROBLEMS, Problem, load_store
from calibration_peers import mapie_sets, novelty_scores, temperature_only
from results import keep_folder, make_parser, need
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import myriad
from myriad.measures.calibration import calibration_error, chance_error
from myriad.pipelines.evidence.documentation import environment

SHORT = ("--components", "16", "--regions", "1")
"""Fisher vectors of 20,000 images of 64 pixels, on which every method is trained in minutes."""
MEASURED = {
    "caltech101": PROBLEMS["caltech101 network"],
    "tiny200": PROBLEMS["tiny200 network"],
    "tiny200 few": PROBLEMS["tiny200 few"],
    "caltech101 fisher": partial(load_store, "caltech101.zip", "fisher", "none", options=SHORT),
    "tiny200 fisher": partial(load_store, "tiny200.zip", "fisher", "none", options=SHORT),
    "scene15": partial(load_store, "scene15", NETWORK, "none"),
    "omniglot": PROBLEMS["omniglot"],
    "digits": PROBLEMS["digits"],
}
QUICK = "digits"


def keep_held_scores(kind: type) -> type:
    """Return an estimator that keeps the scores of the rows it was calibrated by."""

    def take(self: Any, fitted: Any) -> None:
        kind._take(self, fitted)
        self.held_scores_ = fitted.held_scores

    return type(kind.__name__, (kind,), {"_take": take, "__init__": kind.__init__})


METHODS = {
    "auto": keep_held_scores(myriad.LinearClassifier),
    "ovr": keep_held_scores(myriad.LinearSGD),
    "softmax": partial(keep_held_scores(myriad.LinearSGD), objective="softmax"),
    "dual": keep_held_scores(myriad.DualSVM),
    "wsabie": keep_held_scores(myriad.Wsabie),
}
COVERAGES = {"network": (0.95, 0.99), "fisher": (0.90,)}
LEFT_OUT = 0.2


def measure_error(probabilities: np.ndarray, y: np.ndarray) -> float:
    """Return the calibration error beyond what chance gives to perfect probabilities."""
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    return calibration_error(confidence, correct) - chance_error(confidence)


def describe_sets(sets: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return coverage and mean size of sets, a matrix of rows and classes."""
    covered = sets[np.arange(len(y)), y]
    return {"coverage": float(covered.mean()), "size": float(sets.sum(axis=1).mean())}


def measure_sets(
    model: Any, problem: Problem, held: tuple[Any, Any], coverage: float
) -> dict[str, Any]:
    """Return what sets of a coverage reach, ours and those of MAPIE, from the same rows."""
    n_classes = len(model.classes_)
    X, y = problem.X_test, problem.y_test
    test = model.predict_proba(X)
    found: dict[str, Any] = {"top1": float((test.argmax(axis=1) == y).mean())}
    for method in ("raps", "lac"):
        sets = model.predict_set(X, coverage, method=method)
        matrix = np.zeros((len(sets), n_classes), bool)
        for row, labels in enumerate(sets):
            matrix[row, labels] = True
        found[method] = describe_sets(matrix, y)
        peer = mapie_sets(*held, test, coverage, method)
        if peer is not None:
            found[f"mapie {method}"] = describe_sets(peer, y)
    return found


def run(name: str, method: str, seed: int, data: Path, out: Path) -> None:
    """Measure a method on a problem unless its result is there."""
    path = out / f"{name.replace(' ', '-')}.{method}.{seed}.json"
    if path.exists():
        return
    problem = MEASURED[name](data, out, seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model = METHODS[method](threads=1, random_state=seed).fit(problem.X, problem.y)
        seconds = time.perf_counter() - began
        probabilities = model.predict_proba(problem.X_test)
        scores = model.model_.scores(problem.X_test)
        found: dict[str, Any] = {
            "problem": name,
            "method": method,
            "seed": seed,
            "rows": model.calibration_.n_rows,
            "source": model.calibration_.source,
            "accuracy": float((probabilities.argmax(axis=1) == problem.y_test).mean()),
            "error": measure_error(probabilities, problem.y_test),
            "temperature": measure_error(
                temperature_only(model.held_scores_, scores), problem.y_test
            ),
            "seconds": seconds,
        }
        if method in ("auto", "softmax"):
            held = model.held_scores_, model.calibration_
            wanted = COVERAGES["fisher" if name.endswith("fisher") else "network"]
            found["sets"] = {str(c): measure_sets(model, problem, held, c) for c in wanted}
    path.write_text(json.dumps(found))
    print(f"{name}, {method}, seed {seed}: error {found['error']:.4f}, {seconds:.1f} s", flush=True)


def run_novelty(name: str, seed: int, data: Path, out: Path) -> None:
    """Measure how well scores of novelty find the rows of classes that were left out."""
    path = out / f"{name.replace(' ', '-')}.novelty.{seed}.json"
    if path.exists():
        return
    problem = MEASURED[name](data, out, seed)
    n_classes = problem.n_classes
    left_out = np.random.default_rng(seed).permutation(n_classes)[: int(LEFT_OUT * n_classes)]
    kept = ~np.isin(problem.y, left_out)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS["softmax"](threads=1, random_state=seed)
        model.fit(problem.X[kept], problem.y[kept])
        scores = novelty_scores(model, problem.X[kept], problem.y[kept], problem.X_test)
    unknown = np.isin(problem.y_test, left_out)
    areas = {score: float(roc_auc_score(unknown, values)) for score, values in scores.items()}
    path.write_text(json.dumps({"problem": name, "seed": seed, "areas": areas}))
    print(f"{name}, seed {seed}: {areas['novelty']:.4f}", flush=True)


def average(values: list[float | None]) -> float | None:
    """Return the mean over seeds; None unless all were measured, as others do not compare."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def gather(out: Path) -> dict[str, Any]:
    """Return the means over seeds of all that was run."""
    found = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    errors, sets, areas = [], [], []
    runs = [one for one in found if "error" in one]
    for key in dict.fromkeys((one["problem"], one["method"]) for one in runs):
        some = [one for one in runs if (one["problem"], one["method"]) == key]
        names = ("rows", "accuracy", "error", "temperature", "seconds")
        mean = {name: average([one[name] for one in some]) for name in names}
        errors.append({"problem": key[0], "method": key[1], "seeds": len(some)} | mean)
        for wanted in some[0].get("sets", {}):
            row: dict[str, Any] = {"problem": key[0], "method": key[1], "wanted": float(wanted)}
            for kind in ("raps", "mapie raps", "lac", "mapie lac"):
                for what in ("coverage", "size"):
                    reached = [one["sets"][wanted].get(kind) for one in some]
                    row[f"{kind} {what}"] = average([one and one[what] for one in reached])
            row["top1"] = float(np.mean([one["sets"][wanted]["top1"] for one in some]))
            sets.append(row)
    for name in dict.fromkeys(one["problem"] for one in found if "areas" in one):
        some = [one["areas"] for one in found if "areas" in one and one["problem"] == name]
        means = {score: float(np.mean([one[score] for one in some])) for score in some[0]}
        areas.append({"problem": name, "seeds": len(some), "areas": means})
    return {"calibration": errors, "sets": sets, "novelty": areas}


def merge(kept: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found, with rows of other problems and methods that were kept before."""

    def name(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["problem"], row.get("method", ""), row.get("wanted", 0.0)

    merged = {}
    for part, rows in found.items():
        new = {name(row) for row in rows}
        merged[part] = sorted([*rows, *(r for r in kept[part] if name(r) not in new)], key=name)
    return merged


def show(value: float | None) -> str:
    """Return a number for the table, or a dash."""
    return "-" if value is None else f"{value:6.4f}"


def print_table(found: dict[str, Any]) -> None:
    """Print the means over seeds."""
    print("problem          method   seeds   rows  top-1   error  temperature alone")
    for row in found["calibration"]:
        print(
            f"{row['problem']:16} {row['method']:8} {row['seeds']:5} {row['rows']:6.0f} "
            f"{100 * row['accuracy']:6.1f}  {row['error']:6.4f}  {show(row['temperature'])}"
        )
    print("\nproblem          method   wanted   top-1   raps          MAPIE         lac   ...")
    for row in found["sets"]:
        cells = [
            f"{100 * row[f'{kind} coverage']:5.1f} {row[f'{kind} size']:6.2f}"
            if row[f"{kind} size"] is not None
            else f"{'-':>12}"
            for kind in ("raps", "mapie raps", "lac", "mapie lac")
        ]
        shown = "  ".join([f"{row['wanted']:6.2f}", f"{100 * row['top1']:6.1f}", *cells])
        print(f"{row['problem']:16} {row['method']:8} {shown}")
    for row in found["novelty"]:
        print(f"\n{row['problem']}, classes left out, {row['seeds']} seeds")
        for score, area in sorted(row["areas"].items(), key=lambda item: -item[1]):
            print(f"  {score:32} {area:.4f}")


def main() -> None:
    """Run what is asked for."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--out", type=Path, help="a folder that keeps stores and results")
    parser.add_argument("--problems", default=",".join(n for n in MEASURED if n != QUICK))
    parser.add_argument("--quick", action="store_true", help="digits, dual, one seed")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--novelty", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    options.out = keep_folder(options.out, quick=options.quick)
    if options.table or options.save:
        found = gather(options.out)
        if options.save and options.save.exists():
            found = merge(json.loads(options.save.read_text()), found)
        print_table(found)
        if options.save:
            stamp = {"created": datetime.now(UTC).isoformat(timespec="seconds")}
            facts = stamp | {"environment": environment()}
            options.save.write_text(json.dumps(facts | found, indent=1) + "\n")
        return
    if options.quick:
        options.problems, options.methods, options.seeds = QUICK, "dual", 1
    else:
        need(options.data, DATA)
    for seed in range(options.seeds):
        for name in options.problems.split(","):
            if options.novelty:
                run_novelty(name, seed, options.data, options.out)
                continue
            for method in options.methods.split(","):
                run(name, method, seed, options.data, options.out)


if __name__ == "__main__":
    main()
