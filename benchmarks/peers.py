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

from epochs import time_epochs
from peer_problems import Problem, draw_problem, take_classes, time_to_target, to_percent
from peer_trainers import (
    EPOCHS,
    run_cyanure,
    run_liblinear,
    run_linear_svc,
    run_sgd_classifier,
    run_torch,
    run_wabbit,
)
from record import describe_run, write_results

from myriad.parallel import open_threads
from myriad.training import SGD, Context, Means, OptimiserOptions

FULL, QUICK = (40_000, 1024, 500), (3_000, 64, 20)
SUBSET = 0.1
"""The part of the classes that slow solvers get."""
EPOCH_RUNS = 3
OURS: dict[str, dict[str, Any]] = {
    "multiclass": {"objective": "multiclass"},
    "multiclass, averaged": {
        "objective": "multiclass",
        "optimiser": OptimiserOptions(average=True),
    },
    "multiclass, unscaled": {"objective": "multiclass", "scale": False},
    "softmax": {"objective": "softmax"},
    "ovr": {"objective": "ovr"},
    "ovr, beta = 64": {"objective": "ovr", "beta": 64.0},
    "ovr, beta = all": {"objective": "ovr", "beta": math.inf},
}
"""Ours, and what is stated of each before the search."""


def train_ours(problem: Problem, method: SGD) -> tuple[dict[str, Any], list[tuple[float, float]]]:
    """Train, and return settings and the curve of (seconds since the start, top1)."""
    began = time.perf_counter()
    fitted = method.fit(
        problem.train, problem.val, n_classes=problem.n_classes, context=Context(threads=1)
    )
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
        stated = {key: settings[key] for key in ("eta", "lam", "scale")}
        stated |= {"beta": math.inf if beta == "all" else beta}
        known = SGD(**(OURS[name] | stated), epochs=EPOCHS, patience=EPOCHS)
        _, curve = train_ours(problem, known)
        lines[name] = {
            "settings": settings,
            "top1": round(max(top1 for _, top1 in curve), 2),
            "top1_by_epoch": [round(top1, 2) for _, top1 in curve],
            "epoch_seconds": time_third(problem, known),
            "seconds_to_target": time_to_target(curve, target),
            "seconds_to_target_with_search": time_to_target(searched, target),
            "seconds_to_the_end_with_search": round(searched[-1][0], 3),
            "top1_with_search": round(max(top1 for _, top1 in searched), 2),
        }
        print(f"    ours, {name}: {lines[name]}", flush=True)
    return lines


def time_third(problem: Problem, method: SGD) -> float:
    """Return the least seconds of the third epoch with known settings, without validation."""
    with open_threads(1) as pool:
        runs = [
            time_epochs(problem.train, method, problem.n_classes, pool) for _ in range(EPOCH_RUNS)
        ]
    return round(min(seconds[-1] for seconds in runs), 4)


def measure_means(problem: Problem, target: float) -> dict[str, Any]:
    """Return accuracy and time of class means, which have nothing to search and no epochs."""
    for rows in (problem.val, problem.train):
        began = time.perf_counter()
        model = (
            Means().fit(rows, None, n_classes=problem.n_classes, context=Context(threads=1)).model
        )
        seconds = time.perf_counter() - began
    X_val, y_val = problem.arrays()[2:]
    top1 = to_percent(model.rank(X_val, 1)[0][:, 0], y_val)
    return {"top1": top1, "seconds": round(seconds, 4), "reaches_target": top1 >= target}


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


def format_lines(entries: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the table in Markdown that the documentation shows."""
    yield "| peer | rows | its top-1 | its time | ours | our top-1 | known | searched |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, entry in entries.items():
        peer, shape = entry["peer"], entry["problem"].replace("N = ", "").split(",")[0]
        for mine, line in entry["ours"].items():
            if mine not in OURS:
                continue
            times = [line["seconds_to_target"], line["seconds_to_target_with_search"]]
            shown = [f"{seconds:.2f} s" if seconds else "-" for seconds in times]
            yield (
                f"| {name} | {int(shape):,} | {peer['top1']:.1f} | {peer['seconds_to_target']:.1f} "
                f"s | {mine} | {line['top1']:.1f} | {shown[0]} | {shown[1]} |"
            )


def compare(peer: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return how many times faster each of ours is; None where it does not reach the target."""
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
        print("\n".join(format_lines(json.loads(options.table.read_text()))))
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
