"""Speed of codes: encoding against faiss and copying, information against reading, epochs on codes.

    python benchmarks/code_speed.py                          # all three, about 3 min
    python benchmarks/code_speed.py --parts encode,epochs
    python benchmarks/code_speed.py --parts epochs --shapes a --threads 1
    python benchmarks/code_speed.py --out benchmarks/results/code_speed.json

Encoding: rows of 131,072 features, 2 threads; product codes against faiss
``ProductQuantizer.compute_codes`` with the same codebooks, sign bits in the order of their
information, and of rotated rows, against copying the rows. Information: a store of 131,072 features
and 100 classes against reading its rows. Epochs: the third epoch of training on product codes and
on sign bits, decoded from a store, against float32 rows in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results
from timing import best_of

from myriad.codes import Code, ProductCode, learn_bits, learn_hadamard
from myriad.parallel import map_ordered, open_threads, thread_executor
from myriad.store import ArrayRows, Rows, Store, feature_information, rows_at_a_time
from myriad.training import SGD
from myriad.training.settings import Setting, mean_square
from myriad.training.sgd.fitting import make_trainer

DIM = 131_072
SHAPES = {"wide": (512, DIM, 300), "narrow": (4096, 8192, 100), "a": (40_000, 1024, 500)}
EPOCHS = 3
CHUNK = 32


def make_product(dim: int, *, n_books: int) -> ProductCode:
    """Return a product code of random books: its speed does not depend on what it learned."""
    random = np.random.default_rng(0)
    return ProductCode(random.standard_normal((n_books, 256, 8), dtype=np.float32), dim)


def make_bits(dim: int) -> Code:
    """Return all features as bits, in the random order that information gives."""
    random = np.random.default_rng(0)
    return learn_bits(random.standard_normal((2, dim)), information=random.random(dim))


def time_encoding(n: int, threads: int, repeats: int) -> dict[str, float]:
    """Return rows per second of encoding and of what it is compared with."""
    rows = np.random.default_rng(1).standard_normal((n, DIM), dtype=np.float32)
    product, bits = make_product(DIM, n_books=DIM // 8), make_bits(DIM)
    turned = learn_hadamard(rows[:2], information=np.random.default_rng(0).random(DIM))
    peer = faiss.ProductQuantizer(DIM, DIM // 8, 8)
    faiss.copy_array_to_vector(product.codebooks.ravel(), peer.centroids)
    target = np.empty_like(rows)

    def copy(part: slice) -> None:
        target[part] = rows[part]

    def shared(work: Callable[[slice], object]) -> Callable[[], object]:
        parts = [slice(start, start + CHUNK) for start in range(0, n, CHUNK)]

        def run() -> None:
            with thread_executor(threads) as executor:
                for _ in map_ordered(work, parts, executor, ahead=2 * threads):
                    pass

        return run

    faiss.omp_set_num_threads(threads)
    runs = {
        "copy": shared(copy),
        "bits": shared(lambda part: bits.encode(rows[part])),
        "turned bits": shared(lambda part: turned.encode(rows[part])),
        "pq": shared(lambda part: product.encode(rows[part])),
        "pq by faiss": lambda: peer.compute_codes(rows),
    }
    assert (product.encode(rows[:2]) == peer.compute_codes(rows[:2])).mean() > 0.999
    return {name: round(n / best_of(run, repeats), 1) for name, run in runs.items()}


def write_rows(folder: Path, n: int, dim: int, n_classes: int, code: Code | None) -> Store:
    """Write a store of random rows, coded if asked."""
    random = np.random.default_rng(2)
    size = 128 if code is None else 4096
    width = dim if code is None else code.decoded_dim
    names = [str(c) for c in range(n_classes)]
    shards = [(start, min(start + size, n)) for start in range(0, n, size)]
    writer = Store.create(folder, class_names=names, dim=width, n_shards=len(shards), code=code)
    for number, (start, stop) in enumerate(shards):
        if code is None:
            rows: NDArray[Any] = random.standard_normal((stop - start, dim), dtype=np.float32)
        else:
            rows = random.integers(0, 256, (stop - start, code.bytes_per_row), dtype=np.uint8)
        labels = random.integers(0, n_classes, stop - start)
        writer.write_shard(number, rows, labels, [""] * len(rows), "train")
    writer.finish()
    return Store.open(folder, verify=False)


def time_information(folder: Path, n: int, threads: int) -> dict[str, float]:
    """Return the seconds of reading a store and of measuring information on it.

    The store is written to the folder unless it is there from an earlier run.
    """
    place = folder / f"plain-{n}.store"
    store = Store.open(place, verify=False) if place.exists() else None
    rows = (store or write_rows(place, n, DIM, 100, None)).rows()

    def read() -> None:
        for _ in rows.blocks(rows_at_a_time(DIM)):
            pass

    seconds = best_of(read, 1)
    informed = best_of(lambda: feature_information(rows, threads=threads), 1)
    return {
        "rows": n,
        "reading": round(seconds, 2),
        "information": round(informed, 2),
        "ratio": round(informed / seconds, 2),
    }


def time_epoch(rows: Rows, n_classes: int, objective: str, threads: int) -> float:
    """Return the seconds of the last epoch."""
    square = mean_square(rows)
    beta = 64.0 if objective == "ovr" else None
    setting = Setting(0.3 / square, beta)
    trainer = make_trainer(SGD(objective=objective), [setting], rows, n_classes, square)
    with open_threads(threads) as pool:
        for _ in range(EPOCHS):
            began = time.perf_counter()
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
            seconds = time.perf_counter() - began
    return seconds


def time_epochs(folder: Path, shape: str, threads: int) -> list[dict[str, Any]]:
    """Return the epochs of one shape on float32 rows and on codes."""
    n, dim, n_classes = SHAPES[shape]
    stores = {
        "pq": write_rows(
            folder / f"{shape}-pq", n, dim, n_classes, make_product(dim, n_books=dim // 8)
        ),
        "bits": write_rows(folder / f"{shape}-bits", n, dim, n_classes, make_bits(dim)),
    }
    table = []
    for objective in ("ovr", "multiclass"):
        for name, store in stores.items():
            coded = store.rows()
            plain = ArrayRows(coded.read(np.arange(n)), coded.labels)
            times = [
                (time_epoch(plain, n_classes, objective, threads),
                 time_epoch(coded, n_classes, objective, threads))
                for _ in range(2)
            ]  # fmt: skip
            float_seconds, code_seconds = (min(column) for column in zip(*times, strict=True))
            row = {
                "shape": {"rows": n, "dim": dim, "classes": n_classes},
                "objective": objective,
                "codes": name,
                "float32": round(float_seconds, 3),
                "coded": round(code_seconds, 3),
                "ratio": round(code_seconds / float_seconds, 2),
            }
            print(row, flush=True)
            table.append(row)
    return table


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="encode,information,epochs")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the store to inform on")
    parser.add_argument("--encoded", type=int, default=256, help="rows to encode")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", type=Path, help="where to put stores; a temporary folder if none")
    parser.add_argument("--keep", type=Path, help="where to keep the store to inform on, if at all")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    results: dict[str, Any] = {**describe_run(), "threads": options.threads}
    parts = options.parts.split(",")
    if "encode" in parts:
        results["rows_a_second"] = time_encoding(options.encoded, options.threads, options.repeats)
        print(results["rows_a_second"], flush=True)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        if "information" in parts:
            results["information"] = time_information(
                options.keep or Path(folder), options.rows, options.threads
            )
            print(results["information"], flush=True)
        if "epochs" in parts:
            results["epochs"] = [
                row
                for shape in options.shapes.split(",")
                for row in time_epochs(Path(folder), shape, options.threads)
            ]
    write_results(options.out, results)


if __name__ == "__main__":
    main()
