"""Images to a store: learn the signature and the code once, then describe every image."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.codes import Code, learn_product
from myriad.descriptors import DenseSIFT
from myriad.errors import InputError
from myriad.images import (
    BadImage,
    ImageList,
    find_images,
    read_image,
    require_classes,
    split_images,
)
from myriad.parallel import pool
from myriad.pipelines.describing import BadImages, describe_images
from myriad.pipelines.outputs import prepare_output
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.signatures import FisherSignature, Signature, learn_fisher
from myriad.store import Store, StoreWriter, is_store, shard_rows

VOCABULARY_IMAGES = 1000
"""Images that the vocabulary is learned from, at most."""
CODE_VECTORS, CODE_LEAST, CODE_BYTES = 2048, 1024, 512 << 20
"""Vectors that each codebook of 256 centroids is learned from, the fewest, and their memory."""
VOCABULARY_PIXELS = 100_000
"""What a vocabulary needs of an image; larger ones may be read at a fraction of their size."""


@dataclass(frozen=True)
class ExtractOptions:
    """How images become rows.

    Attributes
    ----------
    signature : ``"fisher"``.
    components : Gaussians of the mixture.
    regions : of the spatial pyramid, 1, 4 or 8.
    step : pixels from one patch to the next.
    codes : ``"pq"`` to code rows as they are made, ``"none"`` to keep float32.
    max_bad : the part of the images that may be bad.
    """

    signature: str = "fisher"
    components: int = 256
    regions: int = 4
    step: int = 6
    codes: str = "pq"
    max_bad: float = 0.05

    def __post_init__(self) -> None:
        if self.signature != "fisher":
            raise InputError(f"--signature must be fisher, not {self.signature!r}.")
        if self.codes not in ("pq", "none"):
            raise InputError(f"--codes must be pq or none, not {self.codes!r}.")
        if not 0 <= self.max_bad <= 1:
            raise InputError(f"--max-bad must be a part from 0 to 1, not {self.max_bad}.")


@dataclass(frozen=True)
class Extracted:
    """A finished store and how it was made."""

    store: Store
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what ``extract`` prints."""
        return {
            "store": str(self.store.path),
            "rows": self.store.n_rows,
            "bad": len(self.store.bad),
            "dim": self.store.dim,
            "bytes_per_row": self.store.bytes_per_row,
            "seconds": round(self.seconds, 3),
        }


def extract(
    data: Path,
    out: Path,
    *,
    options: ExtractOptions | None = None,
    parts: tuple[str, ...] = ("train", "val", "test"),
    seed: int = 0,
    threads: int | None = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress = SILENT,
) -> Extracted:
    """Write the rows of the images in `data` to the store `out`, in random order.

    The signature and the code are learned from training images; both are kept in the store. A run
    that is broken off can be resumed: shards that are whole stay, and the result is the same.

    Parameters
    ----------
    parts : which of the images to extract.
    """
    began = time.perf_counter()
    options = options or ExtractOptions()
    with progress.step("Finding images") as advance:
        found = find_images(data)
        images = split_images(found, seed=seed)
        images = images.select(np.isin(images.splits, parts))
        advance(len(images))
    for warning in images.warnings:
        progress.note(warning)
    require_classes(images)
    prepare_output(out, overwrite=overwrite, resume=resume)
    plan = asdict(options) | {
        "seed": seed,
        "images": images.fingerprint(),
        "validation": "stated" if (found.splits == "val").any() else "drawn",
    }
    writer = _begin(images, out, options, plan, seed=seed, threads=threads, progress=progress)
    _write_rows(images, writer, seed=seed, threads=threads, progress=progress)
    writer.finish()
    return Extracted(Store.open(out), time.perf_counter() - began)


def _begin(
    images: ImageList,
    out: Path,
    options: ExtractOptions,
    plan: dict[str, Any],
    *,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> StoreWriter:
    """Return the writer of a store that was begun before, or learn what a new one needs."""
    if is_store(out):
        return Store.resume(out, plan=plan)
    order = generator(seed, "images to learn from").permutation(len(images))
    training = order[images.splits[order] == "train"]
    signature = learn_fisher(
        _read_some(images, training[:VOCABULARY_IMAGES]),
        n_components=options.components,
        regions=options.regions,
        descriptor=DenseSIFT(step=options.step),
        seed=seed,
        threads=threads,
        progress=progress,
    )
    code = None
    if options.codes == "pq":
        most = min(-(-CODE_VECTORS // options.regions), CODE_BYTES // (4 * signature.dim))
        code = _learn_code(
            images, training[:most], signature, seed=seed, threads=threads, progress=progress
        )
    row_bytes = code.bytes_per_row if code else 4 * signature.dim
    return Store.create(
        out,
        class_names=images.class_names,
        dim=signature.dim,
        n_shards=-(-len(images) // rows_a_shard(len(images), row_bytes)),
        code=code,
        recipe=signature,
        plan=plan,
    )


def rows_a_shard(n_rows: int, row_bytes: int) -> int:
    """Return how many images make a shard: few enough that a broken run loses little."""
    return min(shard_rows(row_bytes), max(256, n_rows // 64))


def _read_some(images: ImageList, indices: NDArray[np.int64]) -> Iterator[NDArray[np.uint8]]:
    """Yield images to learn a vocabulary from, passing over bad ones."""
    for i in indices.tolist():
        try:
            yield read_image(images.read(i), min_pixels=VOCABULARY_PIXELS)
        except BadImage:
            continue


def _learn_code(
    images: ImageList,
    indices: NDArray[np.int64],
    signature: FisherSignature,
    *,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> Code | None:
    """Learn a product code from the signatures of some images; None if they are too few."""
    if len(indices) * signature.regions < CODE_LEAST:
        progress.note(
            f"{len(indices)} training images are too few to learn codes from: rows stay float32."
        )
        return None
    sample = []
    with (
        progress.step("Describing a sample", len(indices), "images") as advance,
        pool(threads) as executor,
    ):
        for _, row in describe_images(images, indices.tolist(), signature, executor):
            advance(1)
            if not isinstance(row, BadImage):
                sample.append(row)
    return learn_product(
        np.stack(sample),
        period=signature.dim // signature.regions,
        seed=seed,
        threads=threads,
        progress=progress,
    )


def _write_rows(
    images: ImageList, writer: StoreWriter, *, seed: int, threads: int | None, progress: Progress
) -> None:
    """Describe all images that no shard holds yet, and write them shard by shard."""
    signature, code = writer.recipe, writer.code
    assert isinstance(signature, Signature)
    n_shards = writer.header.n_shards
    order = generator(seed, "rows of the store").permutation(len(images))
    shards = np.array_split(order, n_shards)
    done = writer.done_shards()
    missing = [number for number in range(n_shards) if number not in done]
    bad = BadImages(len(images), writer.header.plan["max_bad"])
    for number in done:
        bad.found.extend(writer.read_bad(number))

    def finish(row: NDArray[np.float32]) -> NDArray[Any]:
        return row if code is None else code.encode(row[None, :])[0]

    with (
        progress.step("Describing images", len(images), "images") as advance,
        pool(threads) as executor,
    ):
        advance(sum(len(shards[number]) for number in done))
        wanted = (i for number in missing for i in shards[number].tolist())
        described = describe_images(images, wanted, signature, executor, finish=finish)
        for number in missing:
            rows, kept, bad_here = [], [], []
            for _ in range(len(shards[number])):
                i, row = next(described)
                advance(1)
                if isinstance(row, BadImage):
                    bad.add(str(images.root / images.paths[i]), row.reason)
                    bad_here.append(bad.found[-1])
                else:
                    rows.append(row)
                    kept.append(i)
            writer.write_shard(
                number,
                np.stack(rows) if rows else _no_rows(writer),
                images.labels[kept],
                [str(images.root / images.paths[i]) for i in kept],
                images.splits[kept].tolist(),
                bad_here,
            )


def _no_rows(writer: StoreWriter) -> NDArray[Any]:
    if writer.code is None:
        return np.zeros((0, writer.header.dim), np.float32)
    return np.zeros((0, writer.code.bytes_per_row), np.uint8)
