"""Jobs of the size of the papers' largest, in slices: one command that is called until all is done.

    python benchmarks/papers_scale.py web97k --rows 2000000 --work FOLDER --minutes 60
    python benchmarks/papers_scale.py imagenet10k --rows 100000 --work FOLDER --minutes 60

``web97k``: 96,812 classes, 1,024 features [HM, 8.3]: one-vs-rest with 64 negatives and Wsabie++.
``imagenet10k``: 10,184 classes, product codes of one byte for 8 features [GP, 5.3]: one-vs-rest.
Rows are drawn; the classes are the leaves of a tree, so that neighbours are confused. A call writes
shards of rows, then trains epochs, then ranks held-out rows, and ends when its `--minutes` are
over; the next call with the same options and folder continues. What each step took (elapsed and
processor time, private memory) is written to `--out`, with the time that ``myriad plan`` expects of
an epoch of one-vs-rest on this machine.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from memory import Watch
from record import describe_run, write_results
from wsabie import locate_classes

from myriad.codes import ProductCode
from myriad.files import read_arrays, read_json, write_arrays, write_json
from myriad.parallel import open_threads
from myriad.pipelines.planning.epoch_timing import Epochs, measure_speed
from myriad.store import Store, StoreRows
from myriad.training import SGD
from myriad.training.embedding.trainer import Embedding, EmbeddingOptions
from myriad.training.settings import mean_square
from myriad.training.sgd.fitting import Task

LEVELS, PLANE = 3, 64
"""Levels of the tree of classes, and dimensions in which their means lie."""
NOISE, BETA, EMBEDDING, MARGIN = 1.0, 64.0, 192, 0.1
BOOK = 8
"""Features of a byte of product codes."""
SHARD_ROWS, HELD_OUT = 20_000, 0.02


@dataclass(frozen=True)
class Job:
    """What is run: the shape, whether rows are coded, and the methods."""

    classes: int
    features: int
    coded: bool
    methods: tuple[str, ...]


JOBS = {
    "web97k": Job(96_812, 1024, coded=False, methods=("ovr", "wsabie")),
    "imagenet10k": Job(10_184, 131_072, coded=True, methods=("ovr",)),
}


class Slices:
    """Steps that are done once; what they took is kept in a file between calls.

    Parameters
    ----------
    path : the file.
    minutes : after which no further step is begun.
    """

    def __init__(self, path: Path, minutes: float) -> None:
        self.path, self.until = path, time.perf_counter() + 60 * minutes
        self.done: dict[str, Any] = read_json(path) if path.exists() else {}

    def run(self, name: str, step: Callable[[], dict[str, Any] | None]) -> bool:
        """Run a step unless it is done; return False if there is no time left for it."""
        if name in self.done:
            return True
        if time.perf_counter() > self.until:
            return False
        began, processor = time.perf_counter(), time.process_time()
        with Watch() as watch:
            found = step() or {}
        self.done[name] = {
            "seconds": round(time.perf_counter() - began, 2),
            "processor": round(time.process_time() - processor, 2),
            "memory": watch.most - watch.before,
            **found,
        }
        write_json(self.path, self.done)
        print(name, self.done[name], flush=True)
        return True


def write_shards(path: Path, job: Job, n_rows: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the steps that write a store, a shard each; the last one finishes it."""
    plan = {"rows": n_rows, "classes": job.classes, "features": job.features}
    n_shards = max(1, -(-n_rows // SHARD_ROWS))
    if (path / "plan.json").exists():
        writer = Store.resume(path, plan=plan)
    else:
        names = [str(c) for c in range(job.classes)]
        options: dict[str, Any] = {"code": draw_code(job)} if job.coded else {}
        writer = Store.create(
            path, class_names=names, dim=job.features, n_shards=n_shards, plan=plan, **options
        )

    def write(number: int) -> None:
        n = len(range(number * SHARD_ROWS, min(n_rows, (number + 1) * SHARD_ROWS)))
        labels, rows = draw_shard(job, number, n)
        splits = np.where(np.arange(n) < max(1, HELD_OUT * n), "val", "train").tolist()
        writer.write_shard(number, rows, labels, [""] * n, splits=splits)

    for number in range(n_shards):
        yield f"rows {number}", lambda number=number: write(number)
    yield "rows, finished", lambda: writer.finish()


def draw_code(job: Job) -> ProductCode:
    """Return random codebooks; rows have norms of about 1."""
    size = (job.features // BOOK, 256, BOOK)
    books = np.random.default_rng(0).standard_normal(size, dtype=np.float32)
    return ProductCode(books / np.float32(math.sqrt(job.features)), job.features)


def draw_shard(job: Job, number: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and rows; those of a class are near each other, and near those of its group."""
    truth, rng = np.random.default_rng(0), np.random.default_rng(1 + number)
    labels = rng.integers(0, job.classes, n).astype(np.int32)
    if job.coded:  # an eighth of the bytes are those of the class, and as many those of its group
        codes = rng.integers(0, 256, (n, job.features // BOOK), dtype=np.uint8)
        width = max(1, codes.shape[1] // 8)
        own = truth.integers(0, 256, (job.classes, width), dtype=np.uint8)
        group = truth.integers(0, 256, (job.classes // 20 + 1, width), dtype=np.uint8)
        codes[:, :width], codes[:, width : 2 * width] = own[labels], group[labels // 20]
        return labels, codes
    means = locate_classes(job.classes, LEVELS, truth)
    turn = truth.standard_normal((PLANE, job.features), dtype=np.float32)
    turn /= np.float32(8 * math.sqrt(2 * job.features))
    X = means[labels] @ turn
    X += np.float32(NOISE / math.sqrt(job.features)) * rng.standard_normal(
        X.shape, dtype=np.float32
    )
    return labels, X


def make_trainer(method: str, job: Job, rows: StoreRows) -> tuple[Any, Any]:
    """Return a trainer at its beginning, and the rows as it sees them."""
    if method == "wsabie":
        options = EmbeddingOptions(max_draws=1000)
        trainer = Embedding(
            job.classes,
            job.features,
            min(EMBEDDING, job.features),
            square=mean_square(rows),
            eta=0.3 / math.sqrt(EMBEDDING),
            margin=MARGIN,
            options=options,
        )
        return trainer, rows
    sgd = SGD(objective="ovr", eta=0.3 / mean_square(rows), beta=BETA, scale=False)
    task = Task(sgd, rows, None, job.classes)
    return task.make([task.default_setting], rows), task.rows_for(rows, task.default_setting)


def train(slices: Slices, folder: Path, job: Job, store: Store, epochs: int, threads: int) -> bool:
    """Train all methods, an epoch a step, and rank held-out rows; return whether all is done."""
    rows, held = store.rows("train"), store.rows("val")
    for method in job.methods:
        names = [f"{method}, epoch {1 + epoch}" for epoch in range(epochs)]
        last = f"{method}, ranked"
        done = sum(name in slices.done for name in names)
        if last in slices.done:
            continue
        trainer, seen = make_trainer(method, job, rows)
        state = folder / f"{method}.safetensors"
        if done:
            trainer.restore(read_arrays(state))
        trainer.epoch = done

        def step(trainer: Any = trainer, seen: Any = seen, state: Path = state) -> None:
            with open_threads(threads) as pool:
                trainer.run_epoch(seen, seed=0, pool=pool, advance=lambda n: None)
            write_arrays(state, trainer.state())

        def rank(trainer: Any = trainer) -> dict[str, Any]:
            with open_threads(threads) as pool:
                ranks = trainer.rank(held, pool=pool)[0]
            return {
                "rows": int(ranks.size),
                "top1": round(100 * float((ranks <= 1).mean()), 2),
                "top5": round(100 * float((ranks <= 5).mean()), 2),
            }

        for name in names[done:]:
            if not slices.run(name, step):
                return False
        if not slices.run(last, rank):
            return False
    return True


def expect(job: Job, n_rows: int, threads: int) -> dict[str, float]:
    """Return the seconds of an epoch of one-vs-rest that ``myriad plan`` expects here."""
    epochs = Epochs("ovr", job.classes, job.features, BETA)
    return {"expected": round(n_rows * epochs.work / measure_speed(epochs, threads), 2)}


def main() -> None:
    """Run what there is time for, and write what was measured so far."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--classes", type=int, help="fewer than the paper has, for a test")
    parser.add_argument("--features", type=int, help="fewer than the paper has")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--work", type=Path, required=True, help="a folder that calls share")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    known = JOBS[options.job]
    job = Job(
        options.classes or known.classes, options.features or known.features, known.coded,
        known.methods,
    )  # fmt: skip
    options.work.mkdir(parents=True, exist_ok=True)
    slices = Slices(options.work / "done.json", options.minutes)
    path = options.work / "rows.store"
    steps = write_shards(path, job, options.rows) if "rows, finished" not in slices.done else ()
    complete = all(slices.run(name, write) for name, write in steps)
    complete = complete and slices.run(
        "plan of an epoch of ovr", lambda: expect(job, options.rows, options.threads)
    )
    if complete:
        store = Store.open(path, verify=False)
        complete = train(slices, options.work, job, store, options.epochs, options.threads)
    print("All is done." if complete else "There is more to do: call it again.")
    shape = {"job": options.job, "rows": options.rows, **json.loads(json.dumps(job.__dict__))}
    found = {**describe_run(), **shape, "complete": complete, "steps": slices.done}
    write_results(options.out, found)


if __name__ == "__main__":
    main()
