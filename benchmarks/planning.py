"""The estimates of ``myriad plan`` against measurements, for three jobs of different kinds.

    python benchmarks/planning.py
    python benchmarks/planning.py --out benchmarks/results/planning.json

Extraction from drawn images, training of weighted one-vs-rest on few negatives, and training of the
multiclass objective. Memory is private memory (RssAnon) above what there was before. Plans, each
with the machine measured anew, and runs take turns; the median of each counts.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from record import describe_run, write_results

from myriad.pipelines.describing.extract import ExtractOptions, extract
from myriad.pipelines.planning.plan import Job, plan
from myriad.pipelines.run import Run
from myriad.store import ArrayRows
from myriad.training import SGD, Context, hold_out
from signatures import HEIGHT, WIDTH, draw_image

PASSES = 6
"""Passes that are timed; a plan counts as many as the search has made before."""


def private_bytes() -> int:
    """Return the private memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def measure(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that a run takes, and the private memory at its highest."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before is no part of the run
    before, highest, ended = private_bytes(), [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            highest[0] = max(highest[0], private_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    run()
    seconds = time.perf_counter() - began
    ended.set()
    watcher.join()
    return seconds, max(0, highest[0] - before)


def run_extraction(job: Job, threads: int) -> tuple[float, float]:
    """Extract drawn images."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(job.images):
            place = Path(folder) / "images" / f"class {number % job.classes}"
            place.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(place / f"{number}.png"), draw_image(number))
        data, out = Path(folder) / "images", Path(folder) / "store"
        return measure(lambda: extract(data, out, options=job.extracting, run=Run(threads=threads)))


def run_training(job: Job, threads: int) -> tuple[float, float]:
    """Train on drawn rows with a class each."""
    random = np.random.default_rng(0)
    n_rows, dim = job.images, job.dim or 1
    labels = random.integers(job.classes, size=n_rows)
    X = random.standard_normal((job.classes, dim), dtype=np.float32)[labels]
    X += 2 * random.standard_normal(X.shape, dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = ArrayRows(X, labels, [str(c) for c in range(job.classes)])
    train, val = hold_out(rows, 0.1, seed=0)
    beta = job.beta if job.objective == "ovr" else None
    options: dict[str, Any] = {"objective": job.objective, "eta": 0.3, "beta": beta}
    warm = SGD(**options, scale=False, epochs=1)
    few = rows.select(np.arange(256))
    warm.fit(few, few, n_classes=job.classes, context=Context(threads=threads))
    method = SGD(**options, scale=False, epochs=PASSES)
    return measure(
        lambda: method.fit(train, val, n_classes=job.classes, context=Context(threads=threads))
    )


def read_plan(name: str, job: Job) -> tuple[float, float]:
    """Return the seconds and the private memory that a plan estimates."""
    planned = plan(job, again=True).rows
    wanted = planned[:-3] if name == "extract" else [planned[-2]]
    return sum(step.seconds for step in wanted), max(step.memory for step in wanted)


def run_apart(name: str, job: Job, threads: int) -> tuple[float, float]:
    """Return the seconds and the private memory that a job takes, in a process of its own."""
    run = run_extraction if name == "extract" else run_training
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
        return apart.submit(run, job, threads).result()


def main() -> None:
    """Plan, measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--jobs", default="extract,ovr,multiclass")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes, for a quick look")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    share, more = options.share, {"workers": options.threads, "epochs": 3 + PASSES}
    jobs = {
        "extract": Job(
            images=max(32, int(400 * share)),
            classes=4,
            pixels=HEIGHT * WIDTH,
            extracting=ExtractOptions(components=64),
            **more,
        ),
        "ovr": Job(images=int(60_000 * share), classes=500, dim=2048, beta=16.0, **more),
        "multiclass": Job(
            images=int(24_000 * share), classes=300, dim=4096, objective="multiclass", **more
        ),
    }
    rows = []
    for name, job in ((name, jobs[name]) for name in options.jobs.split(",")):
        turns = [
            (read_plan(name, job), run_apart(name, job, options.threads))
            for _ in range(options.repeats)
        ]
        foretold, measured = np.median(turns, axis=0).tolist()
        rows.append({"job": name, "planned": foretold, "measured": measured, "turns": turns})
        print(
            f"{name:<11} planned {foretold[0]:7.1f} s {foretold[1] / 1e6:7.0f} MB   "
            f"measured {measured[0]:7.1f} s {measured[1] / 1e6:7.0f} MB   "
            f"ratios {measured[0] / foretold[0]:.2f} {measured[1] / foretold[1]:.2f}"
        )
    write_results(options.out, describe_run() | {"threads": options.threads, "rows": rows})


if __name__ == "__main__":
    main()
