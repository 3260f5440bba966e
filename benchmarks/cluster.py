"""Two workers of a local cluster against one, and joint objectives in rounds against one run.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --parts ovr,extraction --out benchmarks/results/cluster.json
    python benchmarks/cluster.py --parts rounds --out benchmarks/results/cluster-rounds.json

Extraction from drawn images (the whole, and describing them once a vocabulary and a code are
learned) and epochs of one-vs-rest on a store, each by one worker and by two of one thread each, and
one-vs-rest without any cluster. The clusters are started before, and what they do first is not
counted. Overhead: such an epoch through the public interface and by the trainer alone, without a
cluster, when Dask must not be imported. Joint objectives for equal numbers of epochs: two workers
in rounds against one run, by the best top-1 accuracy on held-out rows, rows and their order drawn
anew for each of `--seeds`. Ratios are only meaningful on a machine without other load.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from record import describe_run, write_results

from myriad.parallel import ClusterExecutor, open_cluster, open_threads
from myriad.pipelines.describing.extract import ExtractOptions, extract
from myriad.pipelines.run import Run
from myriad.progress import Advance, Progress
from myriad.store import Store
from myriad.training import SGD, Context, Method, WsabieMethod
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import make_trainer
from signatures import draw_image

IMAGES, FEW_IMAGES, CLASSES_OF_IMAGES = 1000, 64, 4
OVR = {"rows": 8_000, "dim": 2048, "classes": 8000}
JOINT = {"rows": 20_000, "dim": 256, "classes": 200}
PASSES = 8
TURNS = 3
"""How often an epoch is timed where a slow-down could be smaller than the noise."""
OBJECTIVES = {"multiclass": 0.1, "ranking": 0.03, "warp": 0.01, "softmax": 0.3, "wsabie": 0.1}
"""Joint objectives, and the step of each: the best for the single run, within a factor of three."""
EMBEDDING = {"dim": 128, "margin": 0.1}
"""What ``wsabie`` needs besides."""


def write_store(
    path: Path, *, rows: int, dim: int, classes: int, spread: float, seed: int = 0
) -> Store:
    """Write a store of overlapping classes, a tenth of the rows for validation."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    means = rng.standard_normal((classes, dim), dtype=np.float32)
    names = [str(c) for c in range(classes)]
    n_shards = max(1, rows // 2500)
    writer = Store.create(path, class_names=names, dim=dim, n_shards=n_shards)
    for number, index in enumerate(np.array_split(np.arange(rows), n_shards)):
        X = rng.standard_normal((len(index), dim), dtype=np.float32)
        X = (means[labels[index]] + np.float32(spread) * X) / np.float32(np.sqrt(dim))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        splits = ["val" if i % 10 == 0 else "train" for i in index]
        writer.write_shard(number, X, labels[index], [str(i) for i in index], splits=splits)
    writer.finish()
    return Store.open(path)


def time_ovr(store: Store, folder: Path, executor: ClusterExecutor | None) -> float:
    """Return the seconds of an epoch of one-vs-rest on all negatives, the best of two."""
    workers = None if executor is None else TrainingWorkers(executor, folder / "pieces")
    seen: list[float] = []
    method = SGD(
        eta=0.3,
        beta=float("inf"),
        scale=False,
        epochs=3,
        callback=lambda row: seen.append(time.perf_counter()),
    )
    n_classes = len(store.class_names)
    method.fit(
        store.rows("train"), None, n_classes=n_classes, context=Context(threads=1, workers=workers)
    )
    return min(np.diff(seen))


def time_trainer(store: Store) -> float:
    """Return the seconds of such an epoch by the trainer alone."""
    rows, n_classes = store.rows("train"), len(store.class_names)
    method = SGD(eta=0.3, beta=float("inf"), scale=False)
    trainer = make_trainer(method, [Setting(0.3, float("inf"))], rows, n_classes, 1.0)
    seen = [time.perf_counter()]
    with open_threads(1) as pool:
        for _ in range(3):
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
            seen.append(time.perf_counter())
    return min(np.diff(seen)[1:])


def compare_overhead(folder: Path, share: float) -> dict[str, float]:
    """Return the seconds of an epoch through the public interface, and by the trainer alone."""
    sizes = OVR | {"rows": int(share * OVR["rows"])}
    store = write_store(folder / "plain", **sizes, spread=3.0)
    turns = [(time_ovr(store, folder, None), time_trainer(store)) for _ in range(TURNS)]
    found = dict(zip(("called", "trainer"), np.min(turns, axis=0).tolist(), strict=True))
    if {"dask", "distributed", "fsspec"} & set(sys.modules):
        raise SystemExit("Dask or fsspec was imported where no cluster is used.")
    ratio = found["called"] / found["trainer"]
    print(
        f"overhead    called {found['called']:.2f} s   trainer alone {found['trainer']:.2f} s   "
        f"ratio {ratio:.2f}; neither Dask nor fsspec is imported",
        flush=True,
    )
    return found | {"ratio": ratio}


class Stopwatch(Progress):
    """The seconds that each step of a work takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, title: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
        """Time a step."""
        began = time.perf_counter()
        yield lambda n: None
        self.seconds[title] = time.perf_counter() - began


def time_extraction(images: Path, out: Path, executor: ClusterExecutor) -> tuple[float, float]:
    """Return the seconds of an extraction, and those of describing all images among them."""
    watch = Stopwatch()
    began = time.perf_counter()
    options = ExtractOptions(components=64)
    extract(images, out, options=options, run=Run(cluster=executor, threads=1, progress=watch))
    return time.perf_counter() - began, watch.seconds["Describing images"]


def draw_folder(folder: Path, n_images: int) -> Path:
    """Draw a folder of images."""
    for number in range(n_images):
        place = folder / f"class {number % CLASSES_OF_IMAGES}"
        place.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(place / f"{number}.png"), draw_image(number))
    return folder


def compare_rounds(
    objectives: str,
    folder: Path,
    executor: ClusterExecutor,
    *,
    seeds: int,
    share: float,
    rounds: int,
) -> list[dict[str, Any]]:
    """Return the best top-1 accuracy of each joint objective, of one run and of rounds."""
    sizes = JOINT | {"rows": int(share * JOINT["rows"])}
    stores = [
        write_store(folder / f"joint {seed}", **sizes, spread=4.0, seed=seed)
        for seed in range(seeds)
    ]
    found = []
    for objective in objectives.split(","):
        pairs = []
        for seed, store in enumerate(stores):
            method = make_method(objective, rounds=rounds, seed=seed)
            pairs.append(run_both(method, store, TrainingWorkers(executor, folder / "pieces")))
        found.append({"objective": objective} | summarise_rounds(pairs))
        row = found[-1]
        print(
            f"{objective:<11} top-1 after {PASSES} passes, mean of {seeds} seeds: single "
            f"{np.mean(row['single']):.2f} %, two workers {np.mean(row['rounds']):.2f} %, "
            f"difference {row['difference']:+.2f} +- {row['spread']:.2f} points",
            flush=True,
        )
    return found


def make_method(objective: str, *, rounds: int, seed: int) -> Method:
    """Return how an objective is trained."""
    eta = OBJECTIVES[objective]
    options: dict[str, Any] = {"epochs": PASSES, "patience": PASSES, "rounds": rounds, "seed": seed}
    if objective == "wsabie":
        return WsabieMethod(eta=eta, **EMBEDDING, **options)
    return SGD(objective=objective, eta=eta, scale=False, **options)


def run_both(method: Method, store: Store, workers: TrainingWorkers) -> tuple[float, float]:
    """Return the best top-1 accuracy of a single run and of one in rounds."""
    rows, n_classes = (store.rows("train"), store.rows("val")), len(store.class_names)
    single, spread = (
        method.fit(*rows, n_classes=n_classes, context=Context(threads=1, workers=where))
        for where in (None, workers)
    )
    best = [max(row["top1"] for row in fitted.history) for fitted in (single, spread)]
    return best[0], best[1]


def summarise_rounds(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Return the accuracies of all seeds, and the mean and the deviation of their differences."""
    single, rounds = (list(best) for best in zip(*pairs, strict=True))
    differences = np.subtract(rounds, single)
    spread = float(differences.std(ddof=1)) if len(pairs) > 1 else 0.0
    return {
        "single": single,
        "rounds": rounds,
        "difference": float(differences.mean()),
        "spread": spread,
    }


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="overhead,extraction,ovr,rounds")
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, for a quick look")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3, help="of the comparison of rounds")
    parser.add_argument("--objectives", default=",".join(OBJECTIVES), help="that are compared")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    results: dict[str, Any] = describe_run() | {
        "rounds": options.rounds,
        "seeds": options.seeds,
        "share": options.share,
    }
    parts = options.parts.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if "overhead" in parts:
            results["overhead"] = compare_overhead(folder, options.share)
        if "extraction" in parts or "ovr" in parts:
            for name, seconds in time_both(parts, folder, options.share).items():
                line = "   ".join(f"{k} {v:.2f} s" for k, v in seconds.items())
                print(f"{name:<11} {line}   ratio {seconds['one'] / seconds['two']:.2f}")
                results[name] = seconds | {"ratio": seconds["one"] / seconds["two"]}
        if "rounds" in parts:
            with open_cluster("local:2") as executor:
                results["joint"] = compare_rounds(
                    options.objectives,
                    folder,
                    executor,
                    seeds=options.seeds,
                    share=options.share,
                    rounds=options.rounds,
                )
    write_results(options.out, results)


def time_both(parts: list[str], folder: Path, share: float) -> dict[str, dict[str, float]]:
    """Return the seconds of one worker and of two, by what they do."""
    found: dict[str, dict[str, float]] = {}
    if "ovr" in parts:
        sizes = OVR | {"rows": int(share * OVR["rows"])}
        store = write_store(folder / "ovr", **sizes, spread=3.0)
        found["ovr"] = {"none": time_ovr(store, folder, None)}
    if "extraction" in parts:
        few = draw_folder(folder / "few", FEW_IMAGES)
        images = draw_folder(folder / "images", max(FEW_IMAGES, int(share * IMAGES)))
        found |= {"extraction": {}, "describing": {}}
    for name, workers in (("one", 1), ("two", 2)):
        with open_cluster(f"local:{workers}") as executor:
            if "ovr" in parts:
                found["ovr"][name] = time_ovr(store, folder, executor)
            if "extraction" in parts:
                time_extraction(few, folder / f"few {name}", executor)
                whole, describing = time_extraction(images, folder / name, executor)
                found["extraction"][name], found["describing"][name] = whole, describing
    return found


if __name__ == "__main__":
    main()
