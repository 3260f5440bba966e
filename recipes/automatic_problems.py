"""The problems of `automatic.py`: rows, labels and splits.

Rows of photographs come from stores, which ``myriad extract`` makes once; test rows are those of
the data's own test split for seed 0, and drawn afresh from all rows of a class for other seeds.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from myriad import Store
from myriad.images import choose_glyphs, write_glyphs

DATA = "a folder with omniglot_1623.npz, scene15, caltech101.zip and tiny200.zip"
"""What `--data` is; digits and glyphs need none of it."""
GLYPH_CLASSES, GLYPH_IMAGES = 300, 20
MANY_CLASSES, MANY_FEATURES, MANY_FAMILY, MANY_NOISE = 10_000, 256, 20, 4.0
MANY_ROWS, MANY_TRAIN = 7, 5
OMNIGLOT_CLASSES, OMNIGLOT_TRAIN = 400, 15
TINY_CLASSES, TAIL_MOST, TAIL_LEAST = 200, 100, 2


@dataclass(frozen=True)
class Problem:
    """Training and test rows with their labels, float32 and int arrays."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.y.max()) + 1


def split(X: np.ndarray, y: np.ndarray, counts: np.ndarray, seed: int) -> Problem:
    """Draw `counts[c]` training rows of each class; the others are for testing."""
    draws = np.random.default_rng(seed)
    chosen = np.zeros(len(y), bool)
    for c in range(len(counts)):
        rows = np.flatnonzero(y == c)
        chosen[draws.permutation(rows)[: counts[c]]] = True
    return Problem(X[chosen], y[chosen], X[~chosen], y[~chosen])


def load_digits(data: Path, out: Path, seed: int) -> Problem:
    """Handwritten digits of scikit-learn, half of them for training."""
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    return split(X.astype(np.float32), y, np.bincount(y) // 2, seed)


def load_omniglot(data: Path, out: Path, seed: int) -> Problem:
    """Pixels of some Omniglot characters, drawn by the seed and averaged to 35 x 35."""
    found = np.load(data / "omniglot_1623.npz")
    chosen = np.random.default_rng(seed).permutation(1623)[:OMNIGLOT_CLASSES]
    rows = np.isin(found["y"], chosen)
    X = np.unpackbits(found["X"][rows], axis=-1)[..., :105]
    X = X.reshape(-1, 35, 3, 35, 3).mean(axis=(2, 4)).reshape(len(X), -1).astype(np.float32)
    y = np.unique(found["y"][rows], return_inverse=True)[1]
    return split(X, y, np.full(OMNIGLOT_CLASSES, OMNIGLOT_TRAIN), seed)


def load_rotated(data: Path, out: Path, seed: int) -> Problem:
    """Gradient orientations of all Omniglot characters, upright and rotated: 3,246 classes."""
    from highly_multiclass_rows import describe

    file = out / "omniglot-rotated.npz"
    if not file.exists():
        with np.load(data / "omniglot_1623.npz") as found:
            drawings, labels = np.unpackbits(found["X"], axis=-1)[..., :105], found["y"]
        X = [describe(1 - np.rot90(one, k).astype(np.float32)) for k in (0, 1) for one in drawings]
        y = np.concatenate([labels, labels + labels.max() + 1])
        np.savez(file, X=np.stack(X).astype(np.float32), y=y.astype(np.int64))
    with np.load(file) as kept:
        X, y = kept["X"], kept["y"]
    return split(X, y, np.full(int(y.max()) + 1, OMNIGLOT_TRAIN), seed)


def load_glyphs(data: Path, out: Path, seed: int) -> Problem:
    """Short Fisher vectors of drawn characters."""
    images, store = out / f"glyphs-{seed}-images", out / f"glyphs-{seed}-fisher"
    if not store.exists():
        glyphs = choose_glyphs(GLYPH_CLASSES, seed=seed)
        write_glyphs(images, glyphs, images=GLYPH_IMAGES, seed=seed)
        options = ["--components", "32", "--regions", "1", "--codes", "none"]
        run_verb("extract", images, "--out", store, "--signature", "fisher", *options)
    return read_store(store, 0)


def draw_many(data: Path, out: Path, seed: int) -> Problem:
    """Drawn rows of 10,000 classes, in families of classes that are alike."""
    draws = np.random.default_rng(seed)
    y = np.repeat(np.arange(MANY_CLASSES), MANY_ROWS)
    scale = (1.0 / np.sqrt(1.0 + np.arange(MANY_FEATURES) / 16)).astype(np.float32)
    families = draws.standard_normal((MANY_CLASSES // MANY_FAMILY, MANY_FEATURES), np.float32)
    means = draws.standard_normal((MANY_CLASSES, MANY_FEATURES), np.float32)
    means += families[np.arange(MANY_CLASSES) // MANY_FAMILY]
    X = draws.standard_normal((len(y), MANY_FEATURES), np.float32)
    X *= MANY_NOISE
    X += means[y]
    return split(X * scale, y, np.full(MANY_CLASSES, MANY_TRAIN), seed)


def load_store(
    source: str,
    signature: str,
    codes: str,
    data: Path,
    out: Path,
    seed: int,
    options: Sequence[str] = (),
) -> Problem:
    """Rows of photographs; further options of ``extract`` are part of the name of the store.

    Networks have the features of their last layer, as other libraries take them.
    """
    words = [word.strip("-") for word in (Path(source).stem, signature, codes, *options)]
    store = out / "-".join(words)
    if not store.exists():
        chosen = ["--signature", signature, "--codes", codes, *options]
        chosen += ["--layers", "last"] if signature == NETWORK else []
        run_verb("extract", data / source, "--out", store, *chosen)
    return read_store(store, seed)


def read_store(folder: Path, seed: int) -> Problem:
    """Return the rows of a store, with fresh splits of the same sizes unless the seed is 0."""
    store = Store.open(folder)
    splits = np.asarray(store.splits)
    found = {}
    for name in ("train", "test"):
        rows = store.rows(["train", "val"] if name == "train" and "val" in splits else [name])
        X = np.concatenate([block.X for block in rows.blocks(256)])
        found[name] = X.astype(np.float32), np.asarray(rows.labels).astype(np.int64)
    (X, y), (X_test, y_test) = found["train"], found["test"]
    if seed == 0:
        return Problem(X, y, X_test, y_test)
    counts = np.bincount(y)
    return split(np.concatenate([X, X_test]), np.concatenate([y, y_test]), counts, seed)


def load_tail(data: Path, out: Path, seed: int) -> Problem:
    """Tiny-ImageNet with 100 to 2 rows per class, the classes permuted by the seed."""
    ranks = np.random.default_rng(seed).permutation(TINY_CLASSES)
    sizes = TAIL_MOST * (TAIL_LEAST / TAIL_MOST) ** (ranks / (TINY_CLASSES - 1))
    whole = load_store("tiny200.zip", NETWORK, "none", data, out, 0)
    return draw_part(whole, np.maximum(sizes.round().astype(int), 1), seed)


def load_few(source: str, n_rows: int, data: Path, out: Path, seed: int) -> Problem:
    """Rows of photographs with few training rows of each class, and all test rows."""
    whole = load_store(source, NETWORK, "none", data, out, 0)
    return draw_part(whole, np.full(whole.n_classes, n_rows), seed)


def draw_part(whole: Problem, counts: np.ndarray, seed: int) -> Problem:
    """Draw `counts[c]` training rows of each class; all test rows stay."""
    part = split(whole.X, whole.y, counts, seed)
    return Problem(part.X, part.y, whole.X_test, whole.y_test)


def run_verb(*words: object) -> None:
    """Run a verb of the command."""
    run = [sys.executable, "-m", "myriad.cli.main", *map(str, words)]
    status = subprocess.run(run, check=False).returncode
    if status:  # the verb has said why
        sys.exit(status)


NETWORK = "efficientnet-lite0"
PROBLEMS: dict[str, Callable[[Path, Path, int], Problem]] = {
    "digits": load_digits,
    "omniglot": load_omniglot,
    "omniglot rotated": load_rotated,
    "scene15 network": partial(load_store, "scene15", NETWORK, "none"),
    "scene15 fisher": partial(load_store, "scene15", "fisher", "none"),
    "caltech101 network": partial(load_store, "caltech101.zip", NETWORK, "none"),
    "caltech101 fisher": partial(load_store, "caltech101.zip", "fisher", "none"),
    "caltech101 fisher pq": partial(load_store, "caltech101.zip", "fisher", "pq"),
    "tiny200 network": partial(load_store, "tiny200.zip", NETWORK, "none"),
    "tiny200 few": partial(load_few, "tiny200.zip", 20),
    "tiny200 tail": load_tail,
    "glyphs": load_glyphs,
    "many": draw_many,
}
