"""The same data to other trainers and to ours: time of an epoch, accuracy, time to an accuracy.

    pip install -e ".[bench]"
    python benchmarks/peers.py --peer adamw                        # one beside ours, 1 to 3 min
    python benchmarks/peers.py --out benchmarks/results/peers.json # all, merged into one file
    python benchmarks/peers.py --quick                             # small, to see that all runs
    python benchmarks/peers.py --table benchmarks/results/peers.json

One thread. Shape (a): N = 40,000, D = 1024, C = 500, and 4,000 more to validate on. Classes
overlap, rows of all classes vary together in some directions, and the features' variances decay as
those of PCA do, the j-th in proportion to 1 / j. On rows with the same noise in all directions
class means would beat every trainer.

Solvers that take minutes there get the rows of the first classes only, and so do we beside them:
`problem` says which. Every entry holds a run of ours on the same rows, in the same process. An
epoch is the third, without validation; times to an accuracy include validation after each epoch,
for PyTorch too. Kernels are compiled before.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from epochs import time_epochs
from record import describe_run, write_results

from myriad.parallel import team
from myriad.store import ArrayRows
from myriad.training import SGD, Conditioning, Means

FULL, QUICK = (40_000, 1024, 500), (3_000, 64, 20)
VALIDATION = 0.1
SUBSET = 0.1
"""The part of the classes that slow solvers get."""
EPOCHS = 10
EPOCH_RUNS = 3
BATCH = 256
SPREAD, SHARED, STRENGTH = 0.2, 64, 0.5
"""Deviations of class means and of what rows of all classes share, in that of the other noise; the
number of directions shared."""
OURS: dict[str, dict[str, Any]] = {
    "multiclass": {"objective": "multiclass"},
    "multiclass, averaged": {"objective": "multiclass", "conditioning": Conditioning(average=True)},
    "multiclass, unscaled": {"objective": "multiclass", "scale": False},
    "softmax": {"objective": "softmax"},
    "ovr": {"objective": "ovr"},
    "ovr, beta = 64": {"objective": "ovr", "beta": 64.0},
    "ovr, beta = all": {"objective": "ovr", "beta": math.inf},
}
"""Ours, and what is stated of each before the search."""
MARGIN = 0.2
"""Points below a peer's best validation accuracy that the race is run to."""
THIRDS = {"adamw": range(-5, 1), "sgd": range(1, 7)}
"""Powers of 3 that the steps of PyTorch are chosen from."""


@dataclass(frozen=True)
class Problem:
    """Rows to train and to validate on, of `n_classes` classes."""

    train: ArrayRows
    val: ArrayRows
    n_classes: int

    @property
    def shape(self) -> str:
        """What it is, in words."""
        return f"N = {self.train.n_rows}, D = {self.train.dim}, C = {self.n_classes}"

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and labels to train and to validate on."""
        parts = [
            (rows.read(np.arange(rows.n_rows)), rows.labels) for rows in (self.train, self.val)
        ]
        return *parts[0], *parts[1]


def draw_rows(n: int, dim: int, n_classes: int) -> ArrayRows:
    """Return rows of overlapping classes with a decaying spectrum, of mean squared norm about 1."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    means = rng.standard_normal((n_classes, dim), dtype=np.float32) * np.float32(SPREAD)
    shared = rng.standard_normal((SHARED, dim), dtype=np.float32)
    shared *= np.float32(STRENGTH / math.sqrt(SHARED))
    deviations = (1.0 + np.arange(dim)) ** -0.5
    deviations /= math.sqrt((deviations**2).sum())
    X = rng.standard_normal((n, dim), dtype=np.float32)
    for start in range(0, n, 1024):
        part = slice(start, start + 1024)
        some = labels[part]
        X[part] += means[some]
        X[part] += rng.standard_normal((len(some), SHARED), dtype=np.float32) @ shared
    X *= deviations.astype(np.float32)
    return ArrayRows(X, labels)


def draw_problem(n: int, dim: int, n_classes: int) -> Problem:
    """Draw the rows; the first `n` train."""
    rows = draw_rows(n + int(VALIDATION * n), dim, n_classes)
    return Problem(rows.select(np.arange(n)), rows.select(np.arange(n, rows.n_rows)), n_classes)


def take_classes(problem: Problem, part: float) -> Problem:
    """Return the problem of the first classes only."""
    few = max(2, int(part * problem.n_classes))
    sides = [
        rows.select(np.flatnonzero(rows.labels < few)) for rows in (problem.train, problem.val)
    ]
    return Problem(sides[0], sides[1], few)


def to_percent(guesses: np.ndarray, truths: np.ndarray) -> float:
    """Return top-1 accuracy over samples."""
    return round(100.0 * float((np.asarray(guesses) == truths).mean()), 2)


def race(curve: list[tuple[float, float]], target: float) -> float | None:
    """Return the seconds after which a curve of (seconds, top1) reaches the target."""
    return next((round(seconds, 3) for seconds, top1 in curve if top1 >= target), None)


def train_ours(problem: Problem, method: SGD) -> tuple[dict[str, Any], list[tuple[float, float]]]:
    """Train, and return settings and the curve of (seconds since the start, top1)."""
    began = time.perf_counter()
    fitted = method.fit(problem.train, problem.val, n_classes=problem.n_classes, threads=1)
    wall = time.perf_counter() - began
    before = wall - fitted.history[-1]["seconds"]  # a search that the history does not count
    curve = [(before + row["seconds"], row["top1"]) for row in fitted.history]
    return fitted.settings, curve


def measure_ours(problem: Problem, names: Sequence[str], target: float) -> dict[str, Any]:
    """Return epochs, accuracies and times of ours: settings found, and settings known."""
    warm = take_classes(problem, 0.02)
    lines = {"means": measure_means(problem, target)}
    print(f"    ours, means: {lines['means']}", flush=True)
    for name in names:
        train_ours(warm, SGD(**OURS[name], epochs=2))
        settings, searched = train_ours(problem, SGD(**OURS[name]))
        beta = settings.get("beta")
        stated = OURS[name] | {"eta": settings["eta"], "beta": math.inf if beta == "all" else beta}
        known = SGD(
            **stated,
            lam=settings["lam"],
            scale=settings["scale"],
            epochs=EPOCHS,
            patience=EPOCHS,
        )
        _, curve = train_ours(problem, known)
        lines[name] = {
            "settings": settings,
            "top1": round(max(top1 for _, top1 in curve), 2),
            "top1_by_epoch": [round(top1, 2) for _, top1 in curve],
            "epoch_seconds": time_third(problem, known),
            "seconds_to_target": race(curve, target),
            "seconds_to_target_with_search": race(searched, target),
            "seconds_to_the_end_with_search": round(searched[-1][0], 3),
            "top1_with_search": round(max(top1 for _, top1 in searched), 2),
        }
        print(f"    ours, {name}: {lines[name]}", flush=True)
    return lines


def time_third(problem: Problem, method: SGD) -> float:
    """Return the least seconds of the third epoch with known settings, without validation."""
    with team(1) as crew:
        runs = [
            time_epochs(problem.train, method, problem.n_classes, crew) for _ in range(EPOCH_RUNS)
        ]
    return round(min(seconds[-1] for seconds in runs), 4)


def measure_means(problem: Problem, target: float) -> dict[str, Any]:
    """Return accuracy and time of class means, which have nothing to search and no epochs."""
    for rows in (problem.val, problem.train):
        began = time.perf_counter()
        model = Means().fit(rows, None, n_classes=problem.n_classes, threads=1).model
        seconds = time.perf_counter() - began
    X_val, y_val = problem.arrays()[2:]
    top1 = to_percent(model.rank(X_val, 1)[0][:, 0], y_val)
    return {"top1": top1, "seconds": round(seconds, 4), "reaches_target": top1 >= target}


def run_torch(problem: Problem, name: str) -> dict[str, Any]:
    """Train PyTorch's Linear with every step of the grid; the best wins."""
    import torch

    torch.set_num_threads(1)
    X, y, X_val, y_val = problem.arrays()
    rows, labels = torch.from_numpy(X), torch.from_numpy(y.astype(np.int64))
    held, truths = torch.from_numpy(X_val), torch.from_numpy(y_val.astype(np.int64))

    def train(step: float, epochs: int = EPOCHS) -> tuple[list[tuple[float, float]], float]:
        """Return the curve, and the seconds of the last epoch without validation."""
        torch.manual_seed(0)
        model = torch.nn.Linear(problem.train.dim, problem.n_classes)
        if name == "adamw":
            optimiser: Any = torch.optim.AdamW(model.parameters(), lr=step)
        else:
            optimiser = torch.optim.SGD(model.parameters(), lr=step, momentum=0.9)
        curve, began = [], time.perf_counter()
        for _ in range(epochs):
            epoch_began = time.perf_counter()
            for batch in torch.randperm(len(rows)).split(BATCH):
                optimiser.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(rows[batch]), labels[batch])
                loss.backward()
                optimiser.step()
            seconds = time.perf_counter() - epoch_began
            with torch.no_grad():
                right = float((model(held).argmax(1) == truths).float().mean())
            curve.append((time.perf_counter() - began, round(100 * right, 2)))
        return curve, seconds

    train(1e-3, epochs=1)  # warm
    found = {3.0**power: train(3.0**power) for power in THIRDS[name]}
    curves = {step: curve for step, (curve, _) in found.items()}
    best = max(top1 for curve in curves.values() for _, top1 in curve)
    reached = {step: race(curve, best - MARGIN) for step, curve in curves.items()}
    step = min((s for s in reached if reached[s] is not None), key=lambda s: reached[s] or 0)
    return {
        "steps": {f"{s:.4g}": max(top1 for _, top1 in curve) for s, curve in curves.items()},
        "step": round(step, 6),
        "epochs": EPOCHS,
        "epoch_seconds": round(min(seconds for _, seconds in found.values()), 3),
        "top1": best,
        "top1_by_epoch": [top1 for _, top1 in curves[step]],
        "target": round(best - MARGIN, 2),
        "seconds_to_target": reached[step],
    }


def run_sgd_classifier(problem: Problem) -> dict[str, Any]:
    """Train scikit-learn's SGDClassifier for three epochs: hinge loss, nothing averaged."""
    from sklearn.linear_model import SGDClassifier

    X, y, X_val, y_val = problem.arrays()
    model = SGDClassifier(loss="hinge", average=False, random_state=0)
    classes = np.arange(problem.n_classes)
    times = [time.perf_counter()]
    for _ in range(3):
        model.partial_fit(X, y, classes=classes)
        times.append(time.perf_counter())
    found = finish(times[-1] - times[0], to_percent(model.predict(X_val), y_val), epochs=3)
    return found | {"epoch_seconds": round(float(np.diff(times).min()), 3)}


def run_linear_svc(problem: Problem, form: str) -> dict[str, Any]:
    """Train scikit-learn's LinearSVC to its end."""
    from sklearn.svm import LinearSVC

    X, y, X_val, y_val = problem.arrays()
    model = LinearSVC(multi_class=form, random_state=0)
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    return finish(seconds, to_percent(model.predict(X_val), y_val))


def run_liblinear(problem: Problem, solver: int) -> dict[str, Any]:
    """Train liblinear itself, solver 3 (hinge, dual) or 4 (Crammer-Singer)."""
    from liblinear.liblinearutil import parameter, predict, train
    from liblinear.liblinearutil import problem as make_problem
    from scipy.sparse import csr_matrix

    X, y, X_val, y_val = problem.arrays()
    task = make_problem(y.astype(np.float64), csr_matrix(X.astype(np.float64)))
    began = time.perf_counter()
    model = train(task, parameter(f"-s {solver} -q"))
    seconds = time.perf_counter() - began
    guesses, _, _ = predict([], csr_matrix(X_val.astype(np.float64)), model, "-q")
    return finish(seconds, to_percent(np.array(guesses), y_val))


def run_cyanure(problem: Problem) -> dict[str, Any]:
    """Train cyanure's multinomial logistic regression, the weight of the norm from a grid."""
    from cyanure.estimators import Classifier

    X, y, X_val, y_val = problem.arrays()
    found = []
    for power in (-5, -4, -3):
        model = Classifier(
            loss="multiclass-logistic",
            lambda_1=10.0**power,
            max_iter=30,
            n_threads=1,
            verbose=False,
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        found.append((to_percent(model.predict(X_val), y_val), seconds, 10.0**power))
    top1, seconds, lam = max(found)
    return finish(seconds, top1) | {"lambda_1": lam, "max_iter": 30}


def run_wabbit(problem: Problem, subsample: int | None) -> dict[str, Any]:
    """Train Vowpal Wabbit's one-against-all for some epochs; parsing is not counted."""
    from vowpalwabbit import Workspace

    X, y, X_val, y_val = problem.arrays()
    options = f"--oaa {problem.n_classes} --quiet -b 24 --loss_function hinge --random_seed 0"
    options += f" --oaa_subsample {subsample}" if subsample else ""
    wabbit = Workspace(options, enable_logging=False)

    def parse(rows: np.ndarray, labels: np.ndarray | None) -> Iterator[Any]:
        for i, row in enumerate(rows):
            numbers = " ".join(f"{j}:{value:.5g}" for j, value in enumerate(row))
            yield wabbit.parse(f"{'' if labels is None else labels[i] + 1} | {numbers}")

    examples, held = list(parse(X, y)), list(parse(X_val, None))
    epochs = 3
    began = time.perf_counter()
    for _ in range(epochs):
        for example in examples:
            wabbit.learn(example)
    seconds = time.perf_counter() - began
    guesses = np.array([wabbit.predict(example) for example in held]) - 1
    for example in (*examples, *held):
        wabbit.finish_example(example)
    wabbit.finish()
    return finish(seconds, to_percent(guesses, y_val), epochs=epochs)


def finish(seconds: float, top1: float, epochs: int | None = None) -> dict[str, Any]:
    """Return the result of a peer that is run once; the race is to the accuracy it ends with."""
    found: dict[str, Any] = {"seconds_to_target": round(seconds, 3), "top1": top1, "target": top1}
    if epochs is not None:
        found |= {"epochs": epochs, "epoch_seconds": round(seconds / epochs, 3)}
    return found


@dataclass(frozen=True)
class Peer:
    """Another trainer: what runs it, whether on all classes, and what of ours runs beside it."""

    run: Callable[[Problem], dict[str, Any]]
    ours: tuple[str, ...]
    full: bool = False


JOINT = ("multiclass, averaged", "softmax", "multiclass", "multiclass, unscaled")
PEERS = {
    "adamw": Peer(lambda problem: run_torch(problem, "adamw"), JOINT, full=True),
    "sgd": Peer(lambda problem: run_torch(problem, "sgd"), JOINT[:2], full=True),
    "sgdclassifier": Peer(run_sgd_classifier, ("ovr, beta = all", "ovr, beta = 64"), full=True),
    "linearsvc ovr": Peer(lambda problem: run_linear_svc(problem, "ovr"), ("ovr", "softmax")),
    "linearsvc crammer_singer": Peer(
        lambda problem: run_linear_svc(problem, "crammer_singer"), JOINT[:1]
    ),
    "liblinear hinge": Peer(lambda problem: run_liblinear(problem, 3), ("ovr", "softmax")),
    "liblinear crammer_singer": Peer(lambda problem: run_liblinear(problem, 4), JOINT[:1]),
    "cyanure": Peer(run_cyanure, ("softmax",)),
    "wabbit": Peer(lambda problem: run_wabbit(problem, None), ("ovr",)),
    "wabbit subsample": Peer(lambda problem: run_wabbit(problem, 10), ("ovr",)),
}


def tell(entries: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a table in Markdown, as it stands on the page of the documentation."""
    yield "| peer | rows | its top-1 | its time | ours | our top-1 | known | searched |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, entry in entries.items():
        peer, shape = entry["peer"], entry["problem"].replace("N = ", "").split(",")[0]
        for mine, line in entry["ours"].items():
            if mine not in OURS:
                continue
            times = [line["seconds_to_target"], line["seconds_to_target_with_search"]]
            told = [f"{seconds:.2f} s" if seconds else "-" for seconds in times]
            yield (
                f"| {name} | {int(shape):,} | {peer['top1']:.1f} | {peer['seconds_to_target']:.1f} "
                f"s | {mine} | {line['top1']:.1f} | {told[0]} | {told[1]} |"
            )


def compare(peer: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return how many times faster each of ours is; None where it never gets there."""
    pairs = {
        "epoch": ("epoch_seconds", "epoch_seconds"),
        "to_target": ("seconds_to_target", "seconds_to_target"),
        "to_target_with_search": ("seconds_to_target", "seconds_to_target_with_search"),
    }
    return {
        name: {
            what: round(peer[theirs] / line[mine], 2) if line[mine] else None
            for what, (theirs, mine) in pairs.items()
            if theirs in peer
        }
        for name, line in ours.items()
        if name in OURS
    }


def main() -> None:
    """Measure, print, and merge into a JSON file if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=list(PEERS), help="by default all, one after the other")
    parser.add_argument("--ours", choices=list(OURS), nargs="+", help="what of ours to run")
    parser.add_argument("--quick", action="store_true", help="small rows")
    parser.add_argument("--out", type=Path, help="a JSON file to merge the results into")
    parser.add_argument("--table", type=Path, help="only print such a file as a table")
    options = parser.parse_args()
    if options.table is not None:
        print("\n".join(tell(json.loads(options.table.read_text()))))
        return
    warnings.simplefilter("ignore")
    whole = draw_problem(*(QUICK if options.quick else FULL))
    names = [options.peer] if options.peer else list(PEERS)
    for name in names:
        chosen = PEERS[name]
        problem = whole if chosen.full else take_classes(whole, SUBSET)
        print(f"{name}: {problem.shape}", flush=True)
        peer = chosen.run(problem)
        print(f"    {peer}", flush=True)
        ours = measure_ours(problem, options.ours or chosen.ours, peer["target"])
        entry = {
            **describe_run(),
            "problem": problem.shape,
            "peer": peer,
            "ours": ours,
            "times_faster": compare(peer, ours),
        }
        print(f"    times faster: {entry['times_faster']}", flush=True)
        if options.out is not None:
            kept = json.loads(options.out.read_text()) if options.out.exists() else {}
            write_results(options.out, {**kept, name: entry})


if __name__ == "__main__":
    main()
