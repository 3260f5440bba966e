"""Learning the codebooks of product codes: processor time and error beside faiss's k-means.

    python benchmarks/codebooks.py --out benchmarks/results/codebooks.json
    python benchmarks/codebooks.py photographs.npy fisher.npy:32768

Each file holds float32 rows; the number behind the colon is the period after which a row repeats
its meaning, so that the periods are points of the same book. Without files, characters are drawn
and described by Fisher vectors. faiss runs 12 rounds of Lloyd's algorithm from the first points.
Errors are the mean squared distances from the nearest centroid, as ratios to those of faiss: on the
points that the books are learned from, and on others. One thread.
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

from myriad.codes.codebooks import learn_codebook
from myriad.images import choose_glyphs, write_glyphs
from myriad.pipelines.describing.extract import extract
from myriad.pipelines.describing.options import ExtractOptions

D, CENTROIDS, ROUNDS = 8, 256, (3, 4, 5, 6)
Points = list[NDArray[np.float32]]


def draw_fisher(classes: int, images: int) -> tuple[NDArray[np.float32], int]:
    """Return the Fisher vectors of drawn characters, and their period."""
    with tempfile.TemporaryDirectory() as folder:
        pictures = Path(folder) / "pictures"
        write_glyphs(pictures, choose_glyphs(classes), images=images, seed=0)
        options = ExtractOptions(signature="fisher", codes="none", cache=False)
        rows = extract(pictures, Path(folder) / "store", options=options).store.rows()
        return rows.read(np.arange(len(rows.labels))), rows.dim // 4


def cut(X: NDArray[np.float32], period: int, n_books: int, n: int) -> tuple[Points, Points]:
    """Return the points of some books to learn from, `n` of each, and the others."""
    random = np.random.default_rng(0)
    chosen = random.choice(period // D, min(n_books, period // D), replace=False)
    order = random.permutation(len(X))
    found: tuple[Points, Points] = [], []
    for book in chosen:
        columns = [slice(at + book * D, at + book * D + D) for at in range(0, X.shape[1], period)]
        points = np.concatenate([X[order, some] for some in columns])
        points = np.ascontiguousarray(points[random.permutation(len(points))], np.float32)
        found[0].append(points[:n])
        found[1].append(points[n:])
    return found


def run_faiss(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a book by 12 rounds of Lloyd's algorithm."""
    means = faiss.Kmeans(D, CENTROIDS, niter=12, min_points_per_centroid=1)
    means.train(points, init_centroids=points[:CENTROIDS].copy())
    return means.centroids


def measure(learn: Callable[[Any], Any], some: Points, others: Points) -> dict[str, float]:
    """Return the milliseconds of processor time per book, and the errors."""
    learn(some[0])
    began = time.process_time()
    books = [learn(points) for points in some]
    seconds = time.process_time() - began
    errors = []
    for each in (some, others):
        pairs = zip(each, books, strict=True)
        distances = [faiss.knn(points, book, 1)[0].sum() for points, book in pairs]
        errors.append(sum(distances) / sum(map(len, each)))
    return {"milliseconds": 1e3 * seconds / len(some), "learned": errors[0], "others": errors[1]}


def compare(X: NDArray[np.float32], period: int, n_books: int, n: int) -> dict[str, Any]:
    """Return the times and relative errors of faiss, and of some numbers of our rounds."""
    some, others = cut(X, period, n_books, n)
    runs: dict[str, Callable[[Any], Any]] = {"faiss": run_faiss}
    for rounds in ROUNDS:
        runs[f"{rounds} rounds"] = lambda points, rounds=rounds: learn_codebook(
            points, CENTROIDS, rounds=rounds
        )
    found = {name: measure(run, some, others) for name, run in runs.items()}
    base = found["faiss"].copy()
    for one in found.values():
        one["milliseconds"] = round(one["milliseconds"], 2)
        for side in ("learned", "others"):
            one[side] = round(float(one[side] / base[side]), 4)
    return {"rows": list(X.shape), "period": period, "points": len(some[0]), **found}


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE.npy[:PERIOD]")
    parser.add_argument("--books", type=int, default=48, help="books to learn")
    parser.add_argument("--points", type=int, default=2048, help="points of a book")
    parser.add_argument("--classes", type=int, default=50, help="characters to draw")
    parser.add_argument("--images", type=int, default=14, help="images of a character")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    found = {}
    for file in options.files or ["characters"]:
        path, _, period = file.partition(":")
        if options.files:
            X = np.load(path, mmap_mode="r")
            name, every = Path(path).stem, int(period or X.shape[1])
        else:
            name, (X, every) = path, draw_fisher(options.classes, options.images)
        found[name] = compare(X, every, options.books, options.points)
        print(name, found[name], flush=True)
    write_results(options.out, {**describe_run(), "books": found})


if __name__ == "__main__":
    main()
