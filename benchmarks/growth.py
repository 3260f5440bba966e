"""How time and memory grow when rows, features, classes or workers are doubled, one at a time.

    python benchmarks/growth.py --out benchmarks/results/growth.json
    python benchmarks/growth.py --table benchmarks/results/growth.json
    python benchmarks/growth.py --parts workers --out benchmarks/results/growth-workers.json

Each job is an epoch of training on drawn rows, or the ranking of rows, on one thread. Time is
processor time, the least of some runs; memory is the most private memory above what there was
before, without the rows. The bare product of rows and weights is measured in the same way. Growth
is given as an exponent: doubling a size multiplies by ``2 ** exponent``; 1 is the straight line. It
is that of the line through the logarithms of all sizes. Workers: an epoch of one-vs-rest on a
local cluster of 1, 2 and 4 workers of one thread each, elapsed time, beside what ``myriad plan``
expects from the time of one.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cluster import OVR, time_ovr, write_store
from epochs import draw_rows
from memory import Watch
from record import describe_run, write_results

from myriad.models import LinearModel
from myriad.parallel import ThreadPool, open_cluster
from myriad.pipelines.planning.clusters import Cluster, plan_clusters
from myriad.pipelines.planning.machine import load_or_measure_machine
from myriad.pipelines.planning.plan import Job as PlannedJob
from myriad.pipelines.planning.plan import Planned, Step
from myriad.store import ArrayRows
from myriad.training import SGD
from myriad.training.settings import mean_square
from myriad.training.sgd.fitting import Task

BASE = {"rows": 8192, "features": 512, "classes": 512}
DOUBLINGS = 4
"""Sizes of each kind: the base, and its doubles."""
REPEATS = 3
"""Runs of which the fastest counts."""
STRAIGHT = 1.1
"""Exponents above this one are marked."""
Job = Callable[[ArrayRows, int], Callable[[], object]]


def train(objective: str, beta: float | None = None) -> Job:
    """Return a job: an epoch of SGD, after one that is not counted."""

    def prepare(rows: ArrayRows, n_classes: int) -> Callable[[], object]:
        method = SGD(objective=objective, eta=0.3 / mean_square(rows), beta=beta, scale=False)
        task = Task(method, rows, None, n_classes)
        setting = task.default_setting
        trainer, scaled = task.make([setting], rows), task.rows_for(rows, setting)
        pool = ThreadPool(1, None)
        return lambda: trainer.run_epoch(scaled, seed=0, pool=pool, advance=lambda n: None)

    return prepare


def rank(rows: ArrayRows, n_classes: int) -> Callable[[], object]:
    """Return a job: the 5 best classes of all rows."""
    model = LinearModel(draw_weights(rows.dim, n_classes), np.zeros(n_classes, np.float32))
    return lambda: model.rank(rows.X, 5)


def multiply(rows: ArrayRows, n_classes: int) -> Callable[[], object]:
    """Return a job: the bare product, some rows at a time."""
    W = draw_weights(rows.dim, n_classes)

    def run() -> None:
        for start in range(0, rows.n_rows, 1024):
            _ = rows.X[start : start + 1024] @ W.T

    return run


def draw_weights(dim: int, n_classes: int) -> np.ndarray:
    """Return random weights."""
    return np.random.default_rng(1).standard_normal((n_classes, dim), dtype=np.float32)


JOBS: dict[str, Job] = {
    "product": multiply,
    "multiclass": train("multiclass"),
    "warp": train("warp"),
    "softmax": train("softmax"),
    "ovr, beta = 64": train("ovr", 64.0),
    "ovr, beta = all": train("ovr", float("inf")),
    "predict_topk": rank,
}


def measure(job: Job, rows: ArrayRows, n_classes: int, repeats: int) -> dict[str, float]:
    """Return the seconds of a job at its best, and the bytes of private memory at its most."""
    ctypes.CDLL(None).malloc_trim(0)
    with Watch() as watch:
        run = job(rows, n_classes)
        run()
        seconds = []
        for _ in range(repeats):
            began = time.process_time()
            run()
            seconds.append(time.process_time() - began)
    return {"seconds": min(seconds), "memory": float(watch.most - watch.before)}


def find_exponent(sizes: list[int], values: list[float]) -> float:
    """Return the slope of the line through the logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)
    return round(float(slope), 2)


def measure_growth(
    name: str, base: dict[str, int], jobs: list[str], doublings: int, repeats: int
) -> dict[str, Any]:
    """Return what each job takes while one size is doubled, and the exponents."""
    sizes = [base[name] * 2**i for i in range(doublings)]
    found: dict[str, Any] = {job: {"seconds": [], "memory": []} for job in jobs}
    few = draw_rows(64, 16, 8)
    for job in jobs:  # kernels are compiled, or loaded
        JOBS[job](few, 8)()
    for size in sizes:
        shape = base | {name: size}
        rows = draw_rows(shape["rows"], shape["features"], shape["classes"])
        for job in jobs:
            taken = measure(JOBS[job], rows, shape["classes"], repeats)
            for what, value in taken.items():
                found[job][what].append(value)
    for job, taken in found.items():
        for what in ("seconds", "memory"):
            taken[f"{what} exponent"] = find_exponent(sizes, taken[what])
        print(f"{name:<9} {job:<16} time {taken['seconds exponent']:.2f}", flush=True)
    return {"sizes": sizes, "jobs": found}


def measure_workers(share: float) -> dict[str, Any]:
    """Return the seconds of an epoch of one-vs-rest on 1, 2 and 4 local workers."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sizes = {name: int(share * size) if name == "rows" else size for name, size in OVR.items()}
        store = write_store(folder / "ovr", **sizes, spread=3.0)
        for workers in (1, 2, 4):
            with open_cluster(f"local:{workers}") as executor:
                found[str(workers)] = time_ovr(store, folder, executor)
            print(f"{workers} workers {found[str(workers)]:.2f} s", flush=True)
    expected = expect_workers(sizes, found["1"])
    print("expected", expected)
    return {"shape": sizes, "seconds": found, "expected": expected}


def expect_workers(shape: dict[str, int], alone: float) -> dict[str, float]:
    """Return the seconds that ``plan --workers`` expects of an epoch, from those of one worker.

    The workers share the cores and the disk of this machine.
    """
    machine = load_or_measure_machine()
    job = PlannedJob(
        images=shape["rows"], classes=shape["classes"], dim=shape["dim"], epochs=1, workers=1
    )
    step = Step("train", alone, 0.0, 0.0)
    planned = Planned(job, machine, {}, job.dim or 0, 4 * shape["dim"], [step, step], [])
    shared = Cluster(network=machine.read, shared=machine.read, cores=machine.cores)
    return {
        str(scaled.workers): round(float(scaled.seconds), 3)
        for scaled in plan_clusters(planned, [1, 2, 4], shared)
    }


def print_table(results: dict[str, Any]) -> None:
    """Print the exponents as Markdown, and mark those above the straight line."""
    names = [name for name in BASE if name in results]
    print("| job | " + " | ".join(f"{name}: time, memory" for name in names) + " |")
    print("|---" * (1 + len(names)) + "|")
    for job in results[names[0]]["jobs"]:
        cells = []
        for name in names:
            taken = results[name]["jobs"][job]
            exponents = [taken[f"{what} exponent"] for what in ("seconds", "memory")]
            cells.append(
                ", ".join(f"**{e:.2f}**" if e > STRAIGHT else f"{e:.2f}" for e in exponents)
            )
        print(f"| {job} | " + " | ".join(cells) + " |")


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(BASE), help="of rows,features,classes,workers")
    parser.add_argument("--jobs", default=";".join(JOBS), help="separated by semicolons")
    parser.add_argument("--rows", type=int, help="fewer than the base has, for a test")
    parser.add_argument("--doublings", type=int, default=DOUBLINGS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--share", type=float, default=0.5, help="of the rows, for workers")
    parser.add_argument("--table", type=Path, help="print the table of a JSON file")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    if options.table:
        print_table(json.loads(options.table.read_text(encoding="utf-8")))
        return
    base = BASE | ({"rows": options.rows} if options.rows else {})
    results: dict[str, Any] = describe_run() | {"base": base}
    for part in options.parts.split(","):
        if part == "workers":
            results[part] = measure_workers(options.share)
        else:
            jobs = options.jobs.split(";")
            results[part] = measure_growth(part, base, jobs, options.doublings, options.repeats)
    write_results(options.out, results)


if __name__ == "__main__":
    main()
