"""Images to a store: learn the signature and the code once, then describe every image."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.codes import Code
from myriad.descriptors import DESCRIPTORS
from myriad.errors import InputError
from myriad.images import (
    BadImage,
    ImageList,
    find_images,
    require_classes,
    split_images,
)
from myriad.parallel import Executor, Workers
from myriad.pipelines.coding import CodeOptions, Source, inform, learn_code
from myriad.pipelines.describing import BadImages, SampledImages, describe_images, open_workers
from myriad.pipelines.outputs import locks_output, pieces_beside, prepare_store, settle_store
from myriad.pipelines.shard_writing import write_shards
from myriad.pipelines.workers import open_shared_workers
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.serialisation import fingerprint
from myriad.signatures import (
    EFFICIENTNET,
    MAPS,
    Backbone,
    OnnxOptions,
    Signature,
    is_backbone,
    learn_bov,
    learn_fisher,
    learn_vlad,
    open_backbone,
)
from myriad.store import ArrayRows, Store, StoreWriter, is_store, shard_rows

VOCABULARY_IMAGES = 1000
"""Images that the vocabulary is learned from, at most."""
CODE_VECTORS, CODE_LEAST, CODE_BYTES = 2048, 1024, 512 << 20
"""Vectors that each codebook of 256 centroids is learned from, the fewest, and their memory."""
SHARD_IMAGES = 32
"""Images of a shard, at least: a second of work, so that no worker waits long for the others."""

LEARNERS: dict[str, Callable[..., Signature]] = {
    "fisher": lambda images, size, **rest: learn_fisher(images, n_components=size or 256, **rest),
    "bov": lambda images, size, **rest: learn_bov(images, n_words=size or 1024, **rest),
    "vlad": lambda images, size, **rest: learn_vlad(images, n_words=size or 256, **rest),
}
"""How each signature is learned from images and the size of its vocabulary."""

OWN_OPTIONS = {"weights": "fisher", "soft": "bov", "map": "bov", "within": "vlad"}
"""Options that belong to one signature."""


@dataclass(frozen=True)
class ExtractOptions:
    """How images become rows.

    Attributes
    ----------
    signature : ``"fisher"``, ``"bov"`` or ``"vlad"``, which are learned, or a network, see
        `open_backbone`.
    components : Gaussians of the mixture or words of the vocabulary; None for the signature's own
        default.
    regions : of the spatial pyramid, 1, 4 or 8.
    step : pixels from one patch to the next.
    codes : how rows are coded as they are made, see `CodeOptions`; ``"none"`` to keep float32.
    max_bad : the part of the images that may be bad.
    descriptor : ``"sift"``, ``"colour"`` or ``"sift+colour"``.
    whiten : whether projected descriptors are divided by their deviation.
    weights : of Fisher vectors: whether they hold the gradient of the Gaussians' weights.
    soft : of bags of words: whether a descriptor counts for several words.
    map : of bags of words: one of ``signatures.MAPS``.
    within : of VLAD: whether each word's sum is brought to norm 1 by itself.
    onnx : how images are brought to a network of the user's own.
    ratio : how many times smaller coded rows are to be; None for the default of the code.
    """

    signature: str = "fisher"
    components: int | None = None
    regions: int = 4
    step: int = 6
    codes: str = "pq"
    max_bad: float = 0.05
    descriptor: str = "sift"
    whiten: bool = False
    weights: bool = False
    soft: bool = False
    map: str = "hellinger"
    within: bool = False
    onnx: OnnxOptions = field(default_factory=OnnxOptions)
    ratio: float | None = None

    def __post_init__(self) -> None:
        if self.signature not in LEARNERS and not is_backbone(self.signature):
            known = ", ".join([*LEARNERS, EFFICIENTNET])
            raise InputError(
                f"--signature must be one of {known} or onnx:FILE, not {self.signature!r}."
            )
        if self.onnx != OnnxOptions() and not self.signature.startswith("onnx:"):
            raise InputError(
                f"--onnx-* options belong to --signature onnx:FILE, not to {self.signature}."
            )
        if self.components is not None and is_backbone(self.signature):
            raise InputError(f"--components: the network {self.signature} has no vocabulary.")
        if self.codes == "none" and self.ratio is not None:
            raise InputError("--ratio belongs to codes; with --codes none rows stay as they are.")
        _ = self.coding
        if not 0 <= self.max_bad <= 1:
            raise InputError(f"--max-bad must be a part from 0 to 1, not {self.max_bad}.")
        for name, offered in (("descriptor", tuple(DESCRIPTORS)), ("map", MAPS)):
            if getattr(self, name) not in offered:
                known = ", ".join(offered)
                raise InputError(f"--{name} must be one of {known}, not {getattr(self, name)!r}.")
        for name, signature in OWN_OPTIONS.items():
            if self.signature != signature and getattr(self, name) != getattr(type(self), name):
                raise InputError(
                    f"--{name} belongs to --signature {signature}: {self.signature} has none."
                )

    def learning(self) -> dict[str, Any]:
        """Return what the learner of the signature is told of these options."""
        own = {
            name: getattr(self, name)
            for name, signature in OWN_OPTIONS.items()
            if signature == self.signature
        }
        return own | {
            "regions": self.regions,
            "whiten": self.whiten,
            "descriptor": DESCRIPTORS[self.descriptor](step=self.step),
        }

    @property
    def coding(self) -> CodeOptions:
        """The code that is asked for."""
        return CodeOptions(self.codes, self.ratio)


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


@locks_output()
def extract(
    data: Path,
    out: Path,
    *,
    options: ExtractOptions | None = None,
    parts: tuple[str, ...] = ("train", "val", "test"),
    seed: int = 0,
    threads: int | None = None,
    cluster: Any = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress = SILENT,
) -> Extracted:
    """Write the rows of the images in `data` to the store `out`, in random order.

    Images are described in worker processes, as many as `threads`; one worker is this process.

    The signature and the code are learned from training images; both are kept in the store. A run
    that is broken off can be resumed: shards that are whole stay, and the result is the same.

    Parameters
    ----------
    parts : which of the images to extract.
    cluster : the address of a Dask scheduler, or ``local:N``; workers must see images and store.
    """
    began = time.perf_counter()
    options = options or ExtractOptions()
    backbone = None
    if is_backbone(options.signature):
        backbone = open_backbone(options.signature, options.onnx)
    with progress.step("Finding images") as advance:
        found = find_images(data)
        images = split_images(found, seed=seed)
        wanted = np.isin(images.splits, parts)
        images = images.select(wanted)
        advance(len(images))
    for warning in images.warnings:
        progress.note(warning)
    require_classes(images)
    work = prepare_store(out, overwrite=overwrite, resume=resume)
    plan = _plan(options, found, wanted, seed=seed)
    if backbone is not None:
        plan["network"] = fingerprint(backbone)
    bad = BadImages(len(images), options.max_bad)
    with open_workers(threads, len(images), cluster=cluster, progress=progress) as executor:
        executor.require(images.root)
        writer = _begin(
            images,
            work,
            options,
            plan,
            executor,
            backbone,
            seed=seed,
            threads=threads,
            progress=progress,
        )
        _write_rows(images, writer, bad, executor, seed=seed, progress=progress)
    writer.finish()
    if bad.found:
        progress.note(bad.summarise())
    settle_store(work, out)
    return Extracted(Store.open(out), time.perf_counter() - began)


def _plan(
    options: ExtractOptions, found: ImageList, wanted: NDArray[np.bool_], *, seed: int
) -> dict[str, Any]:
    """Return all that the bytes of the store follow from, each thing once.

    The images are taken as they were found, since the parts drawn of them follow from the seed.
    How many images may be bad is left out: a run that found too many can be resumed with a higher
    limit. What concerns a network is in its fingerprint.
    """
    left_out = ("max_bad", "onnx")
    return {name: value for name, value in asdict(options).items() if name not in left_out} | {
        "seed": seed,
        "images": found.select(wanted).fingerprint(),
        "validation": "stated" if (found.splits == "val").any() else "drawn",
    }


def _begin(
    images: ImageList,
    out: Path,
    options: ExtractOptions,
    plan: dict[str, Any],
    executor: Executor,
    backbone: Backbone | None,
    *,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> StoreWriter:
    """Return the writer of a store that was begun before, or learn what a new one needs."""
    if is_store(out):
        writer = Store.resume(out, plan=plan)
        if writer.header.n_shards != _count_shards(images, writer.bytes_per_row):
            raise InputError(f"{out} is damaged: it has not the shards that its images need.")
        return writer
    order = generator(seed, "images to learn from").permutation(len(images))
    training = order[images.splits[order] == "train"]
    learning = options.learning()
    code = None
    with open_shared_workers(executor, pieces_beside(out)) as workers:
        common: dict[str, Any] = {
            "seed": seed,
            "threads": threads,
            "workers": workers,
            "progress": progress,
        }
        signature = backbone or LEARNERS[options.signature](
            SampledImages(images, training[:VOCABULARY_IMAGES], options.max_bad, executor),
            options.components,
            **learning,
            **common,
        )
        if options.codes != "none":
            code = _learn_code(images, training, signature, options, executor, **common)
    row_bytes = code.bytes_per_row if code else 4 * signature.dim
    return Store.create(
        out,
        class_names=images.class_names,
        dim=code.decoded_dim if code else signature.dim,
        n_shards=_count_shards(images, row_bytes),
        code=code,
        recipe=signature,
        plan=plan,
    )


def count_shards(n_rows: int, row_bytes: int, *, fewest: int = 256) -> int:
    """Return the number of shards: each of so few rows that a broken run loses little.

    Parameters
    ----------
    fewest : rows of a shard, unless all rows are fewer.
    """
    return -(-n_rows // min(shard_rows(row_bytes), max(fewest, n_rows // 64)))


def _count_shards(images: ImageList, row_bytes: int) -> int:
    return count_shards(len(images), row_bytes, fewest=SHARD_IMAGES)


def _learn_code(
    images: ImageList,
    training: NDArray[np.int64],
    signature: Signature,
    options: ExtractOptions,
    executor: Executor,
    *,
    seed: int,
    threads: int | None,
    workers: Workers | None,
    progress: Progress,
) -> Code | None:
    """Learn a code from the signatures of some training images; None if they are too few."""
    bad = BadImages(len(images), options.max_bad)
    regions = signature.dim // signature.period if options.codes == "pq" else 1
    least = CODE_LEAST if options.codes == "pq" else 1
    most = min(-(-CODE_VECTORS // regions), CODE_BYTES // (4 * signature.dim))
    sample: list[NDArray[np.float32]] = []
    kept: list[int] = []
    indices = training[:most]
    if len(indices) * regions >= least:
        with progress.step("Describing a sample", len(indices), "images") as advance:
            chosen = indices.tolist()
            for i, row in describe_images(images, chosen, signature, executor, workers=workers):
                advance(1)
                if isinstance(row, BadImage):
                    bad.add(images.locate(i), row.reason)
                else:
                    sample.append(row)
                    kept.append(i)
    if len(sample) * regions < least:
        progress.note(
            f"{len(indices) - len(bad.found)} training images are too few to learn codes from: "
            "rows stay float32."
        )
        return None
    rows = ArrayRows(np.stack(sample), images.labels[kept], images.class_names)
    common: dict[str, Any] = {"seed": seed, "threads": threads, "progress": progress}
    information = inform(rows, rows.X, options.coding, **common)
    source = Source(rows.X, information, signature.period)
    return learn_code(source, options.coding, workers=workers, **common)


def _write_rows(
    images: ImageList,
    writer: StoreWriter,
    bad: BadImages,
    executor: Executor,
    *,
    seed: int,
    progress: Progress,
) -> None:
    """Describe all images that no shard holds yet, and write them shard by shard."""
    n_shards = writer.header.n_shards
    order = generator(seed, "rows of the store").permutation(len(images))
    shards = np.array_split(order, n_shards)
    done = writer.done_shards()
    missing = {number: shards[number] for number in range(n_shards) if number not in done}
    for number in done:
        bad.found.extend(writer.read_bad(number))
    bad.check()
    with progress.step("Describing images", len(images), "images") as advance:
        advance(sum(len(shards[number]) for number in done))
        write_shards(images, missing, writer, executor, bad, advance)
