"""Compress a store of plain rows to a store of codes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import Code, CodeOptions, Source
from myriad.errors import InputError
from myriad.parallel import LearningContext, map_ordered, thread_count, thread_executor
from myriad.pipelines.describing.code_learning import CODE_BYTES, learn_code, measure_information
from myriad.pipelines.describing.extract import count_shards
from myriad.pipelines.outputs import (
    WrittenStore,
    locks_output,
    prepare_store,
    replace_store,
    worker_files_beside,
)
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.workers import connected, open_shared_workers
from myriad.store import (
    Store,
    StoreWriter,
    is_store,
    rows_at_a_time,
    sample_rows,
    training_rows,
)
from myriad.store.manifest import PLAN, STORE

Range = tuple[int, int]
ERROR_ROWS = 256
"""Rows that the error of a code is measured on, at most."""


@dataclass(frozen=True)
class Compressed(WrittenStore):
    """A finished store of codes and how it was made.

    Attributes
    ----------
    code : the code of its rows.
    error : squared error of the rows divided by their squared norm, on a sample; None if not known.
    """

    code: Code
    error: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``compress`` prints."""
        error = None if self.error is None else round(self.error, 6)
        return super().to_json() | {
            "ratio": round(self.code.ratio, 3),
            "code": self.code.describe(),
            "relative_error": error,
            "error": error,  # deprecated: with --json, this key is for failures
        }


@locks_output()
def compress(
    data: Path,
    out: Path,
    *,
    options: CodeOptions | None = None,
    run: Run = DEFAULT_RUN,
) -> Compressed:
    """Encode the rows of the store `data` into the store `out`, in the same order.

    The code is learned from training rows, or from all if there is no split ``train``. It is kept
    in the store with the recipe of the source. An interrupted run can be resumed to the same bytes.
    Bits can be shortened to fewer of the same bits; any other coded store is refused.
    """
    began = time.perf_counter()
    options = options or CodeOptions()
    source = Store.open(data)
    if out.resolve() == data.resolve():
        raise InputError(f"--out {out} is the store itself: name another folder.")
    shorter = _check_source(source, options)
    work = prepare_store(out, overwrite=run.overwrite, resume=run.resume)
    plan = {
        **options.to_plan(),
        "seed": run.seed,
        "source": source.fingerprint,
        "validation": source.plan.get("validation"),
    }
    with connected(run) as run:
        if is_store(work):
            writer = Store.resume(work, plan=plan)
        else:
            with open_shared_workers(run.cluster, worker_files_beside(work)) as workers:
                context = LearningContext(run.seed, run.threads, workers, run.progress)
                code = shorter or _learn(source, options, context)
            writer = Store.create(
                work,
                class_names=source.class_names,
                dim=code.decoded_dim,
                n_shards=count_shards(source.n_rows, code.bytes_per_row),
                code=code,
                recipe=source.recipe,
                plan=plan,
                several=source.sets is not None,
                grouped=source.groups is not None,
            )
        _write_codes(source, writer, run)
    writer.finish()
    replace_store(work, out)
    store = Store.open(out)
    assert store.code is not None
    error = None if shorter else _measure_sample(source, store.code)
    return Compressed(store, time.perf_counter() - began, store.code, error)


def _check_source(source: Store, options: CodeOptions) -> Code | None:
    """Raise `InputError` for a store that cannot be encoded; return the code of shortened rows."""
    code = source.code
    if source.n_rows == 0:
        raise InputError(f"{source.path} has no rows to code.")
    if code is None:
        return None
    if options.codes == code.kind and code.selection is not None:
        count = options.spec.count_features(code.dim, options)
        if count < code.decoded_dim:
            return code.shorten(count)
    raise InputError(
        f"The rows of {source.path} are already encoded ({code.kind}, {code.ratio:g} times "
        "smaller): compress the plain rows. Only bits can be shortened, by the same --codes and a "
        "higher --ratio."
    )


def _learn(store: Store, options: CodeOptions, context: LearningContext) -> Code:
    rows = training_rows(store)
    sample = sample_rows(rows, seed=context.seed)
    recipe = store.recipe if store.recipe is not None and store.recipe.dim == store.dim else None
    source = Source(sample) if recipe is None else Source(sample, None, recipe.period, recipe.cells)
    information = measure_information(rows, source, options, context)
    return learn_code(replace(source, information=information), options, context)


def _write_codes(
    source: Store,
    writer: StoreWriter,
    run: Run,
) -> None:
    """Encode all rows that no shard holds yet, and write them shard by shard."""
    bounds = np.linspace(0, source.n_rows, writer.header.n_shards + 1).astype(int).tolist()
    done = writer.done_shards()
    jobs = [(number, *some) for number, some in enumerate(pairwise(bounds)) if number not in done]
    with run.progress.step("Encoding rows", source.n_rows, "rows") as advance:
        advance(source.n_rows - sum(last - first for _, first, last in jobs))
        if run.cluster is not None:
            run.cluster.require(source.path / STORE, writer.path)
            coding = ShardCoding(source.path.absolute(), writer.path.absolute())
            for n_rows in run.cluster.map(coding, jobs):
                advance(n_rows)
            return
        with thread_executor(run.threads) as executor_threads:

            def encode(blocks: Iterable[Range]) -> Iterator[NDArray[np.uint8]]:
                ahead = 2 * thread_count(run.threads)
                work = partial(encode_block, source, writer)
                for codes in map_ordered(work, blocks, executor_threads, ahead=ahead):
                    advance(len(codes))
                    yield codes

            for job in jobs:
                write_coded(source, writer, job, encode)


def encode_block(source: Store, writer: StoreWriter, block: Range) -> NDArray[np.uint8]:
    """Return the codes of some rows."""
    code = writer.code
    assert code is not None
    if source.code is not None:  # shortened: the first bytes of a row
        return source.read_codes(*block)[:, : code.bytes_per_row]
    return code.encode(source.rows().read(np.arange(*block)))


def write_coded(
    source: Store,
    writer: StoreWriter,
    job: tuple[int, int, int],
    encode: Callable[[Iterable[Range]], Iterable[NDArray[np.uint8]]],
) -> None:
    """Write a shard of codes, given its number, its first row and the end of its rows."""
    number, first, last = job
    assert writer.code is not None
    size = rows_at_a_time(writer.code.dim)
    blocks = [(i, min(i + size, last)) for i in range(first, last, size)]
    index = np.arange(first, last)
    writer.write_shard(
        number,
        np.concatenate(list(encode(blocks))),
        source.labels[index] if source.sets is None else source.sets.select(index),
        source.paths[first:last],
        source.splits[first:last].tolist(),
        source.bad if number == 0 else (),
        None if source.groups is None else source.groups[index],
    )


@dataclass(frozen=True)
class ShardCoding:
    """Writes whole shards, on any machine that sees the source and the unfinished store."""

    source: Path
    target: Path

    def __call__(self, job: tuple[int, int, int]) -> int:
        """Write a shard; return its number of rows."""
        source, writer = _open_both(self, (self.target / PLAN).stat().st_mtime_ns)
        write_coded(source, writer, job, partial(map, partial(encode_block, source, writer)))
        return job[2] - job[1]


@lru_cache(maxsize=1)
def _open_both(coding: ShardCoding, changed: int) -> tuple[Store, StoreWriter]:
    return Store.open(coding.source), StoreWriter.reopen(coding.target)


def _measure_sample(source: Store, code: Code) -> float:
    size = max(1, min(ERROR_ROWS, source.n_rows, CODE_BYTES // (4 * code.dim)))
    chosen = np.linspace(0, source.n_rows - 1, size).astype(int)
    rows = source.rows().select(np.unique(chosen))
    return measure_error(code, (block.X for block in rows.blocks(rows_at_a_time(code.dim))))


def measure_error(code: Code, blocks: Iterable[Float]) -> float:
    """Return the squared error of coded rows divided by the squared norm of plain ones."""
    error = norm = 0.0
    for X in blocks:
        lost = code.expand(code.decode(code.encode(X))) - X
        error += float(np.einsum("ij,ij->", lost, lost, dtype=np.float64))
        norm += float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    return error / norm if norm else 0.0
