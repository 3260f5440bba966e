"""The rows of `photographs.py`: all images of a data set are described once for each signature.

Networks are the same for every split. The PCA, the mixture and the product code of Fisher vectors
are learned, without labels, from the training images of the first split and used for all splits, so
some test images of the other splits were seen by a vocabulary. This is the same for all signatures
that are compared.

Fisher vectors are long and images are few, so rows are kept as coordinates of the space that they
span: the lower triangle L of the Cholesky factorisation of their inner products. Linear models
with a penalty on the norm of the weights depend on inner products alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.images import ImageList, choose_glyphs, find_images, write_glyphs

SOURCES = {
    "caltech101": "caltech101.zip",
    "scene15": "scene15",
    "tiny200": "tiny200.zip",
    "omniglot": "omniglot_1623.npz",
    "characters": "",
    "glyphs": "",
}
DATA = "a folder with caltech101.zip, scene15, tiny200.zip and omniglot_1623.npz"
TRAINING_IMAGES = {"caltech101": 30, "scene15": 100, "tiny200": 100, "glyphs": 5}
TRAINING_IMAGES |= {"omniglot": 15, "characters": 15}
DRAWN = {"glyphs": (10, 8), "characters": (100, 20)}
"""Classes, and images of each, that are drawn."""
FEWER_GAUSSIANS = {"tiny200": 16}
"""Gaussians of Fisher vectors where there are too many images for the default number."""
OMNIGLOT_CLASSES = 100
VOCABULARY_IMAGES = 1000
COLUMNS = 8192
JITTER = 1e-7
PRODUCT_CODES = "-pq"


def learn_fisher_of(make: Callable[[], dict[str, Any]]) -> Callable[..., Any]:
    """Return a function that learns Fisher vectors with the settings that `make` returns."""

    def learn(images: Any, components: int | None) -> Any:
        from myriad.signatures import learn_fisher

        stated = {} if components is None else {"n_components": components}
        return learn_fisher(images, **make() | stated)

    return learn


def describe_by(**settings: Any) -> dict[str, Any]:
    """Return the argument of `learn_fisher` for dense SIFT with some settings."""
    from myriad.descriptors import DenseSIFT

    return {"descriptor": DenseSIFT(**{"keep_empty": False} | settings)}


def describe_colours() -> dict[str, Any]:
    """Return the argument of `learn_fisher` for local colour statistics."""
    from myriad.descriptors import LocalColour

    return {"descriptor": LocalColour()}


def open_by_name(name: str, layers: str = "all") -> Callable[..., Any]:
    """Return a function that opens a network."""

    def open_it(images: Any, components: int | None) -> Any:
        from myriad.signatures import EfficientNetOptions, open_network

        return open_network(name, EfficientNetOptions(layers=layers))

    return open_it


SIGNATURES: dict[str, Callable[..., Any]] = {
    "lite0": open_by_name("efficientnet-lite0", "last"),
    "efficientnet-lite0": open_by_name("efficientnet-lite0"),
    "efficientnet-lite2": open_by_name("efficientnet-lite2"),
    "fisher": learn_fisher_of(describe_by),
    "fisher-earlier": learn_fisher_of(
        lambda: describe_by(root=True, contrast=0.001, keep_empty=True) | {"coordinates": False}
    ),
    "fisher-plain": learn_fisher_of(lambda: describe_by() | {"coordinates": False}),
    "fisher-contrast": learn_fisher_of(lambda: describe_by(contrast=0.001)),
    "fisher-step": learn_fisher_of(lambda: describe_by(step=4)),
    "fisher-strong": learn_fisher_of(lambda: describe_by() | {"regions": 8}),
    "colour": learn_fisher_of(describe_colours),
}
"""What describes images: functions of the images to learn from and the number of Gaussians, which
is None for that of each entry."""


def load_images(problem: str, data: Path | None, work: Path) -> ImageList:
    """Return all images of a data set, whatever split they are in."""
    folder = work / problem
    if problem in DRAWN:
        n_classes, n_images = DRAWN[problem]
        write_glyphs(folder, choose_glyphs(n_classes, seed=0), images=n_images, seed=0)
        return find_images(folder)
    assert data is not None, "--data is needed for photographs"
    if problem == "omniglot":
        write_omniglot(data / SOURCES[problem], folder)
        return find_images(folder)
    return find_images(data / SOURCES[problem])


def write_omniglot(source: Path, folder: Path) -> None:
    """Write the drawings of some Omniglot characters as images, black on white."""
    from PIL import Image

    with np.load(source) as found:
        X, y = found["X"], found["y"]
    for c in np.random.default_rng(0).permutation(int(y.max()) + 1)[:OMNIGLOT_CLASSES]:
        (folder / f"{c:04}").mkdir(parents=True, exist_ok=True)
        for i in np.flatnonzero(y == c):
            drawing = np.unpackbits(X[i], axis=-1)[:, :105]
            Image.fromarray(np.uint8(255) * drawing).save(folder / f"{c:04}" / f"{i}.png")


def draw_split(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return which images are for training: `count` of each class, drawn by the seed."""
    draws = np.random.default_rng(seed)
    chosen = np.zeros(len(labels), bool)
    for c in np.unique(labels):
        chosen[draws.permutation(np.flatnonzero(labels == c))[:count]] = True
    return chosen


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one data set by signature, described when they are first asked for.

    Attributes
    ----------
    problem : the name of the data set.
    images : all its images.
    work : the folder that keeps them.
    components : Gaussians of all Fisher vectors, None for those of `SIGNATURES`.
    """

    problem: str
    images: ImageList
    work: Path
    components: int | None

    def load(self, name: str) -> np.ndarray:
        """Return the rows of a signature, of norm 1.

        ``fisher-pq`` are inner products, of shape (2, n, n): of rows with themselves as product
        codes give them, and of rows as they were with those.
        """
        if not self._path(name).exists():
            self._describe(name)
        return np.load(self._path(name))

    def seconds(self, names: Iterable[str]) -> float:
        """Return the processor seconds of describing all images."""
        files = [self._path(name).with_suffix(".json") for name in names]
        return float(sum(json.loads(file.read_text())["seconds"] for file in files))

    def _path(self, name: str) -> Path:
        k = "" if "lite" in name or not self.components else f"-{self.components}"
        return self.work / f"{self.problem}-{name}{k}.npy"

    def _describe(self, name: str) -> None:
        """Describe all images and write the rows, as product codes give them where asked for."""
        described = name.removesuffix(PRODUCT_CODES)
        path = self._path(name)
        raw, facts = path.with_suffix(".raw"), path.with_suffix(".json")
        if not (raw.exists() and facts.exists()):
            facts.write_text(json.dumps(self._write_raw(described, raw)))
        known = json.loads(facts.read_text())
        X = np.memmap(raw, np.float32, "r+", shape=(len(self.images), known["dim"]))
        if name != described:
            first = draw_split(self.images.labels, TRAINING_IMAGES[self.problem], 0)
            found = multiply_coded(X, code_rows(X, first, known["period"]))
        else:
            found = span(X).astype(np.float32) if X.shape[1] > len(X) else np.array(X)
        save(path, found)
        raw.unlink()

    def _write_raw(self, name: str, raw: Path) -> dict[str, Any]:
        """Learn a signature and write the rows of all images; return what is known of it."""
        from myriad.parallel import open_local
        from myriad.pipelines.describing.image_rows import SampledImages, describe_images
        from myriad.pipelines.describing.row_cache import open_cache
        from myriad.progress import SILENT

        n = len(self.images)
        first = draw_split(self.images.labels, TRAINING_IMAGES[self.problem], 0)
        order = np.random.default_rng(0).permutation(np.flatnonzero(first))
        # Threads of this process, so that its processor time is that of the work.
        began = time.process_time()
        with open_local() as executor:
            sample = SampledImages(self.images, order[:VOCABULARY_IMAGES], 0.0, executor)
            signature = SIGNATURES[name](sample, self.components)
            learned = time.process_time() - began
            X = np.memmap(raw, np.float32, "w+", shape=(n, signature.dim))
            # A run that is interrupted finds the rows of networks again in the cache.
            with open_cache(True, SILENT) as cache:
                described = describe_images(self.images, range(n), signature, executor, cache=cache)
                for i, row in described:
                    X[i] = row
        seconds = time.process_time() - began
        print(f"{raw.stem}: learned in {learned:.0f} s, described in {seconds:.0f} s", flush=True)
        period = getattr(signature, "period", signature.dim)
        return {"dim": signature.dim, "period": period, "seconds": round(seconds, 1)}


def save(path: Path, rows: np.ndarray) -> None:
    """Write rows so that an interruption leaves no part of them."""
    part = path.with_suffix(".part.npy")
    np.save(part, rows)
    part.replace(path)


def code_rows(X: np.ndarray, first: np.ndarray, period: int) -> np.ndarray:
    """Return rows as product codes of a 32nd of the size give them, learned from some of them."""
    from myriad import ProductQuantizer

    coder = ProductQuantizer(period=period).fit(np.array(X[first]))
    coded = np.empty(X.shape, np.float32)
    for start in range(0, len(X), 256):
        coded[start : start + 256] = coder.decode(coder.encode(np.array(X[start : start + 256])))
    return coded


def multiply_coded(X: np.ndarray, coded: np.ndarray) -> np.ndarray:
    """Return the inner products of coded rows with each other, and of plain rows with them."""
    products = np.zeros((2, len(X), len(X)), np.float32)
    for start in range(0, X.shape[1], COLUMNS):
        some = np.ascontiguousarray(coded[:, start : start + COLUMNS])
        products[0] += some @ some.T
        products[1] += np.ascontiguousarray(X[:, start : start + COLUMNS]) @ some.T
    return products


def span(X: np.ndarray) -> np.ndarray:
    """Return float64 coordinates, a lower triangle, whose inner products are those of the rows."""
    products = np.zeros((len(X), len(X)))
    for start in range(0, X.shape[1], COLUMNS):
        some = np.ascontiguousarray(X[:, start : start + COLUMNS])
        products += some @ some.T
    products[np.diag_indices(len(X))] += JITTER
    return np.linalg.cholesky(products)


def combine(rows: list[np.ndarray], weights: list[float]) -> np.ndarray:
    """Return rows side by side, each normalised, times its weight; all of norm 1."""
    parts = []
    for X, weight in zip(rows, weights, strict=True):
        norms = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
        parts.append(X * (weight / float(np.linalg.norm(weights)) / norms))
    return np.hstack(parts).astype(np.float32)


def with_splits(images: ImageList, training: np.ndarray) -> ImageList:
    """Return the images with the splits of a drawn division, none held out for validation yet."""
    splits = np.where(training, "train", "test").astype(images.splits.dtype)
    return replace(images, splits=splits)
