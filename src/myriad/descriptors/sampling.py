"""A bounded random sample of the descriptors of a stream of images."""

from __future__ import annotations

from collections.abc import Iterable, Sized

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import Descriptor
from myriad.errors import InputError
from myriad.parallel.threads import map_ordered, pool, thread_count
from myriad.progress import SILENT, Progress
from myriad.randomness import generator

Sample = tuple[NDArray[np.float64], Float]


def sample_descriptors(
    images: Iterable[Bytes],
    descriptor: Descriptor,
    *,
    most: int,
    per_image: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Float:
    """Return at most `most` descriptors of a stream of images, float32 of shape (n, dim).

    At most `per_image` descriptors of each image are drawn; each gets a random rank, and the `most`
    of lowest rank remain. So memory is bounded however many images come, every image has the same
    chance, and the sample depends on the images and the seed alone, not on threads.
    """
    if most < 1 or per_image < 1:
        raise InputError("A sample of descriptors needs room for at least one.")

    def draw(numbered: tuple[int, Bytes]) -> Sample:
        number, image = numbered
        values = descriptor.describe(image).values
        draws = generator(seed, f"descriptors of image {number}")
        if len(values) > per_image:
            chosen = draws.choice(len(values), per_image, replace=False, shuffle=False)
            values = values[np.sort(chosen)]
        return draws.random(len(values)), values

    reservoir = _Reservoir(most, descriptor.dim)
    workers = thread_count(threads)
    total = len(images) if isinstance(images, Sized) else None
    with (
        pool(threads) as executor,
        progress.step("Sampling descriptors", total, "images") as advance,
    ):
        for ranks, values in map_ordered(draw, enumerate(images), executor, ahead=2 * workers):
            reservoir.add(ranks, values)
            advance(1)
    return reservoir.content()


class _Reservoir:
    """The descriptors of lowest rank seen so far, in the order in which they came."""

    def __init__(self, most: int, dim: int) -> None:
        self.most = most
        self.bound = np.inf
        self.count = 0
        self.chunks: list[Sample] = [(np.empty(0), np.empty((0, dim), np.float32))]

    def add(self, ranks: NDArray[np.float64], values: Float) -> None:
        """Add descriptors; from time to time drop those that cannot remain."""
        low = ranks < self.bound
        self.chunks.append((ranks[low], values[low]))
        self.count += int(low.sum())
        if self.count > self.most + self.most // 4 + 1000:
            self._shrink()

    def content(self) -> Float:
        """Return what remains."""
        self._shrink()
        return self.chunks[0][1]

    def _shrink(self) -> None:
        ranks = np.concatenate([ranks for ranks, _ in self.chunks])
        values = np.concatenate([values for _, values in self.chunks])
        if len(ranks) > self.most:
            kept = np.sort(np.argpartition(ranks, self.most)[: self.most])
            ranks, values = ranks[kept], values[kept]
            self.bound = float(ranks.max())
        self.chunks = [(ranks, values)]
        self.count = len(ranks)
