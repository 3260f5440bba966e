"""What networks of 8-bit integers gain in time and cost in accuracy.

    python benchmarks/int8.py --data FOLDER             # CLASS/*.jpg anywhere below FOLDER
    python benchmarks/int8.py --data scene15 --per-class 100 --out benchmarks/results/int8.json

All images are described by the networks of ``--signature auto`` with ``--precision float32`` and
``int8``, on one thread. `LinearClassifier` is trained on random splits of these rows; accuracy is
the mean over classes. Results of several folders are kept in one file, each with its machine.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from record import describe_run, write_results

from myriad import LinearClassifier
from myriad.images import read_image
from myriad.signatures import EfficientNetOptions, open_network
from myriad.signatures.signature import Signature

NETWORKS = "efficientnet-lite0+efficientnet-lite2"


def describe(network: Signature, files: list[Path]) -> tuple[NDArray[np.float32], float]:
    """Return the rows of images, and the milliseconds that the networks took per image."""
    rows, seconds = [], 0.0
    for file in files:
        image = read_image(file, colour=True)
        began = time.process_time()
        rows.append(network.describe(image))
        seconds += time.process_time() - began
    return np.stack(rows), 1000 * seconds / len(files)


def find_accuracy(
    X: NDArray[np.float32], y: NDArray[np.str_], train: NDArray[np.bool_], search: str
) -> float:
    """Return the mean class accuracy on rows that are not for training, in percent."""
    classifier = LinearClassifier(search=search, threads=1)
    guesses = classifier.fit(X[train], y[train]).predict(X[~train])
    truths = y[~train]
    return 100.0 * float(np.mean([(guesses[truths == c] == c).mean() for c in np.unique(truths)]))


def draw_split(y: NDArray[np.str_], per_class: int, seed: int) -> NDArray[np.bool_]:
    """Return which rows are for training: `per_class` of each class, but five are left."""
    draws, train = np.random.default_rng(seed), np.zeros(len(y), bool)
    for name in np.unique(y):
        own = draws.permutation(np.flatnonzero(y == name))
        train[own[: max(1, min(per_class, len(own) - 5))]] = True
    return train


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with a folder per class")
    parser.add_argument("--per-class", type=int, default=30, help="training images per class")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--search", default="normal", help="that of LinearClassifier")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    files = sorted(p for p in given.data.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    y = np.array([file.parent.name for file in files])
    rows, times = {}, {}
    for precision in ("float32", "int8"):
        network = open_network(NETWORKS, EfficientNetOptions(precision=precision))
        describe(network, files[:1])  # started before it is timed
        rows[precision], times[precision] = describe(network, files)
    splits = [draw_split(y, given.per_class, seed) for seed in range(given.splits)]
    accuracies = {
        precision: [find_accuracy(X, y, train, given.search) for train in splits]
        for precision, X in rows.items()
    }
    gains = np.array(accuracies["int8"]) - accuracies["float32"]
    found = {
        "images": len(files),
        "training images per class": given.per_class,
        "search": given.search,
        "milliseconds per image": times,
        "mean class accuracy": accuracies,
        "difference": float(gains.mean()),
        "standard error": float(gains.std(ddof=1) / np.sqrt(len(gains)))
        if len(gains) > 1
        else None,
        "cosine": float((rows["float32"] * rows["int8"]).sum(axis=1).mean()),
    }
    for name, value in found.items():
        print(f"{name:<28}{value}")
    known = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    write_results(given.out, {**known, given.data.name: describe_run() | found})


if __name__ == "__main__":
    main()
