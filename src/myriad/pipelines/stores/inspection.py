"""The content of the report of a store: statistics of its rows, its signature, some patches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import Code
from myriad.descriptors import DenseSIFT, GridDescriptor, LocalColour, SiftColour
from myriad.errors import MyriadError
from myriad.pipelines.stores.statistics import Correlations, Values, correlate, spread_values
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.serialisation import flatten
from myriad.signatures import FisherSignature, PooledSignature
from myriad.store import Store
from myriad.vocabularies import PCA

MOST_ROWS, MOST_COLUMNS = 2000, 1000
"""Rows that statistics are taken of, and features of each kind."""
MOST_PATCHES = 12
BLOCK = 64

ReadPicture = Callable[..., NDArray[np.uint8] | None]


@dataclass(frozen=True, eq=False)
class Patch:
    """A patch of an image and its descriptor.

    Attributes
    ----------
    label : the class of the image.
    picture : uint8 array, the patch cut from the image in colour.
    gradients : float32 array (128,), 4 x 4 cells of 8 orientations; None if it has none.
    colours : float32 array (96,), 4 x 4 cells of means and deviations; None if it has none.
    """

    label: str
    picture: NDArray[np.uint8]
    gradients: NDArray[np.float32] | None
    colours: NDArray[np.float32] | None


@dataclass(frozen=True, eq=False)
class StoreInspection:
    """The contents of the report of a store; None or empty where a store has no such thing.

    Attributes
    ----------
    patches : of some images.
    pca : what descriptors are projected by.
    mixture_weights : of the Gaussians.
    values : how the values of rows are distributed.
    correlations : of pairs of features, by the name of the pairs.
    settings : of the run that wrote the store, and of its signature and code.
    code : what rows are coded by.
    """

    title: str
    created: str
    n_rows: int
    n_classes: int
    dim: int
    bytes_per_row: int
    coded: bool
    bad: tuple[dict[str, str], ...]
    patches: tuple[Patch, ...]
    pca: PCA | None
    mixture_weights: NDArray[np.float32] | None
    values: Values | None
    correlations: Correlations
    settings: dict[str, Any]
    code: Code | None = None


def inspect_store(
    store: Store, *, read_picture: ReadPicture, seed: int = 0, progress: Progress = SILENT
) -> StoreInspection:
    """Inspect a sample of a store's rows, and some of the images they were made from.

    Parameters
    ----------
    read_picture : returns the image of a path, or None if it no longer exists; see `pictures`.
    """
    recipe = store.recipe if isinstance(store.recipe, PooledSignature) else None
    values, correlations = _measure_rows(store, recipe, seed, progress)
    return StoreInspection(
        title=store.path.name or store.path.resolve().name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        n_rows=store.n_rows,
        n_classes=len(store.class_names),
        dim=store.dim,
        bytes_per_row=store.bytes_per_row,
        coded=store.code is not None,
        bad=tuple(store.bad),
        patches=_sample_patches(store, recipe, read_picture, seed, progress),
        pca=recipe.pca if recipe else None,
        mixture_weights=recipe.mixture.weights if isinstance(recipe, FisherSignature) else None,
        values=values,
        correlations=correlations,
        settings=_settings(store),
        code=store.code,
    )


def _settings(store: Store) -> dict[str, Any]:
    named = {"extraction": dict(store.plan)}
    for name, part in (("signature", store.recipe), ("code", store.code)):
        if part is not None:
            named[name] = flatten(part)[0]
    return named


def _measure_rows(
    store: Store, recipe: PooledSignature | None, seed: int, progress: Progress
) -> tuple[Values | None, Correlations]:
    """Return the distribution and the correlations of some columns of some rows."""
    if store.n_rows < 2 or not (store.code is None or store.code.restores):
        return None, {}  # the distribution of bits is not informative
    draws = generator(seed, "anatomy")
    chosen = np.sort(draws.permutation(store.n_rows)[:MOST_ROWS])
    kinds = _choose_columns(store.dim, recipe, draws)
    columns = np.unique(np.concatenate(list(kinds.values())))
    kept = np.empty((len(chosen), len(columns)), np.float32)
    done = 0
    with progress.step("Reading rows", len(chosen), "rows") as advance:
        for block in store.rows().select(chosen).blocks(BLOCK):
            kept[done : done + len(block.X)] = block.X[:, columns]
            done += len(block.X)
            advance(len(block.X))
    parts = {name: kept[:, np.searchsorted(columns, own)] for name, own in kinds.items()}
    values = spread_values(
        parts["any two"], kinds["any two"], power=recipe.power if recipe else 1.0
    )
    found = {name: correlate(part) for name, part in parts.items()}
    return values, {name: one for name, one in found.items() if one is not None}


def _choose_columns(
    dim: int, recipe: PooledSignature | None, draws: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """Return up to three sets of features of [CC, Figure 1] by name."""
    kinds = {"any two": _draw(np.arange(dim), draws)}
    if recipe is None:
        return kinds
    if recipe.period < dim:
        region = int(draws.integers(dim // recipe.period))
        kinds["of the same region"] = _draw(
            region * recipe.period + np.arange(recipe.period), draws
        )
    if recipe.n_words > 1:
        word = "Gaussian" if isinstance(recipe, FisherSignature) else "word"
        columns = recipe.columns_of(int(draws.integers(recipe.n_words)))
        kinds[f"of the same {word}"] = _draw(columns, draws)
    return kinds


def _draw(columns: NDArray[np.int64], draws: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(draws.permutation(columns)[:MOST_COLUMNS])


def _sample_patches(
    store: Store,
    recipe: PooledSignature | None,
    read_picture: ReadPicture,
    seed: int,
    progress: Progress,
) -> tuple[Patch, ...]:
    """Return a patch of each of some images, of different classes if possible."""
    if recipe is None or not isinstance(recipe.descriptor, GridDescriptor):
        return ()
    draws = generator(seed, "patches")
    patches: list[Patch] = []
    with progress.step("Extracting patches", MOST_PATCHES, "patches") as advance:
        for row in _mix_classes(store, draws):
            patch = _cut_patch(store, row, recipe.descriptor, read_picture, draws)
            if patch is not None:
                patches.append(patch)
                advance(1)
            if len(patches) == MOST_PATCHES:
                break
    return tuple(patches)


def _mix_classes(store: Store, draws: np.random.Generator) -> Iterator[int]:
    """Yield three times as many rows as patches are needed, of different classes if possible."""
    order = draws.permutation(store.n_rows)
    _, first = np.unique(store.labels[order], return_index=True)
    others = np.setdiff1d(np.arange(len(order)), first)
    positions = np.concatenate([draws.permutation(first), others])
    yield from order[positions[: 3 * MOST_PATCHES]].tolist()


def _cut_patch(
    store: Store,
    row: int,
    descriptor: GridDescriptor,
    read_picture: ReadPicture,
    draws: np.random.Generator,
) -> Patch | None:
    """Return a random patch of an image that has a descriptor; None if there is none."""
    path, pixels = store.paths[row], descriptor.pixels
    try:
        image = read_picture(path, colour=descriptor.colour, pixels=pixels)
        shown = image if descriptor.colour else read_picture(path, colour=True, pixels=pixels)
        if image is None or shown is None:
            return None
        local = descriptor.describe(image)
    except (MyriadError, OSError):
        return None
    full = np.flatnonzero(local.values.any(axis=1))
    if len(full) == 0:
        return None
    i = int(draws.choice(full))
    patch = i if local.patches is None else int(local.patches[i])
    left, top, right, bottom = descriptor.find_patches(image)[patch]
    height, width = shown.shape[:2]
    rows = slice(max(0, round(top * height)), max(1, round(bottom * height)))
    columns = slice(max(0, round(left * width)), max(1, round(right * width)))
    label = int(store.labels[row])
    name = store.class_names[label] if label >= 0 else ""
    return Patch(name, shown[rows, columns], *_split_descriptor(local.values[i], descriptor))


def _split_descriptor(
    values: Float, descriptor: GridDescriptor
) -> tuple[Float | None, Float | None]:
    """Return the gradients and the colours of a descriptor; None for those that it lacks."""
    if isinstance(descriptor, SiftColour):
        return values[: DenseSIFT.dim], values[DenseSIFT.dim :] / np.float32(descriptor.share)
    if isinstance(descriptor, DenseSIFT):
        return values, None
    return None, values if isinstance(descriptor, LocalColour) else None
