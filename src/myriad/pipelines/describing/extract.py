"""Extract images to a store: learn the signature and the code once, then describe every image."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.codes import Code
from myriad.errors import InputError
from myriad.images import (
    ImageList,
    augment_images,
    find_images,
    require_classes,
    require_training_images,
    split_images,
)
from myriad.images.corrections import correct_images
from myriad.parallel import Executor, LearningContext
from myriad.pipelines.compiling import compiling_ahead
from myriad.pipelines.describing.code_learning import learn_code_of_images
from myriad.pipelines.describing.image_rows import BadImages, SampledImages, open_workers
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.describing.row_cache import RowCache, open_cache
from myriad.pipelines.describing.shard_writing import write_shards
from myriad.pipelines.describing.signature_choice import choose_signature
from myriad.pipelines.outputs import (
    WrittenStore,
    locks_output,
    prepare_store,
    replace_store,
    store_beside,
    worker_files_beside,
)
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.workers import open_shared_workers
from myriad.progress import Progress
from myriad.randomness import generator
from myriad.serialisation import fingerprint
from myriad.signatures import Signature
from myriad.store import Store, StoreWriter, is_store, shard_rows
from myriad.store.manifest import read_plan

VOCABULARY_IMAGES = 1000
"""Maximum number of images to learn the vocabulary from."""
SHARD_IMAGES = 32
"""Minimum number of images per shard: a second of work, so that workers wait little."""


@locks_output()
def extract(
    data: Path,
    out: Path,
    *,
    options: ExtractOptions | None = None,
    recipe: Signature | None = None,
    splits: tuple[str, ...] = ("train", "val", "test"),
    training: bool = False,
    corrections: Path | None = None,
    run: Run = DEFAULT_RUN,
) -> WrittenStore:
    """Write the rows of the images in `data` to the store `out`, in random order.

    Images need labels only if a model will be trained.

    Images are described in worker processes, as many as there are threads; one worker is this
    process.

    The signature and the code are learned from training images; both are kept in the store. An
    interrupted run can be resumed: finished shards stay, and the result is the same.

    Parameters
    ----------
    recipe : the signature of an earlier job, with which images are described as they were there;
        nothing is learned, and rows stay float32. None for a new signature.
    splits : the splits of the images to extract.
    training : whether a model will be trained on the rows, so that there must be training images.
    corrections : CSV file of corrected labels; see `correct_images`.
    """
    began, progress = time.perf_counter(), run.progress
    options = options or ExtractOptions()
    # Early, so that a wrong file is found before the work.
    first = options.choose(options.candidates[0]) if options.is_open else options
    opened = recipe or first.spec.open(first)
    with progress.step("Finding images") as advance:
        listed = find_images(data, every=options.every, several=options.several, labelled=training)
        if corrections is not None:
            listed = correct_images(listed, corrections)
        images = split_images(listed, seed=run.seed) if listed.class_names else listed
        chosen = np.isin(images.splits, splits)
        images = images.select(chosen)
        advance(len(images))
    for warning in images.warnings:
        progress.note(warning)
    if training:
        require_classes(images, data)
    elif opened is None:
        require_training_images(images, data)
    work = prepare_store(out, overwrite=run.overwrite, resume=run.resume)
    bad = BadImages(len(images), options.max_bad)
    described = augment_images(images, options.added_views)
    compares = recipe is None and options.is_open and len(options.candidates) > 1
    with (
        compiling_ahead(run.threads) if compares else nullcontext(),
        open_workers(run, len(described)) as executor,
        open_cache(options.cache, progress, repeats=options.is_open) as cache,
    ):
        executor.require(images.root)
        with open_shared_workers(executor, worker_files_beside(work)) as workers:
            context = LearningContext(run.seed, run.threads, workers, progress)
            network = recipe
            if recipe is not None:
                options = ExtractOptions(codes="none")
                plan = {"signature": recipe.kind, "recipe": fingerprint(recipe)}
                plan |= _plan_images(listed, chosen, seed=run.seed)
            else:
                before = read_plan(work) if is_store(work) else None
                choice = choose_signature(
                    images, options, executor, context, before=before, cache=cache
                )
                options = choice.options
                same = options.signature == first.signature
                network = opened if same else options.spec.open(options)
                plan = options.to_plan() | _plan_images(listed, chosen, seed=run.seed)
                plan |= choice.to_plan()
                if network is not None:
                    plan["network"] = fingerprint(network)
            learn = partial(_learn, images, options, executor, network, context, cache)
            writer, known = _begin(described, work, plan, learn)
        _write_rows(described, writer, bad, executor, cache, known, run)
    writer.finish()
    if bad.found:
        progress.note(bad.summarise())
    replace_store(work, out)
    return WrittenStore(Store.open(out), time.perf_counter() - began)


def _plan_images(found: ImageList, chosen: NDArray[np.bool_], *, seed: int) -> dict[str, Any]:
    """Return the inputs that determine the bytes of the store, except the options of the signature.

    The images are taken as they were found, since splits that are drawn follow from the seed.
    """
    return {
        "seed": seed,
        "images": found.select(chosen).fingerprint(),
        "validation": "stated" if (found.splits == "val").any() else "drawn",
    }


def _learn(
    images: ImageList,
    options: ExtractOptions,
    executor: Executor,
    network: Signature | None,
    context: LearningContext,
    cache: RowCache | None,
) -> tuple[Signature, Code | None, dict[int, NDArray[np.uint8]]]:
    """Return the signature and the code, learned from training images, and coded rows of some."""
    order = generator(context.seed, "images to learn from").permutation(len(images))
    training = order[images.splits[order] == "train"]
    sample = SampledImages(images, training[:VOCABULARY_IMAGES], options.max_bad, executor)
    signature = network or options.spec.learn(sample, options, context)
    return signature, *learn_code_of_images(
        images, training, signature, options, executor, context, cache
    )


def _begin(
    images: ImageList,
    out: Path,
    plan: dict[str, Any],
    learn: Callable[[], tuple[Signature, Code | None, dict[int, NDArray[np.uint8]]]],
) -> tuple[StoreWriter, dict[int, NDArray[np.uint8]]]:
    """Return the writer of an unfinished store, or of a new one after learning.

    Also returns the rows that learning has computed, by index.
    """
    if is_store(out):
        writer = Store.resume(out, plan=plan)
        if writer.header.n_shards != _count_shards(images, writer.bytes_per_row):
            raise InputError(f"{out} is damaged: it does not have the shards that its images need.")
        return writer, {}
    signature, code, known = learn()
    row_bytes = code.bytes_per_row if code else 4 * signature.dim
    writer = Store.create(
        out,
        class_names=images.class_names,
        dim=code.decoded_dim if code else signature.dim,
        n_shards=_count_shards(images, row_bytes),
        code=code,
        recipe=signature,
        plan=plan,
        grouped=images.groups is not None,
        several=images.sets is not None,
    )
    return writer, known


def count_shards(n_rows: int, row_bytes: int, *, min_rows: int = 256) -> int:
    """Return the number of shards: each has few enough rows that an interrupted run loses little.

    Parameters
    ----------
    min_rows : minimum number of rows of a shard, unless there are fewer in all.
    """
    return -(-n_rows // min(shard_rows(row_bytes), max(min_rows, n_rows // 64)))


def _count_shards(images: ImageList, row_bytes: int) -> int:
    return count_shards(len(images), row_bytes, min_rows=SHARD_IMAGES)


def _write_rows(
    images: ImageList,
    writer: StoreWriter,
    bad: BadImages,
    executor: Executor,
    cache: RowCache | None,
    known: dict[int, NDArray[np.uint8]],
    run: Run,
) -> None:
    """Describe all images that no shard holds yet, and write them shard by shard."""
    n_shards = writer.header.n_shards
    order = generator(run.seed, "rows of the store").permutation(len(images))
    shards = np.array_split(order, n_shards)
    done = writer.done_shards()
    missing = {number: shards[number] for number in range(n_shards) if number not in done}
    for number in done:
        bad.found.extend(writer.read_bad(number))
    bad.check()
    with run.progress.step("Describing images", len(images), "images") as advance:
        advance(sum(len(shards[number]) for number in done))
        write_shards(images, missing, writer, executor, bad, advance, cache, known)


def open_given_store(path: Path, options: ExtractOptions | None, progress: Progress) -> Store:
    """Return a store that is given instead of images; note options that are for images only."""
    if options is not None and options.flags:
        named = ", ".join(options.flags)
        progress.note(f"{path} is a store, whose rows are made already. Without effect: {named}.")
    return Store.open(path)


def open_source(
    data: Path,
    out: Path,
    *,
    store: Path | None,
    extracting: ExtractOptions | None,
    run: Run,
) -> Store:
    """Return the store that `data` is, or one made of all its images.

    Parameters
    ----------
    out : the folder of the study.
    store : where rows made from images are written; None for a folder beside `out`.
    """
    if is_store(data):
        return open_given_store(data, extracting, run.progress)
    return extract(
        data,
        store or store_beside(out),
        options=extracting,
        training=True,
        run=run,
    ).store
