"""The shards of a store, made from images: here by all workers together, or each by one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import BadImage, ImageFiles, ImageList
from myriad.parallel import Executor, LocalExecutor
from myriad.pipelines.describing import BadImages, describe_images
from myriad.progress import Advance
from myriad.signatures import Signature
from myriad.store import StoreWriter


@dataclass(frozen=True)
class ShardJob:
    """The images of one shard, with all that is written of them.

    Attributes
    ----------
    number : of the shard.
    files : where the images are.
    places : how each is called in the store.
    labels, splits : of each.
    """

    number: int
    files: ImageFiles
    places: list[str]
    labels: NDArray[np.int32]
    splits: list[str]

    @classmethod
    def of(cls, images: ImageList, number: int, indices: NDArray[np.int64]) -> ShardJob:
        """Return the job of the images at these places."""
        chosen = indices.tolist()
        return cls(
            number,
            images.files(chosen),
            [images.locate(i) for i in chosen],
            images.labels[indices],
            images.splits[indices].tolist(),
        )

    def __len__(self) -> int:
        return len(self.places)


def write_shards(
    images: ImageList,
    shards: dict[int, NDArray[np.int64]],
    writer: StoreWriter,
    executor: Executor,
    bad: BadImages,
    advance: Advance,
) -> None:
    """Describe the images of some shards, by number, and write them; `bad` is added to."""
    jobs = (ShardJob.of(images, number, indices) for number, indices in shards.items())
    if executor.remote:
        executor.require(writer.path, images.root)
        for n_images, found in executor.map(ShardWriting(writer.path.absolute()), jobs):
            advance(n_images)
            for item in found:
                bad.add(**item)
    else:
        wanted = (i for indices in shards.values() for i in indices.tolist())
        described = describe_images(images, wanted, recipe_of(writer), executor, code=writer.code)
        for job in jobs:
            write_shard(job, (row for _, row in described), writer, bad, advance)


def write_shard(
    job: ShardJob, described: Iterator[Any], writer: StoreWriter, bad: BadImages, advance: Advance
) -> None:
    """Take the rows of a job's images and write its shard."""
    rows, kept, bad_here = [], [], []
    for i, row in zip(range(len(job)), described, strict=False):
        advance(1)
        if isinstance(row, BadImage):
            bad.add(job.places[i], row.reason)
            bad_here.append(bad.found[-1])
        else:
            rows.append(row)
            kept.append(i)
    writer.write_shard(
        job.number,
        np.stack(rows) if rows else _no_rows(writer),
        job.labels[kept],
        [job.places[i] for i in kept],
        [job.splits[i] for i in kept],
        bad_here,
    )


def recipe_of(writer: StoreWriter) -> Signature:
    """Return what turns an image into a row of a store."""
    if isinstance(writer.recipe, Signature):
        return writer.recipe
    raise InputError(f"{writer.path} does not say how its rows are made.")


@dataclass(frozen=True)
class ShardWriting:
    """Writes whole shards, on whatever machine sees the store that was begun at `path`."""

    path: Path

    def __call__(self, job: ShardJob) -> tuple[int, list[dict[str, str]]]:
        """Return the number of the job's images, and the bad ones."""
        bad = BadImages(len(job), 1.0)
        writer = _open_writer(self.path, (self.path / "plan.json").stat().st_mtime_ns)
        signature, here = recipe_of(writer), LocalExecutor(1)
        described = describe_images(job.files, range(len(job)), signature, here, code=writer.code)
        write_shard(job, (row for _, row in described), writer, bad, lambda n: None)
        return len(job), bad.found


@lru_cache(maxsize=1)
def _open_writer(path: Path, changed: int) -> StoreWriter:
    """Open a store that was begun, once for all shards that are written to it."""
    return StoreWriter.reopen(path)


def _no_rows(writer: StoreWriter) -> NDArray[Any]:
    if writer.code is None:
        return np.zeros((0, writer.header.dim), np.float32)
    return np.zeros((0, writer.code.bytes_per_row), np.uint8)
