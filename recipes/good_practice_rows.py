"""The rows of `good_practice.py`: bags of words and Fisher vectors of the first classes of a set.

Fisher vectors are longer than training images are many, and no method of that recipe scales single
features. So rows are kept as coordinates of the space that the training rows span, of which all
inner products are the same: training takes the same steps, and scores are the same, at a fraction
of the time. `dim` is still the length of the vectors themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from image_folders import choose_classes, find_splits, keep_arrays, select_readable
from photograph_rows import span

from myriad import BagOfVisualWords, FisherVector
from myriad.images import ImageList, read_image

VOCABULARY_IMAGES = 1000


@dataclass(frozen=True)
class Rows:
    """The rows of one kind of features.

    Attributes
    ----------
    X, y : training rows and labels.
    X_test, y_test : test rows and labels.
    dim : length of a vector before it was reduced to the span of the training rows.
    class_names : the names of the classes.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    dim: int
    class_names: list[str]


def load_rows(data: Path, feature: str, n_classes: int, most: int, work: Path | None) -> Rows:
    """Return the rows of a kind of features, from the folder `work` if it keeps them.

    Parameters
    ----------
    n_classes : the first classes that are taken, at most.
    most : images of each class and split, at most.
    """
    images = find_splits(data)
    name = f"{data.stem}-{feature}-{n_classes}x{most}"
    found = keep_arrays(work, name, images, lambda: describe(feature, images, n_classes, most))
    found |= {"dim": int(found["dim"]), "class_names": list(map(str, found["class_names"]))}
    return Rows(**found)


def choose(images: ImageList, n_classes: int, most: int) -> dict[str, np.ndarray]:
    """Return which images are for training and testing."""
    return {
        split: np.concatenate(
            [
                np.flatnonzero((images.labels == c) & (images.splits == split))[:most]
                for c in range(min(n_classes, len(images.class_names)))
            ]
        )
        for split in ("train", "test")
    }


def describe(feature: str, images: ImageList, n_classes: int, most: int) -> dict[str, Any]:
    """Return the arguments of `Rows`.

    Parameters
    ----------
    feature : ``bov-1024`` for bags of 1,024 words over the four regions of the paper's pyramid,
        ``fv-64`` for Fisher vectors of 64 Gaussians of the whole image.
    """
    images = choose_classes(select_readable(images))
    chosen = choose(images, n_classes, most)
    kind, size = feature.split("-")
    if kind == "bov":
        signature: Any = BagOfVisualWords(n_words=int(size), threads=1)
    else:
        signature = FisherVector(n_components=int(size), regions=1, coordinates=False, threads=1)

    def read(numbers: np.ndarray) -> list[np.ndarray]:
        return [read_image(images.read(int(i))) for i in numbers]

    drawn = np.random.default_rng(0).permutation(chosen["train"])[:VOCABULARY_IMAGES]
    signature.fit(read(drawn))
    rows = {
        split: np.concatenate(
            [signature.transform(read(some)) for some in np.array_split(numbers, 20)]
        )
        for split, numbers in chosen.items()
    }
    dim = rows["train"].shape[1]
    X, X_test = reduce(rows["train"], rows["test"])
    found = {"X": X, "X_test": X_test, "dim": dim}
    found |= {"y": images.labels[chosen["train"]], "y_test": images.labels[chosen["test"]]}
    names = images.class_names[: int(found["y"].max()) + 1]
    return found | {"class_names": list(names)}


def reduce(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates of rows in the span of the training rows, where that is smaller.

    With the Cholesky factorisation ``X X' = L L'`` the rows of L are the training rows, and those
    of ``X_test X' L'^-1`` the projections of the test rows.
    """
    n, dim = X.shape
    if dim <= n:
        return X, X_test
    L = span(X)
    crossed = X_test @ X.T
    return L.astype(np.float32), np.linalg.solve(L, crossed.T).T.astype(np.float32)
