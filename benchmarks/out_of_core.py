"""An epoch on a store of codes several times larger than the memory allowed, against its bounds.

    python benchmarks/out_of_core.py
    python benchmarks/out_of_core.py --memory 256MB --out benchmarks/results/out_of_core.json

A store of scalar codes `times` as large as `memory` is written, then trained on by one-vs-rest
with that limit. Its epochs are compared with the time to read the whole store from the disk, its
pages dropped from the cache before, and with an epoch on as many of the same rows as fit into
memory, decoded, counted up to all rows. These take turns, and the medians count. Private memory
(RssAnon) is watched all the while.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from planning import measure
from record import describe_run, write_results

from myriad.cli.text import parse_bytes
from myriad.codes import learn_scalar
from myriad.parallel import LocalExecutor
from myriad.pipelines.workers import APART
from myriad.store import ArrayRows, Store
from myriad.training import SGD
from myriad.training.distributed.workers import TrainingWorkers

DIM, CLASSES, BETA = 512, 100, 64.0
ROWS_IN_MEMORY, EPOCHS_IN_MEMORY = 65_536, 5


def write_codes(path: Path, size: int) -> Store:
    """Write a store of random codes of so many bytes."""
    rng = np.random.default_rng(0)
    code = learn_scalar(rng.standard_normal((256, DIM), dtype=np.float32) / np.float32(DIM**0.5))
    shard = (16 << 20) // code.bytes_per_row
    n_shards = max(1, size // (16 << 20))
    names = [str(c) for c in range(CLASSES)]
    writer = Store.create(path, class_names=names, dim=DIM, n_shards=n_shards, code=code)
    for number in range(n_shards):
        codes = rng.integers(0, 256, (shard, code.bytes_per_row), dtype=np.uint8)
        labels = rng.integers(0, CLASSES, shard)
        codes[np.arange(shard), labels] = 255  # something to learn
        writer.write_shard(number, codes, labels, [""] * shard, splits="train")
    writer.finish()
    return Store.open(path, verify=False)


def drop_pages(folder: Path) -> None:
    """Let the system forget what it has read of the files of a store."""
    for path in folder.iterdir():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def time_reading(folder: Path) -> float:
    """Return the seconds to read all shards from the disk."""
    drop_pages(folder)
    began = time.perf_counter()
    for path in sorted(folder.glob("*.arrow")):
        with path.open("rb", buffering=0) as stream:
            while stream.read(8 << 20):
                pass
    return time.perf_counter() - began


def time_epoch(
    rows: Any, threads: int, workers: TrainingWorkers | None, *, epochs: int = 2, before: Any = None
) -> float:
    """Return the median seconds of the epochs after the first, before which `before` is called."""
    ends: list[float] = []

    def note(row: dict[str, Any]) -> None:
        ends.append(time.perf_counter())
        if before is not None and len(ends) == 1:
            before()
            ends[0] = time.perf_counter()

    method = SGD(eta=0.1, beta=BETA, scale=False, epochs=epochs, callback=note)
    method.fit(rows, None, n_classes=CLASSES, threads=threads, workers=workers)
    return float(np.median(np.diff(ends)))


def take_turn(
    store: Store, folder: Path, memory: int, threads: int
) -> tuple[float, float, float, float]:
    """Return seconds of reading, of an epoch in memory and of one out of core, and its memory."""
    rows = store.rows("train")
    few = rows.read(np.arange(min(ROWS_IN_MEMORY, rows.n_rows)))
    held = ArrayRows(few, rows.labels[: len(few)], store.class_names)
    once = time_epoch(held, threads, None, epochs=EPOCHS_IN_MEMORY)
    in_memory = once * rows.n_rows / len(few)
    del few, held
    reading = time_reading(store.path)
    workers = TrainingWorkers(LocalExecutor(1), folder / "pieces", (memory - APART) // 2, threads)
    found: list[float] = []

    def run() -> None:
        forget = partial(drop_pages, store.path)
        found.append(time_epoch(rows, threads, workers, before=forget))

    _, private = measure(run)
    return reading, in_memory, found[0], private


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory", default="256MB")
    parser.add_argument("--times", type=float, default=4.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the store is written for the while")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    memory = parse_bytes(options.memory, "--memory")
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        store = write_codes(folder / "store", int(options.times * memory))
        rows = store.rows("train")
        turns = [take_turn(store, folder, memory, options.threads) for _ in range(options.turns)]
    reading, in_memory, out_of_core, private = (float(x) for x in np.median(turns, axis=0))
    ratio = out_of_core / max(in_memory, reading)
    print(
        f"{rows.n_rows:,} rows, {options.times:g} x {options.memory}: reading {reading:.2f} s, "
        f"epoch in memory {in_memory:.2f} s, epoch out of core {out_of_core:.2f} s, ratio "
        f"{ratio:.2f}; private memory {private / 1e6:.0f} MB of {memory / 1e6:.0f}"
    )
    results = describe_run() | {
        "memory": memory,
        "store": int(options.times * memory),
        "rows": rows.n_rows,
        "threads": options.threads,
        "seconds_reading": reading,
        "seconds_in_memory": in_memory,
        "seconds_out_of_core": out_of_core,
        "ratio": ratio,
        "private": private,
        "turns": turns,
    }
    write_results(options.out, results)


if __name__ == "__main__":
    main()
