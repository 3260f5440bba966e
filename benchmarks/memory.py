"""Private memory of training on product codes on disk, above what the imports take.

    python benchmarks/memory.py                        # N = 20,000 and 2,000,000; about 5 min
    python benchmarks/memory.py --rows 20000 --out benchmarks/results/memory.json

Rows of D = 1024 features as product codes of 8 features and 8 bits, 128 bytes each, C = 500. Each
training is a process of its own: after its imports, a thread reads ``RssAnon`` of the process every
few milliseconds; memory-mapped pages of the store are not counted, compiled kernels are. The limit
is the copies of W in use, two blocks of rows with their products, the codebooks, and 200 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event
from record import describe_run, write_results

from myriad.codes import ProductCode
from myriad.store import Store
from myriad.training import SGD, Context

DIM, N_CLASSES, BOOK = 1024, 500, 8
VALIDATION = 2_000
SHARD_ROWS = 20_000
ALLOWANCE = 200 << 20
EVERY = 0.005
METHODS: dict[str, dict[str, Any]] = {
    "multiclass": {"objective": "multiclass", "eta": 0.1, "scale": False},
    "ovr, beta = 64": {"objective": "ovr", "eta": 0.1, "beta": 64.0, "scale": False},
    "ovr, searched": {"objective": "ovr"},
}
"""What is trained; the search only where it is quick."""
SEARCHED_ROWS = 100_000


def write_codes(folder: Path, n: int) -> Store:
    """Write random codes whose first byte is the class, so that there is something to learn."""
    random = np.random.default_rng(0)
    books = random.standard_normal((DIM // BOOK, 256, BOOK), dtype=np.float32) / np.float32(32)
    code = ProductCode(books, DIM)
    shards = [(start, min(start + SHARD_ROWS, n)) for start in range(0, n, SHARD_ROWS)]
    names = [str(c) for c in range(N_CLASSES)]
    writer = Store.create(folder, class_names=names, dim=DIM, n_shards=len(shards) + 1, code=code)
    marks = random.integers(0, 256, (N_CLASSES, 8), dtype=np.uint8)
    for number, (start, stop) in enumerate([*shards, (0, min(VALIDATION, n))]):
        labels = random.integers(0, N_CLASSES, stop - start)
        rows = random.integers(0, 256, (stop - start, code.bytes_per_row), dtype=np.uint8)
        rows[:, :8] = marks[labels]
        split = "train" if number < len(shards) else "val"
        writer.write_shard(number, rows, labels, [""] * len(rows), split)
    writer.finish()
    return Store.open(folder, verify=False)


def read_private() -> int:
    """Return the private memory of this process in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


class Watch:
    """The most private memory since it began, read by a thread of its own."""

    def __init__(self) -> None:
        self.before = self.most = read_private()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        while not self._ended.wait(EVERY):
            self.most = max(self.most, read_private())

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.most = max(self.most, read_private())


def measure(folder: Path, name: str, epochs: int, threads: int) -> dict[str, Any]:
    """Train and return the memory that it took, and what it may take."""
    began = time.perf_counter()
    with event.install_recorder("numba:compile") as compiled, Watch() as watch:
        store = Store.open(folder, verify=False)
        method = SGD(**METHODS[name], epochs=epochs, patience=epochs)
        fitted = method.fit(
            store.rows("train"),
            store.rows("val"),
            n_classes=N_CLASSES,
            context=Context(threads=threads),
        )
    weights = 4 * N_CLASSES * DIM
    copies = 2 + len(fitted.table)  # in training, the best so far, and those of a search
    layout = method.cost(N_CLASSES, DIM).layout
    blocks = 2 * 4 * layout.count_rows(DIM) * (DIM + N_CLASSES + layout.block)
    books = 4 * DIM * 256
    allowed = copies * weights + blocks + books + ALLOWANCE
    return {
        "rows": store.rows("train").n_rows,
        "method": name,
        "epochs": epochs,
        "top1": round(fitted.history[-1]["top1"], 2),
        "seconds": round(time.perf_counter() - began, 1),
        "imports_mb": round(watch.before / 2**20, 1),
        "private_mb": round((watch.most - watch.before) / 2**20, 1),
        "copies_of_weights": copies,
        "allowed_mb": round(allowed / 2**20, 1),
        "kept": watch.most - watch.before <= allowed,
        "compiled": len(compiled.buffer) > 0,
    }


def call(folder: Path, name: str, epochs: int, threads: int) -> dict[str, Any]:
    """Measure in a process of its own; again if it compiled kernels, which takes memory too."""
    words = ["--store", str(folder), "--method", name]
    words += ["--epochs", str(epochs), "--threads", str(threads)]
    command = [sys.executable, __file__, *words]
    found: dict[str, Any] = {"compiled": True}
    while found.pop("compiled"):
        found = json.loads(subprocess.run(command, check=True, stdout=-1).stdout)
    return found


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 2_000_000])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="where to put stores; a temporary folder if none")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    parser.add_argument("--store", type=Path, help="measure one method on this store, here")
    parser.add_argument("--method", choices=list(METHODS), default="multiclass")
    options = parser.parse_args()
    if options.store is not None:
        found = measure(options.store, options.method, options.epochs, options.threads)
        print(json.dumps(found))
        return
    table = []
    with tempfile.TemporaryDirectory(dir=options.work) as place:
        for n in options.rows:
            folder = Path(place) / str(n)
            write_codes(folder, n)
            for name in METHODS:
                if name == "ovr, searched" and n > SEARCHED_ROWS:
                    continue
                table.append(call(folder, name, options.epochs, options.threads))
                print(table[-1], flush=True)
    write_results(options.out, {**describe_run(), "threads": options.threads, "rows": table})


if __name__ == "__main__":
    main()
