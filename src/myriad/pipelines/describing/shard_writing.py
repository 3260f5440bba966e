"""Writing the shards of a store of images: by all workers together, or each by one worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import BadImage, ImageFiles, ImageList
from myriad.measures import Truths, select_truths
from myriad.parallel import Executor, LocalExecutor
from myriad.pipelines.describing.image_rows import BadImages, describe_images
from myriad.pipelines.describing.row_cache import RowCache
from myriad.progress import Advance
from myriad.signatures import Signature
from myriad.store import StoreWriter


@dataclass(frozen=True)
class ShardJob:
    """The images of one shard, with everything that is written about them.

    Attributes
    ----------
    number : the index of the shard.
    files : the files of the images.
    names : the path of each image in the store.
    labels, splits : those of each image; labels are class numbers, or `LabelSets` of several.
    groups : the group of each image, -1 for none; None if images have no groups.
    """

    number: int
    files: ImageFiles
    names: list[str]
    labels: Truths
    splits: list[str]
    groups: NDArray[np.int32] | None

    @classmethod
    def of(cls, images: ImageList, number: int, indices: NDArray[np.int64]) -> ShardJob:
        """Return the job of the images with these indices."""
        chosen = indices.tolist()
        return cls(
            number,
            images.files(chosen),
            [images.locate(i) for i in chosen],
            images.labels[indices] if images.sets is None else images.sets.select(indices),
            images.splits[indices].tolist(),
            None if images.groups is None else images.groups[indices],
        )

    def __len__(self) -> int:
        return len(self.names)


def write_shards(
    images: ImageList,
    shards: dict[int, NDArray[np.int64]],
    writer: StoreWriter,
    executor: Executor,
    bad: BadImages,
    advance: Advance,
    cache: RowCache | None = None,
    known: Mapping[int, NDArray[Any]] | None = None,
) -> None:
    """Describe the images of some shards, by number, and write them; `bad` is added to.

    Parameters
    ----------
    known : rows by index that need not be computed again, unless the workers are remote.
    """
    known = known or {}
    jobs = (ShardJob.of(images, number, indices) for number, indices in shards.items())
    if executor.remote:
        executor.require(writer.path, images.root)
        for n_images, found in executor.map(ShardWriting(writer.path.absolute()), jobs):
            advance(n_images)
            for item in found:
                bad.add(**item)
    else:
        every = [i for indices in shards.values() for i in indices.tolist()]
        unknown = (i for i in every if i not in known)
        described = describe_images(
            images, unknown, recipe_of(writer), executor, code=writer.code, cache=cache
        )
        rows = (known[i] if i in known else next(described)[1] for i in every)
        for job in jobs:
            write_shard(job, rows, writer, bad, advance)


def write_shard(
    job: ShardJob, described: Iterator[Any], writer: StoreWriter, bad: BadImages, advance: Advance
) -> None:
    """Take the rows of a job's images and write its shard."""
    rows, kept, bad_here = [], [], []
    for i, row in zip(range(len(job)), described, strict=False):
        advance(1)
        if isinstance(row, BadImage):
            if job.files.view(i) == 0:  # a file counts once, whatever its views
                bad.add(job.names[i], row.reason)
                bad_here.append(bad.found[-1])
        else:
            rows.append(row)
            kept.append(i)
    writer.write_shard(
        job.number,
        np.stack(rows) if rows else _no_rows(writer),
        select_truths(job.labels, np.array(kept, np.int64)),
        [job.names[i] for i in kept],
        [job.splits[i] for i in kept],
        bad_here,
        None if job.groups is None else job.groups[kept],
    )


def recipe_of(writer: StoreWriter) -> Signature:
    """Return the signature that makes the rows of a store."""
    if isinstance(writer.recipe, Signature):
        return writer.recipe
    raise InputError(f"{writer.path} does not say how its rows are made.")


@dataclass(frozen=True)
class ShardWriting:
    """Writes whole shards, on any machine that sees the unfinished store at `path`."""

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
    """Open an unfinished store, once for all shards that are written to it."""
    return StoreWriter.reopen(path)


def _no_rows(writer: StoreWriter) -> NDArray[Any]:
    if writer.code is None:
        return np.zeros((0, writer.header.dim), np.float32)
    return np.zeros((0, writer.code.bytes_per_row), np.uint8)
