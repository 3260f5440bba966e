"""A bounded random sample of the descriptors of a stream of images."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import Descriptor
from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.parallel import (
    DEFAULT_LEARNING,
    LearningContext,
    map_ordered,
    thread_count,
    thread_executor,
)
from myriad.randomness import generator

Result = TypeVar("Result")
Drawn = Float | Path
"""Descriptors (n, dim), or the file that holds them."""

_BLOCK = 16_384


class ImageCollection(ABC):
    """Images that are read where a function is applied to them: here or by workers."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def map(self, function: Callable[[int, Bytes], Result], *, colour: bool) -> Iterator[Result]:
        """Yield ``function(number, image)`` in the order of the images; the function is pickled."""


def sample_descriptors(
    images: Iterable[Bytes] | ImageCollection,
    descriptor: Descriptor,
    *,
    most: int,
    per_image: int = 1000,
    positions: bool = False,
    context: LearningContext = DEFAULT_LEARNING,
) -> Float:
    """Return at most `most` descriptors of a stream of images, float32 of shape (n, dim).

    At most `per_image` descriptors of each image are drawn, fewer where the number of images is
    known and a third more than `most` would be drawn in all; each gets a random rank, and the
    `most` of lowest rank remain. Memory is bounded whatever the number of images, every image has
    the same chance, and the sample depends on the images and the seed alone, not on threads.

    Parameters
    ----------
    positions : whether x and y of the patch follow as two more columns.
    context : its workers write descriptors to files in their folder instead of sending them.
    """
    workers, threads = context.workers, context.threads
    if most < 1 or per_image < 1:
        raise InputError("A sample of descriptors needs room for at least one.")
    folder = None if workers is None else workers.make_folder("descriptors")
    total = len(images) if isinstance(images, Sized) else None
    if total:
        per_image = min(per_image, -(-4 * most // (3 * total)))
    draw = _Draw(descriptor, per_image, positions, context.seed, folder)
    reservoir = _Reservoir(most, max(most // 4, per_image), descriptor.dim + 2 * positions)
    try:
        with context.progress.step("Sampling descriptors", total, "images") as advance:
            for ranks, drawn in map_images(draw, images, colour=descriptor.colour, threads=threads):
                reservoir.add(ranks, drawn)
                advance(1)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    return reservoir.content()


@dataclass(frozen=True)
class _Draw:
    """Draws descriptors of one image and a rank for each.

    Attributes
    ----------
    folder : where the descriptors are written to a file; None to return them.
    """

    descriptor: Descriptor
    per_image: int
    positions: bool
    seed: int
    folder: Path | None = None

    def __call__(self, number: int, image: Bytes) -> tuple[NDArray[np.float64], Drawn]:
        local = self.descriptor.describe(image)
        values = np.hstack([local.values, local.positions]) if self.positions else local.values
        draws = generator(self.seed, f"descriptors of image {number}")
        if len(values) > self.per_image:
            chosen = draws.choice(len(values), self.per_image, replace=False, shuffle=False)
            values = values[np.sort(chosen)]
        ranks = draws.random(len(values))
        if self.folder is None:
            return ranks, values
        path = self.folder / f"{number}.npy"
        with atomic_write(path, durable=False) as partial_path, partial_path.open("wb") as stream:
            np.save(stream, values)
        return ranks, path


def map_images(
    function: Callable[[int, Bytes], Result],
    images: Iterable[Bytes] | ImageCollection,
    *,
    colour: bool,
    threads: int | None,
) -> Iterator[Result]:
    """Yield ``function(number, image)`` of images in order, in threads for a plain iterable."""
    if isinstance(images, ImageCollection):
        yield from images.map(function, colour=colour)
        return
    ahead = 2 * thread_count(threads)
    with thread_executor(threads) as executor:
        yield from map_ordered(lambda job: function(*job), enumerate(images), executor, ahead=ahead)


def _load(drawn: Drawn) -> Float:
    """Return drawn descriptors; a file that holds them is removed."""
    if not isinstance(drawn, Path):
        return drawn
    values: Float = np.load(drawn)
    drawn.unlink()
    return values


class _Reservoir:
    """The descriptors of lowest rank so far, in the order in which they were added.

    They are kept in one array with some slack, which is compacted in place when it is full.
    """

    def __init__(self, most: int, slack: int, dim: int) -> None:
        self.most = most
        self.bound = np.inf
        self.count = 0
        self.ranks = np.empty(most + slack)
        self.values = np.empty((most + slack, dim), np.float32)

    def add(self, ranks: NDArray[np.float64], drawn: Drawn) -> None:
        """Add descriptors, at most as many as the slack, except those of too high a rank.

        A file that held them is removed.
        """
        values = _load(drawn)
        if self.bound < np.inf:
            low = ranks < self.bound
            ranks, values = ranks[low], values[low]
        if self.count + len(ranks) > len(self.ranks):
            self._compact()
        end = self.count + len(ranks)
        self.ranks[self.count : end] = ranks
        self.values[self.count : end] = values
        self.count = end

    def content(self) -> Float:
        """Return the descriptors that remain."""
        self._compact()
        return self.values[: self.count]

    def _compact(self) -> None:
        """Keep the descriptors of lowest rank, in their order, at the front of the arrays."""
        if self.count <= self.most:
            return
        kept = np.sort(np.argpartition(self.ranks[: self.count], self.most)[: self.most])
        # In place: kept[i] >= i, so nothing is overwritten before it is read.
        for start in range(0, self.most, _BLOCK):
            block = kept[start : start + _BLOCK]
            self.ranks[start : start + len(block)] = self.ranks[block]
            self.values[start : start + len(block)] = self.values[block]
        self.count = self.most
        self.bound = float(self.ranks[: self.most].max())
