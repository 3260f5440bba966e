"""Jobs of the size of the papers' largest, in slices: one command that is called until all is done.

    python benchmarks/papers_scale.py web97k --rows 2000000 --work FOLDER --minutes 60
    python benchmarks/papers_scale.py imagenet10k --rows 100000 --work FOLDER --minutes 60
    python benchmarks/papers_scale.py imagenet10k --fit 25000.json 50000.json 100000.json

``web97k``: 96,812 classes, 1,024 features [HM, 8.3]: one-vs-rest with 64 negatives for each
positive, softmax with 64 negatives for each row, and Wsabie++.
``imagenet10k``: 10,184 classes, product codes of one byte for 8 features [GP, 5.3]: one-vs-rest.
Rows are drawn. Classes are the leaves of a tree; siblings are as near to each other as the rows of
a class, so that they are confused. A call writes shards of rows, then trains epochs, then ranks
held-out rows, and ends when its `--minutes` are over; the next call with the same options and
folder continues. What each step took (elapsed and processor time, private memory) is written to
`--out`, with the time that ``myriad plan`` expects of an epoch of SGD on this machine, the size of
each model folder and the time of a prediction.

``--fit`` reads the results of several sizes: the time of an epoch as a linear function of the
rows, how far it is off for the largest size when fitted without it, and what it and ``plan`` say
for ``--rows``, by default 9 million.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from memory import Watch
from record import describe_run, write_results

from myriad.codes import ProductCode
from myriad.files import read_arrays, read_json, write_arrays, write_json
from myriad.models import LinearModel, Model
from myriad.models.folder import ModelFolder, save_model
from myriad.parallel import open_threads
from myriad.pipelines.planning.epoch_timing import Epochs, time_epochs
from myriad.store import Store, StoreRows
from myriad.training import SGD
from myriad.training.embedding.trainer import Embedding, EmbeddingOptions
from myriad.training.optimiser import OptimiserOptions
from myriad.training.settings import mean_square
from myriad.training.sgd.fitting import Task

PLANE, SPREADS, NOISE = 64, (1.0, 0.7, 0.5), 0.5
"""Dimensions in which the means of classes lie; how far the nodes of each level of the tree are
from their parents, as a multiple of how far rows are from the means of their classes; and the norm
of noise in all dimensions, as a part of that of a row."""
OWN, GROUP, SIBLINGS = 0.1, 0.1, 20
"""Parts of the bytes of a coded row that are those of its class and of its group of classes."""
NEGATIVES, EMBEDDING, MARGIN = 64, 192, 0.1
ETAS = {"ovr": 1.0, "softmax": 3.0}
"""Learning rates, as multiples of ``1 / mean |x|^2``: of three each, the best for 25,000 rows of
4,842 such classes."""
BOOK = 8
"""Features of a byte of product codes."""
SHARD_ROWS, HELD_OUT = 20_000, 0.01
PREDICTED, PREDICTED_WORK = 1024, 1.5e11
"""Most rows of a timed prediction, and most multiply-adds."""
IMAGES = 9_000_000


@dataclass(frozen=True)
class Job:
    """What is run: the shape, whether rows are coded, the methods, and whether to average."""

    classes: int
    features: int
    coded: bool
    methods: tuple[str, ...]
    average: bool


JOBS = {
    "web97k": Job(96_812, 1024, False, ("ovr", "softmax", "wsabie"), average=True),
    "imagenet10k": Job(10_184, 131_072, True, ("ovr",), average=False),
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


def locate_classes(n_classes: int, truth: np.random.Generator) -> np.ndarray:
    """Return the means of the classes, the leaves of a tree whose levels are `SPREADS`."""
    means = np.zeros((n_classes, PLANE), np.float32)
    for level, spread in enumerate(SPREADS, 1):
        n_nodes = round(n_classes ** (level / len(SPREADS)))
        nodes = truth.standard_normal((n_nodes, PLANE), dtype=np.float32)
        means += np.float32(spread) * nodes[np.arange(n_classes) * n_nodes // n_classes]
    return means


def draw_shard(job: Job, number: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and rows; those of a class are near each other, and near those of its group."""
    truth, rng = np.random.default_rng(0), np.random.default_rng(1 + number)
    labels = rng.integers(0, job.classes, n).astype(np.int32)
    if job.coded:
        width = job.features // BOOK
        own = truth.integers(0, 256, (job.classes, width), dtype=np.uint8)
        group = truth.integers(0, 256, (job.classes // SIBLINGS + 1, width), dtype=np.uint8)
        codes = rng.integers(0, 256, (n, width), dtype=np.uint8)
        for i, label in enumerate(labels):
            draw = rng.random(width, dtype=np.float32)
            np.copyto(codes[i], own[label], where=draw < OWN)
            np.copyto(codes[i], group[label // SIBLINGS], where=draw > 1 - GROUP)
        return labels, codes
    means = locate_classes(job.classes, truth)
    turn = truth.standard_normal((PLANE, job.features), dtype=np.float32)
    norm = math.sqrt(PLANE * (1 + sum(spread**2 for spread in SPREADS)))
    turn /= np.float32(norm * math.sqrt(job.features))
    X = (means[labels] + rng.standard_normal((n, PLANE), dtype=np.float32)) @ turn
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
    sgd = SGD(
        objective=method,
        eta=ETAS[method] / mean_square(rows),
        scale=False,
        optimiser=OptimiserOptions(average=job.average),
        **draw_options(method),
    )
    task = Task(sgd, rows, None, job.classes)
    return task.make([task.default_setting], rows), task.rows_for(rows, task.default_setting)


def draw_options(method: str) -> dict[str, Any]:
    """Return the option that says how many negatives are drawn."""
    return {"beta": float(NEGATIVES)} if method == "ovr" else {"negatives": NEGATIVES}


def make_model(trainer: Any, *, average: bool) -> Model:
    """Return the model of a trainer that has finished; its weights are not copied if they may be
    larger than half of the memory.
    """
    if isinstance(trainer, Embedding):
        return trainer.model()
    if average:
        return LinearModel(*trainer.weights())
    trainer.V *= trainer.scales().astype(np.float32)[:, None]
    return LinearModel(trainer.V, trainer.biases().astype(np.float32))


def time_predictions(model: Model, held: StoreRows) -> dict[str, float]:
    """Return the processor time of the 5 best classes, in milliseconds for each row.

    ``prediction`` of many rows together, after a first time, and ``alone`` of a row by itself.
    """
    n = max(1, min(PREDICTED, held.n_rows, int(PREDICTED_WORK / (model.n_classes * model.dim))))
    X = held.read(np.arange(n))
    model.rank(X, 5)
    began = time.process_time()
    model.rank(X, 5)
    together = time.process_time() - began
    some = X[: max(1, n // 50)]
    began = time.process_time()
    for x in some:
        model.rank(x[None], 5)
    alone = time.process_time() - began
    return {
        "prediction_ms": round(1000 * together / n, 3),
        "alone_ms": round(1000 * alone / len(some), 3),
    }


def measure_folder(model: Model, folder: Path) -> int:
    """Return the bytes of the model folder."""
    names = [str(c) for c in range(model.n_classes)]
    save_model(folder, ModelFolder(model, names, None, {}), card="")
    size = sum(path.stat().st_size for path in folder.iterdir())
    shutil.rmtree(folder)
    return size


def train(slices: Slices, folder: Path, job: Job, store: Store, epochs: int, threads: int) -> bool:
    """Train all methods, an epoch a step, and rank held-out rows; return whether all is done."""
    rows, held = store.rows("train"), store.rows("val")
    for method in job.methods:
        names = [f"{method}, epoch {1 + epoch}" for epoch in range(epochs)]
        last = f"{method}, predicted"
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

        def predict(trainer: Any = trainer) -> dict[str, Any]:
            model = make_model(trainer, average=job.average)
            size = measure_folder(model, folder / "model")
            return {"model_bytes": size, **time_predictions(model, held)}

        for name in names[done:]:
            if not slices.run(name, step):
                return False
        if not (slices.run(f"{method}, ranked", rank) and slices.run(last, predict)):
            return False
        state.unlink()
    return True


def expect(job: Job, n_rows: int, threads: int) -> dict[str, dict[str, float]]:
    """Return the seconds of an epoch of each objective of SGD, expected as ``myriad plan`` does.

    On one thread, in processor time: other work on the machine would make a timed epoch slower.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    expected, decoding = {}, 0.0
    if job.coded:
        code, rng = draw_code(job), np.random.default_rng(0)
        codes = rng.integers(0, 256, (32, job.features // BOOK), dtype=np.uint8)
        taken = []
        for _ in range(10):
            began = clock()
            code.decode(codes)
            taken.append(clock() - began)
        decoding = float(np.quantile(taken, 0.25)) / len(codes)
    for method in job.methods:
        if method != "wsabie":
            options = draw_options(method) | {"average": job.average}
            epochs = Epochs(method, job.classes, job.features, **options)
            row = epochs.work / time_epochs(epochs.shrink(), threads, clock=clock) + decoding
            expected[method] = round(n_rows * row, 2)
    return {"expected": expected}


def fit(files: list[Path], job: Job, n_rows: int) -> dict[str, Any]:
    """Return the time of an epoch by the number of rows, and what follows for `n_rows`.

    The time that ``plan`` expects is measured again, on one thread.
    """
    results = sorted(map(read_json, files), key=lambda found: found["rows"])
    first = "ovr, epoch 1"
    sizes = np.array([found["rows"] for found in results], float)
    taken = np.array([found["steps"][first]["processor"] for found in results])
    planned_hours = expect(job, n_rows, 1)["expected"]["ovr"] / 3600
    planned = np.round(planned_hours * 3600 / n_rows * sizes, 2)
    slope, constant = np.polyfit(sizes, taken, 1)
    smaller = np.polyval(np.polyfit(sizes[:-1], taken[:-1], 1), sizes[-1])
    return {
        "rows": sizes.astype(int).tolist(),
        "seconds": taken.tolist(),
        "planned": planned.tolist(),
        "planned_over_measured": np.round(planned / taken, 3).tolist(),
        "milliseconds_a_row": round(1000 * slope, 4),
        "constant_seconds": round(constant, 2),
        "residuals": np.round(taken - np.polyval([slope, constant], sizes), 2).tolist(),
        "largest_from_smaller_over_measured": round(smaller / taken[-1], 3),
        "extrapolated_rows": n_rows,
        "extrapolated_hours": round((slope * n_rows + constant) / 3600, 2),
        "planned_hours": round(planned_hours, 2),
    }


def main() -> None:
    """Run what there is time for, and write what was measured so far."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--rows", type=int, default=IMAGES)
    parser.add_argument("--classes", type=int, help="fewer than the paper has, for a test")
    parser.add_argument("--features", type=int, help="fewer than the paper has")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--work", type=Path, help="a folder that calls share")
    parser.add_argument("--fit", type=Path, nargs="+", help="results of several sizes")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    known = JOBS[options.job]
    if options.fit:
        found = {**describe_run(), "job": options.job, **fit(options.fit, known, options.rows)}
        print(json.dumps(found, indent=1))
        write_results(options.out, found)
        return
    if options.work is None:
        parser.error("State --work, a folder that calls share.")
    job = replace(
        known,
        classes=options.classes or known.classes,
        features=options.features or known.features,
    )
    options.work.mkdir(parents=True, exist_ok=True)
    slices = Slices(options.work / "done.json", options.minutes)
    path = options.work / "rows.store"
    steps = write_shards(path, job, options.rows) if "rows, finished" not in slices.done else ()
    complete = all(slices.run(name, write) for name, write in steps)
    complete = complete and slices.run("plan", lambda: expect(job, options.rows, options.threads))
    if complete:
        store = Store.open(path, verify=False)
        complete = train(slices, options.work, job, store, options.epochs, options.threads)
    print("All is done." if complete else "There is more to do: call it again.")
    shape = {"job": options.job, "rows": options.rows, **json.loads(json.dumps(job.__dict__))}
    found = {**describe_run(), **shape, "complete": complete, "steps": slices.done}
    write_results(options.out, found)


if __name__ == "__main__":
    main()
