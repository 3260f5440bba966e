"""Images to rows, in parallel by worker processes; bad images are counted and left out."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import Code
from myriad.descriptors import GridOptions, ImageCollection
from myriad.errors import InputError, WorkError
from myriad.files import atomic_write
from myriad.images import BadImage, ImageFiles, ImageList
from myriad.models import ModelFolder
from myriad.parallel import (
    Executor,
    LearningContext,
    Workers,
    open_cluster,
    open_local,
    open_processes,
    thread_count,
)
from myriad.pipelines.describing.image_tasks import ImageSource, Reading, map_images
from myriad.pipelines.describing.row_cache import CachedRows, RowCache, make_key
from myriad.pipelines.run import Run
from myriad.progress import Advance
from myriad.serialisation import fingerprint
from myriad.signatures import CombinedSignature, Signature

Result = TypeVar("Result")

SAMPLE_PIXELS = GridOptions.max_pixels
"""Pixels that a vocabulary needs of an image; larger ones may be read at a smaller size."""
MOST_REASONS = 5
"""Reasons that a summary of bad images lists, at most."""
FEWEST = 128
"""Minimum number of images per worker process: fewer are described before it has started."""


@contextmanager
def open_workers(run: Run, n_images: int) -> Iterator[Executor]:
    """Yield an executor for images: a cluster; else processes if images are many, or threads.

    The results do not depend on the executor.
    """
    if run.cluster is not None:
        with open_cluster(run.cluster, progress=run.progress) as executor:
            yield executor
        return
    n = thread_count(run.threads)
    n_processes = min(n, n_images // FEWEST)
    if n_processes > 1:
        with open_processes(n_processes, preload=[__name__]) as processes:
            yield processes
    else:
        with open_local(n) as local:
            yield local


@dataclass
class BadImages:
    """Images that could not be read, with a limit on their number.

    Attributes
    ----------
    total : number of images.
    most : the maximum fraction of bad images.
    found : path and reason of each.
    """

    total: int
    most: float
    found: list[dict[str, str]] = field(default_factory=list)

    def add(self, path: str, reason: str) -> None:
        """Add one; raises `WorkError` if there are too many."""
        self.found.append({"path": path, "reason": reason})
        self.check()

    def check(self) -> None:
        """Raise `WorkError` if too many are bad already."""
        if len(self.found) > self.most * self.total:
            raise WorkError(
                f"{len(self.found):,} of {self.total:,} images "
                f"{'is' if len(self.found) == 1 else 'are'} bad, more than the "
                f"{100 * self.most:g} % that --max-bad allows. {self.last()}"
            )

    def last(self) -> str:
        """Return a sentence about the last one that was found."""
        return "The last one: {path} ({reason}).".format(**self.found[-1]) if self.found else ""

    def summarise(self) -> str:
        """Return a sentence that counts the reasons and names an image for each."""
        reasons = Counter(bad["reason"] for bad in self.found)
        first = {bad["reason"]: bad["path"] for bad in reversed(self.found)}
        listed = [
            f"{reason} ({f'{count:,}, the first ' if count > 1 else ''}{first[reason]})"
            for reason, count in reasons.most_common(MOST_REASONS)
        ]
        rest = sum(reasons.values()) - sum(count for _, count in reasons.most_common(MOST_REASONS))
        listed += [f"other reasons ({rest})"] if rest else []
        return f"Bad images left out: {len(self.found):,} of {self.total:,}. {'; '.join(listed)}."


def keep_good(
    found: Iterable[tuple[int, Any]],
    images: ImageList,
    bad: BadImages,
    advance: Advance = lambda n: None,
) -> Iterator[tuple[int, Any]]:
    """Yield the results for images, with their numbers; bad images are added to `bad` instead."""
    for i, result in found:
        advance(1)
        if isinstance(result, BadImage):
            bad.add(images.locate(i), result.reason)
        else:
            yield i, result


@dataclass(frozen=True)
class SampledImages(ImageCollection):
    """Images to learn a vocabulary from; bad ones are skipped unless they are too many.

    Attributes
    ----------
    images : the list they are taken from.
    indices : those to read.
    max_bad : the maximum fraction of bad images.
    executor : the workers that read them.
    """

    images: ImageList
    indices: NDArray[np.int64]
    max_bad: float
    executor: Executor

    def __len__(self) -> int:
        return len(self.indices)

    def map(
        self, function: Callable[[int, NDArray[np.uint8]], Result], *, colour: bool
    ) -> Iterator[Result]:
        """Yield ``function(number, image)`` for each good image in order."""
        bad = BadImages(len(self.images), self.max_bad)
        work = Reading(function, colour=colour, pixels=SAMPLE_PIXELS)
        found = map_images(self.images, self.indices.tolist(), work, self.executor)
        for _, result in keep_good(found, self.images, bad):
            yield result
        if len(bad.found) == len(self):
            raise WorkError(f"None of the {len(self)} training images can be read. {bad.last()}")


def describe_images(
    source: ImageSource,
    indices: Iterable[int],
    signature: Signature,
    executor: Executor,
    *,
    code: Code | None = None,
    workers: Workers | None = None,
    cache: RowCache | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield ``(i, row)`` for each image in order, or ``(i, BadImage)`` for a bad one.

    A row is float32 (dim,), or uint8 (bytes_per_row,) if there is a code.

    Parameters
    ----------
    workers : workers that write rows to files of their folder instead of sending them; None if
        they are on this machine.
    cache : rows of earlier runs, for workers on this machine; None for none.
    """
    if cache is not None and workers is None and not executor.remote:
        yield from _describe_cached(source, indices, signature, executor, code, cache)
        return
    describe = _Describing(
        signature, code, None if workers is None else workers.make_folder("rows")
    )
    work = Reading(describe, colour=signature.colour, pixels=signature.pixels)
    try:
        for i, row in map_images(source, indices, work, executor):
            yield i, np.load(row) if isinstance(row, Path) else row
    finally:
        if describe.folder is not None:
            shutil.rmtree(describe.folder, ignore_errors=True)


def describe_sample(
    title: str,
    images: ImageList,
    indices: NDArray[np.int64],
    signature: Signature,
    executor: Executor,
    context: LearningContext,
    *,
    max_bad: float,
    cache: RowCache | None = None,
) -> tuple[Float, list[int]]:
    """Return the rows of some images, float32 (n, dim), and their indices; bad ones are left out.

    Parameters
    ----------
    title : of the step that progress shows.
    """
    bad = BadImages(len(images), max_bad)
    rows = np.zeros((len(indices), signature.dim), np.float32)
    kept: list[int] = []
    with context.progress.step(title, len(indices), "images") as advance:
        described = describe_images(
            images, indices.tolist(), signature, executor, workers=context.workers, cache=cache
        )
        for i, row in keep_good(described, images, bad, advance):
            rows[len(kept)] = row
            kept.append(i)
    return rows[: len(kept)], kept


@dataclass(frozen=True)
class _Described:
    """The row of an image, the keys of its parts from the cache, and parts to add to it."""

    row: NDArray[Any]
    used: list[bytes]
    new: list[tuple[bytes, Float]]


@dataclass(frozen=True)
class _Cached(Reading):
    """Describes images from cached rows, and computes the missing ones.

    Attributes
    ----------
    signature, code : of the rows.
    cached : the rows of earlier runs.
    networks : the fingerprint of each part of the signature that is not learned, by its position.
    """

    signature: Signature
    code: Code | None
    cached: CachedRows
    networks: dict[int, str]

    def _apply(self, number: int, files: ImageFiles, j: int) -> Any:
        try:
            return self._describe(files.read(j), files.view(j))
        except BadImage as bad:
            return bad

    def _describe(self, content: bytes, view: int) -> _Described:
        parts = list_parts(self.signature)
        rows: dict[int, Float] = {}
        keys: dict[int, bytes] = {}
        used: list[bytes] = []
        for i, network in self.networks.items():
            keys[i] = make_key(content, view, self.pixels, network)
            row = self.cached.read(keys[i], parts[i].dim)
            if row is not None:
                rows[i] = row
                used.append(keys[i])
        new: list[tuple[bytes, Float]] = []
        if len(rows) < len(parts):
            image = self.decode(content, view)
            for i, (part, prepared) in enumerate(iterate_parts(self.signature, image)):
                if i not in rows:
                    rows[i] = part.describe(prepared)
                    if i in keys:
                        new.append((keys[i], rows[i]))
        row = rows[0]
        if isinstance(self.signature, CombinedSignature):
            row = self.signature.join([rows[i] for i in range(len(parts))])
        return _Described(encode_row(row, self.code), used, new)


def list_parts(signature: Signature) -> tuple[Signature, ...]:
    """Return the parts of a combined signature; of another one, the signature itself."""
    return signature.parts if isinstance(signature, CombinedSignature) else (signature,)


def iterate_parts(
    signature: Signature, image: NDArray[np.uint8]
) -> Iterator[tuple[Signature, NDArray[np.uint8]]]:
    """Yield each part of a signature with the image as it takes it, grey or in colour."""
    if isinstance(signature, CombinedSignature):
        yield from ((part, prepared) for part, prepared, _, _ in signature.iterate_parts(image))
    else:
        yield signature, image


def _describe_cached(
    source: ImageSource,
    indices: Iterable[int],
    signature: Signature,
    executor: Executor,
    code: Code | None,
    cache: RowCache,
) -> Iterator[tuple[int, Any]]:
    """Yield the rows of `describe_images`, from the cache where available."""
    parts = enumerate(list_parts(signature))
    networks = {i: fingerprint(part) for i, part in parts if not part.learned}
    cached = cache.rows
    if not networks or cached is None:
        yield from describe_images(source, indices, signature, executor, code=code)
        return
    describe = _Describing(signature, code)
    work = _Cached(describe, signature.colour, signature.pixels, signature, code, cached, networks)
    for i, found in map_images(source, indices, work, executor):
        if isinstance(found, _Described):
            cache.add(found.new)
            cache.touch(found.used)
            yield i, found.row
        else:
            yield i, found
    cache.flush()


@dataclass(frozen=True)
class _Describing:
    """Describes an image as a row of a store; writes the row to a file if there is a folder."""

    signature: Signature
    code: Code | None
    folder: Path | None = None

    def __call__(self, number: int, image: NDArray[np.uint8]) -> NDArray[Any] | Path:
        row = describe_one(image, self.signature, self.code)
        if self.folder is None:
            return row
        path = self.folder / f"{number}.npy"
        with atomic_write(path, durable=False) as beside, beside.open("wb") as stream:
            np.save(stream, row)
        return path


def describe_one(image: NDArray[np.uint8], signature: Signature, code: Code | None) -> NDArray[Any]:
    """Return the row of an image in a store: coded if there is a code."""
    return encode_row(signature.describe(image), code)


def encode_row(row: Float, code: Code | None) -> NDArray[Any]:
    """Return a row as it is stored: coded if there is a code."""
    return row if code is None else code.encode(row[None, :])[0]


def signature_of(folder: ModelFolder) -> Signature:
    """Return the signature that made a model's rows; raises `InputError` if it has none."""
    if isinstance(folder.recipe, Signature):
        return folder.recipe
    raise InputError("This model was trained on rows, not on images, so it cannot read images.")
