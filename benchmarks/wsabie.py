"""Wsabie++ in blocks against its plain sequential form, its memory, and ranking many prototypes.

    python benchmarks/wsabie.py epochs               # N = 100,000, D = 1024, C = 10,000, dim = 192
    python benchmarks/wsabie.py memory               # C = 100,000, D = 1024, dim = 256
    python benchmarks/wsabie.py ranking              # 10,000 rows among 100,000 trained prototypes
    python benchmarks/wsabie.py epochs --out benchmarks/results/wsabie_epochs.json

``epochs``: the first epoch, and one after `--before` epochs in blocks, each begun from the same
state and fed the same draws by the sequential form, compiled by Numba, which must decide alike; the
sequential form may be timed on a part of the rows (`--part`). With `--state FILE` the embedding
trained so far is kept in a file and taken from it: a first call trains, on a machine that may be
busy, a second one measures. ``memory``: private memory of a training of one epoch, above what the
imports take. ``ranking``: exact and approximate ranking against the bare product, on two threads,
the classes being the leaves of a tree; `--state` keeps what was trained here too.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from record import describe_run, write_results
from wsabie_sequential import step_sequentially

from myriad.models.embedding import EmbeddingModel, add_index
from myriad.parallel import ThreadPool, open_threads
from myriad.randomness import mix
from myriad.store import ArrayRows
from myriad.training.embedding.trainer import Embedding, EmbeddingOptions, make_keys
from myriad.training.embedding.violators import PrototypeNorms
from myriad.training.engine.targets import make_targets

PRODUCT_ROWS = 256
MOST_DRAWS = 200
"""Of a row while the prototypes to rank among are trained, which would take minutes otherwise."""


def locate_classes(n_classes: int, levels: int, truth: np.random.Generator) -> np.ndarray:
    """Return means of classes in 64 dimensions, the leaves of a tree of so many levels.

    Two levels are groups of 20. With more, nodes have as many children as makes them end at the
    classes; each level adds as much to the variance as any other.
    """
    branching = n_classes ** (1 / levels) if levels > 2 else 20.0
    means = np.zeros((n_classes, 64), np.float32)
    for level in range(1, levels + 1):
        n_nodes = max(1, int(n_classes / branching ** (levels - level) + 1e-6))
        nodes = truth.standard_normal((n_nodes, 64), dtype=np.float32)
        means += nodes[np.arange(n_classes) % n_nodes]
    return means * np.float32(math.sqrt(2 / levels))


def draw_rows(
    n: int, dim: int, n_classes: int, *, noise: float, seed: int = 0, levels: int = 2
) -> ArrayRows:
    """Return rows of norm about 1, of classes that lie in 64 dimensions and in a tree.

    The classes are the same for all seeds; labels and noise are not.
    """
    truth = np.random.default_rng(0)
    means = locate_classes(n_classes, levels, truth)
    turn = truth.standard_normal((64, dim), dtype=np.float32) / np.float32(8 * math.sqrt(2 * dim))
    rng = np.random.default_rng(seed + 1)
    labels = np.concatenate([rng.permutation(n_classes) for _ in range(-(-n // n_classes))]).astype(
        np.int32
    )[:n]
    X = np.empty((n, dim), np.float32)
    for start in range(0, n, 4096):
        part = slice(start, min(start + 4096, n))
        X[part] = means[labels[part]] @ turn
        X[part] += np.float32(noise / math.sqrt(dim)) * rng.standard_normal(
            X[part].shape, dtype=np.float32
        )
    return ArrayRows(X, labels)


def make_trainer(
    rows: ArrayRows, n_classes: int, dim: int, *, margin: float, max_draws: int | None = None
) -> Embedding:
    """Return Wsabie++ at its beginning."""
    square = float(np.square(rows.X[:1000]).sum(axis=1).mean())
    return Embedding(
        n_classes,
        rows.dim,
        dim,
        square=square,
        eta=0.3 / math.sqrt(dim),
        margin=margin,
        options=EmbeddingOptions(max_draws=max_draws),
    )


def run_sequentially(trainer: Embedding, rows: ArrayRows, n: int) -> float:
    """Make the first `n` steps of the next epoch one row at a time; return the seconds."""
    root = mix(mix(np.uint64(0), np.uint64(0xE3BED)), np.uint64(trainer.epoch))
    order = rows.order(seed=0, epoch=trainer.epoch)[:n]
    targets, classes = make_targets(rows, order, 0)
    make_keys(targets, root)
    began = time.perf_counter()
    step_sequentially(
        rows.X, order, targets, classes, trainer.V, trainer.P, PrototypeNorms(*trainer._bounds),
        trainer._memory, trainer._axes, trainer._state, trainer._unit,
    )  # fmt: skip
    return time.perf_counter() - began


def compare_epoch(trainer: Embedding, rows: ArrayRows, n: int, pool: ThreadPool) -> dict[str, Any]:
    """Time the next epoch in both forms, on the first `n` of its rows, and compare the results.

    The trainer continues in blocks.
    """
    plain = copy.deepcopy(trainer)
    before = trainer.counts
    blocked = ArrayRows(rows.X, rows.labels)
    order = rows.order(seed=0, epoch=trainer.epoch)[:n]
    blocked.order = lambda *, seed, epoch: order  # type: ignore[method-assign]
    began = time.perf_counter()
    trainer.run_epoch(blocked, seed=0, pool=pool, advance=lambda n: None)
    seconds = time.perf_counter() - began
    seconds_plain = run_sequentially(plain, rows, n)
    after = trainer.counts
    return {
        "rows": n,
        "seconds": round(seconds, 3),
        "seconds_sequential": round(seconds_plain, 3),
        "times_faster": round(seconds_plain / seconds, 2),
        "mean_draws": round((after["draws"] - before["draws"]) / n, 1),
        "steps_a_row": round((after["steps"] - before["steps"]) / n, 3),
        "passed_a_row": round((after["passed"] - before["passed"]) / n, 3),
        "same_decisions": after == plain.counts,
        "largest_difference": float(np.abs(trainer.P - plain.P).max()),
        "largest_prototype": float(np.abs(plain.P).max()),
    }


def measure_epochs(options: argparse.Namespace) -> dict[str, Any]:
    """Compare the first epoch and one after convergence."""
    rows = draw_rows(options.rows, options.features, options.classes, noise=options.noise)
    n, n_late = (
        max(1, int(part * options.rows))
        for part in (options.part, options.late_part or options.part)
    )
    with open_threads(1) as pool:
        tiny = ArrayRows(rows.X[:300], rows.labels[:300])
        for score_all in (False, True):
            warm = make_trainer(rows, options.classes, options.dim, margin=options.margin)
            warm.score_all = score_all
            compare_epoch(warm, tiny, 300, pool)
        trainer = make_trainer(rows, options.classes, options.dim, margin=options.margin)
        first = compare_epoch(trainer, rows, n, pool)
        print("first epoch", first, flush=True)
        train_on(trainer, rows, options, pool)
        late = compare_epoch(trainer, rows, n_late, pool)
        print(f"epoch {trainer.epoch}", late, flush=True)
    return {"first": first, "late": {"epoch": trainer.epoch, **late}}


def train_on(
    trainer: Embedding, rows: ArrayRows, options: argparse.Namespace, pool: ThreadPool
) -> None:
    """Train for the epochs asked for, or take the state that an earlier call kept."""
    path, goal = options.state, trainer.epoch + options.before
    if path is not None and path.exists():
        with np.load(path) as kept:
            trainer.restore(kept)
            trainer._mean_draws = float(kept["often"])
        trainer.epoch = goal
        return
    while trainer.epoch < goal:
        before = trainer.counts
        trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
        draws, steps = (
            (trainer.counts[name] - before[name]) / rows.n_rows for name in ("draws", "steps")
        )
        print(f"epoch {trainer.epoch}: {draws:.1f} draws, {steps:.3f} steps per row", flush=True)
    if path is not None:
        np.savez(path, often=np.float64(trainer._mean_draws), **trainer.state())


def read_private() -> int:
    """Return the private memory of this process in bytes, and forget its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def measure_memory(options: argparse.Namespace) -> dict[str, Any]:
    """Train for an epoch on a memory map, and follow the private memory."""
    path = options.folder / "wsabie-rows.npy"
    n, n_classes = 4 * options.classes, options.classes
    rng = np.random.default_rng(0)
    mapped = np.lib.format.open_memmap(path, "w+", np.float32, (n // 8, options.features))
    for start in range(0, len(mapped), 4096):
        part = mapped[start : start + 4096]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    labels = (np.arange(len(mapped)) * 8 % n_classes).astype(np.int32)
    rows = ArrayRows(np.load(path, mmap_mode="r"), labels, [str(c) for c in range(n_classes)])
    begun, peak = read_private(), 0
    with open_threads(1) as pool:
        trainer = make_trainer(rows, n_classes, options.dim, margin=options.margin)

        def follow(count: int) -> None:
            nonlocal peak
            peak = max(peak, read_private() - begun)

        for score_all in (False, True):
            trainer.score_all = score_all
            trainer.run_epoch(rows, seed=0, pool=pool, advance=follow)
    path.unlink()
    parameters = trainer.V.nbytes + trainer.P.nbytes
    found = {"parameters_mb": parameters / 1e6, "peak_mb": peak / 1e6}
    found["beyond_parameters_mb"] = found["peak_mb"] - found["parameters_mb"]
    print(found, flush=True)
    return found


def prepare_ranking(options: argparse.Namespace) -> tuple[EmbeddingModel, float]:
    """Return a trained embedding with an index, and the index's recall on held-out rows.

    Both are taken from the file that an earlier call kept, if there is one.
    """
    if options.state is not None and options.state.exists():
        with np.load(options.state) as kept:
            parts = (kept["V"], kept["P"], "euclidean", kept["centres"], int(kept["probes"]))
            return EmbeddingModel(*parts), float(kept["recall"])
    shape = options.features, options.classes
    classes = {"noise": options.noise, "levels": options.levels}
    rows = draw_rows(2 * options.classes, *shape, **classes)
    trainer = make_trainer(
        rows, options.classes, options.dim, margin=options.margin, max_draws=MOST_DRAWS
    )
    with open_threads(2) as pool:
        for _ in range(options.before):
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
    held = draw_rows(2000, *shape, **classes, seed=2)
    model, recall = add_index(EmbeddingModel(trainer.V, trainer.P), held.X)
    if options.state is not None:
        arrays = {"V": model.map, "P": model.prototypes, "centres": model.centres}
        np.savez(options.state, **arrays, probes=model.probes, recall=recall)
    return model, recall


def measure_ranking(options: argparse.Namespace) -> dict[str, Any]:
    """Rank rows among trained prototypes exactly, approximately, and by the bare product alone."""
    indexed, recall_held = prepare_ranking(options)
    model = replace(indexed, centres=None)
    shape = options.queries, options.features, options.classes
    fresh = draw_rows(*shape, noise=options.noise, levels=options.levels, seed=1)
    X = fresh.X
    Z = model.embed(X)
    product = math.inf
    with open_threads(2) as pool:
        for _ in range(3):
            began = time.perf_counter()
            pool.share(
                lambda start: np.matmul(Z[start : start + PRODUCT_ROWS], model.prototypes.T),
                range(0, len(Z), PRODUCT_ROWS),
            )
            product = min(product, time.perf_counter() - began)
    exact_labels, seconds = time_ranking(model, X)
    found_labels, approximate = time_ranking(indexed, X)
    recall = (exact_labels[:, :, None] == found_labels[:, None]).any(axis=2).mean()
    found = {
        "product_seconds": product,
        "exact_seconds": seconds,
        "exact_over_product": seconds / product,
        "approximate_seconds": approximate,
        "times_faster": seconds / approximate,
        "recall": float(recall),
        "recall_on_validation": recall_held,
        "cells": len(indexed.centres if indexed.centres is not None else []),
        "probes": indexed.probes,
        "top1": float((exact_labels[:, 0] == fresh.labels).mean()),
    }
    print(found, flush=True)
    return found


def time_ranking(model: EmbeddingModel, X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the five best classes of rows, and the seconds that takes."""
    labels, best = model.rank(X, 5)[0], math.inf
    for _ in range(3):
        began = time.perf_counter()
        labels = model.rank(X, 5)[0]
        best = min(best, time.perf_counter() - began)
    return labels, best


SHAPES = {
    "epochs": {
        "rows": 100_000, "features": 1024, "classes": 10_000, "dim": 192, "before": 12,
        "margin": 0.03,
    },
    "memory": {"features": 1024, "classes": 100_000, "dim": 256, "margin": 0.03},
    "ranking": {
        "features": 1024, "classes": 100_000, "dim": 256, "before": 4, "margin": 0.5, "levels": 5,
    },
}  # fmt: skip
PARTS = {"epochs": measure_epochs, "memory": measure_memory, "ranking": measure_ranking}


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part_of", choices=PARTS, metavar="epochs|memory|ranking")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--dim", type=int)
    parser.add_argument("--before", type=int, help="epochs before what is measured")
    parser.add_argument("--part", type=float, default=1.0, help="part of the rows to time")
    parser.add_argument("--late-part", type=float, help="the same after convergence")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--noise", type=float, default=0.5)
    parser.add_argument("--levels", type=int, help="of the tree of classes to rank among")
    parser.add_argument("--margin", type=float)
    parser.add_argument("--state", type=Path, help="a file that keeps the embedding trained")
    parser.add_argument("--folder", type=Path, default=Path("/tmp"), help="for scratch files")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    for name, value in SHAPES[options.part_of].items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    shape = {name: getattr(options, name) for name in SHAPES[options.part_of]}
    found = PARTS[options.part_of](options)
    write_results(options.out, {**describe_run(), "shape": shape, "part": options.part, **found})


if __name__ == "__main__":
    main()
