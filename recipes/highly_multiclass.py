"""Classifiers of very many classes side by side, in the shape of [HM, Tables 6 and 8].

    python recipes/highly_multiclass.py omniglot --data omniglot_1623.npz --out results.json
    python recipes/highly_multiclass.py glyphs --out results.json
    python recipes/highly_multiclass.py omniglot --data omniglot_1623.npz --quick

Omniglot: 1,623 characters, 15 drawings of each to train, 2 to validate, 3 to test; the file holds
`X`, bits of 105 x 105 drawings packed along the last axis, and `y`. Glyphs: 2,000 characters that
myriad draws itself, as many of each. A row is a grid of 8 x 8 cells of 8 orientations of gradients,
512 numbers, the same for all methods. All settings are found on validation rows; a seed draws the
split as well. `--quick` takes 200 classes and two seeds: a few minutes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import faiss
import numpy as np

from myriad.models.embedding import EmbeddingModel
from myriad.store import ArrayRows
from myriad.training import SGD, EmbeddingOptions, Method, WsabieMethod

PROPER = EmbeddingOptions(
    discriminant="linear", rank_weight=True, last_violators=0, adagrad=False, max_norm=1.0
)
BARE = {"rank_weight": True, "last_violators": 0, "adagrad": False}
ABLATIONS = {  # Euclidean throughout, as in [HM, Table 6]
    "Wsabie": {},
    "Wsabie + 10 last violators": {"last_violators": 10},
    "Wsabie + adagrad": {"adagrad": True},
    "Wsabie + counting adagrad": {"adagrad": "count"},
    "Wsabie + constant weight": {"rank_weight": False},
    "Wsabie + adagrad + 10 last violators": {"adagrad": True, "last_violators": 10},
    "Wsabie + adagrad + constant weight": {"adagrad": True, "rank_weight": False},
    "... + 1 last violator": {"adagrad": True, "rank_weight": False, "last_violators": 1},
    "... + 10 last violators": {"adagrad": True, "rank_weight": False, "last_violators": 10},
    "... + 100 last violators": {"adagrad": True, "rank_weight": False, "last_violators": 100},
}
DIMS = (32, 64, 128, 256)
MEMBERS = 3


def describe(picture: np.ndarray) -> np.ndarray:
    """Return the orientations of gradients in a grid of cells; the picture is bright ink, float."""
    picture = cv2.resize(
        cv2.GaussianBlur(picture, (0, 0), 1.5), (64, 64), interpolation=cv2.INTER_AREA
    )
    dx, dy = cv2.Sobel(picture, cv2.CV_32F, 1, 0), cv2.Sobel(picture, cv2.CV_32F, 0, 1)
    strength, angle = np.hypot(dx, dy), (np.arctan2(dy, dx) * (4 / np.pi)) % 8
    low = np.floor(angle)
    cells = []
    for o in range(8):
        near = np.where(low % 8 == o, 1 - (angle - low), 0) + np.where(
            (low + 1) % 8 == o, angle - low, 0
        )
        blurred = cv2.GaussianBlur((strength * near).astype(np.float32), (0, 0), 4)
        cells.append(cv2.resize(blurred, (8, 8), interpolation=cv2.INTER_AREA))
    row = np.sqrt(np.concatenate(cells, axis=None))
    return row / max(float(np.linalg.norm(row)), 1e-12)


def read_omniglot(path: Path, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of the first classes."""
    with np.load(path) as stored:
        kept = stored["y"] < n_classes
        bits, labels = stored["X"][kept], stored["y"][kept]
    drawings = np.unpackbits(bits, axis=-1)[..., :105]
    rows = np.stack([describe(1.0 - drawing.astype(np.float32)) for drawing in drawings])
    return rows, labels.astype(np.int32)


def draw_glyphs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of characters drawn with noise; see `myriad demo`."""
    from myriad.images import choose_glyphs, find_images, write_glyphs

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "glyphs"
        write_glyphs(place, choose_glyphs(n_classes), images=20, seed=0, splits=(1.0, 0, 0))
        images = find_images(place)
        rows = [
            describe(255.0 - cv2.imread(images.locate(i), 0).astype(np.float32))
            for i in range(len(images))
        ]
        return np.stack(rows), images.labels


def split(X: np.ndarray, y: np.ndarray, seed: int) -> list[ArrayRows]:
    """Return 15 rows of each class to train, 2 to validate, 3 to test."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    by_class = order[np.argsort(y[order], kind="stable")]
    place = np.concatenate([np.arange(n) for n in np.bincount(y)])
    names = [str(c) for c in range(int(y.max()) + 1)]
    parts = (place < 15, (place >= 15) & (place < 17), place >= 17)
    return [ArrayRows(X[by_class[part]], y[by_class[part]], names) for part in parts]


def methods(dim: int, seed: int) -> dict[str, Method]:
    """Return the methods of [HM, Table 8] that are trained by gradients."""
    return {
        "one-vs-all, 1 : 1": SGD(objective="ovr", beta=1.0, seed=seed),
        "one-vs-all": SGD(objective="ovr", seed=seed),
        "AUC": SGD(objective="auc", seed=seed),
        "Wsabie": WsabieMethod(dim=dim, options=PROPER, seed=seed),
        "Wsabie ensemble": WsabieMethod(dim=dim, options=PROPER, ensemble=MEMBERS, seed=seed),
        "Wsabie++": WsabieMethod(dim=dim, seed=seed),
        "Wsabie++ ensemble": WsabieMethod(dim=dim, ensemble=MEMBERS, seed=seed),
        "Wsabie++, no last violators": WsabieMethod(
            dim=dim, options=EmbeddingOptions(last_violators=0), seed=seed
        ),
    }


def fit(method: Method, parts: list[ArrayRows]) -> tuple[float, float, dict[str, Any]]:
    """Return validation and test accuracy in percent, and the settings found."""
    train, val, test = parts
    fitted = method.fit(train, val, n_classes=len(train.class_names), threads=1)
    return score(fitted.model, val), score(fitted.model, test), fitted.settings


def score(model: Any, rows: ArrayRows) -> float:
    """Return the accuracy over samples in percent."""
    return 100 * float((model.judge(rows.X, rows.labels)[0] == 1).mean())


def fit_means(parts: list[ArrayRows]) -> float:
    """Return the test accuracy of the nearest class mean."""
    train, _, test = parts
    sums = np.zeros((len(train.class_names), train.dim))
    np.add.at(sums, train.labels, train.X)
    means = sums / np.maximum(np.bincount(train.labels, minlength=len(sums)), 1)[:, None]
    model = EmbeddingModel(np.eye(train.dim, dtype=np.float32), means.astype(np.float32))
    return score(model, test)


def fit_neighbours(parts: list[ArrayRows]) -> tuple[float, int]:
    """Return the test accuracy of exact k-NN, and the k that was best on validation rows."""
    train, val, test = parts
    index = faiss.IndexFlatL2(train.dim)
    index.add(train.X)

    def vote(rows: ArrayRows, k: int) -> float:
        labels = train.labels[index.search(rows.X, k)[1]]
        same = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
        guesses = labels[np.arange(len(labels)), same.argmax(axis=1)]  # the nearest on ties
        return 100 * float((guesses == rows.labels).mean())

    best = max((1, 3, 5, 9), key=lambda k: vote(val, k))
    return vote(test, best), best


def run_seed(X: np.ndarray, y: np.ndarray, seed: int, dims: tuple[int, ...]) -> dict[str, Any]:
    """Return all results of a seed: by method, by ablation, and by dimensions."""
    parts = split(X, y, seed)
    by_dim = {}
    for dim in dims:
        by_dim[dim] = fit(WsabieMethod(dim=dim, seed=seed), parts)
        print(f"  Wsabie++ in {dim} dimensions: {by_dim[dim][1]:.1f} %", flush=True)
    dim = max(dims, key=lambda d: by_dim[d][0])
    table: dict[str, Any] = {"nearest means": fit_means(parts)}
    table["k-NN"], k = fit_neighbours(parts)
    settings: dict[str, Any] = {"k-NN": {"k": k}}
    for name, method in methods(dim, seed).items():
        began = time.perf_counter()
        _, table[name], settings[name] = fit(method, parts)
        print(f"  {name}: {table[name]:.1f} %, {time.perf_counter() - began:.0f} s", flush=True)
    ablations = {}
    for name, changes in ABLATIONS.items():
        options = EmbeddingOptions(**(BARE | changes))
        ablations[name] = fit(WsabieMethod(dim=64, options=options, seed=seed), parts)[1]
        print(f"  {name}: {ablations[name]:.1f} %", flush=True)
    accuracy = {str(d): found[1] for d, found in by_dim.items()}
    return {"table8": table, "table6": ablations, "by_dim": accuracy, "settings": settings}


def summarise(runs: list[dict[str, Any]], key: str) -> dict[str, dict[str, float]]:
    """Return the mean and the spread of each line over the seeds."""
    return {
        name: {
            "mean": round(float(np.mean([run[key][name] for run in runs])), 2),
            "spread": round(float(np.std([run[key][name] for run in runs])), 2),
        }
        for name in runs[0][key]
    }


def main() -> None:
    """Run all methods, print the tables, and write them down if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=["omniglot", "glyphs"])
    parser.add_argument("--data", type=Path, help="the file of Omniglot")
    parser.add_argument("--classes", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    most = 1623 if options.set == "omniglot" else 2000
    n_classes = options.classes or (200 if options.quick else most)
    n_seeds = options.seeds or (2 if options.quick else 5)
    dims = DIMS[:2] if options.quick else DIMS
    X, y = (
        read_omniglot(options.data, n_classes)
        if options.set == "omniglot"
        else draw_glyphs(n_classes)
    )
    runs = []
    for seed in range(n_seeds):
        print(f"seed {seed}", flush=True)
        runs.append(run_seed(X, y, seed, dims))
    found = {key: summarise(runs, key) for key in ("table8", "table6", "by_dim")}
    for key, lines in found.items():
        print(key)
        for name, numbers in lines.items():
            print(f"  {name:<40} {numbers['mean']:6.2f} +- {numbers['spread']:.2f}")
    if options.out is not None:
        described = {"set": options.set, "classes": n_classes, "seeds": n_seeds, "rows": len(y)}
        settings = [run["settings"] for run in runs]
        text = json.dumps(described | found | {"settings": settings}, indent=1, default=str)
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
