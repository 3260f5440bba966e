"""A store of plain rows to a store of codes."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.codes import Code, SignCode, TurnedCode
from myriad.errors import InputError
from myriad.parallel import map_ordered, pool, thread_count
from myriad.pipelines.coding import (
    CodeOptions,
    Source,
    count_features,
    describe_code,
    inform,
    learn_code,
    measure_error,
)
from myriad.pipelines.extract import CODE_BYTES, count_shards
from myriad.pipelines.outputs import prepare_store, settle_store
from myriad.progress import SILENT, Progress
from myriad.store import (
    Rows,
    Store,
    StoreWriter,
    is_store,
    rows_at_a_time,
    sample_rows,
)

ERROR_ROWS = 256
"""Rows that the error of a code is measured on, at most."""


@dataclass(frozen=True)
class Compressed:
    """A finished store of codes and how it was made.

    Attributes
    ----------
    error : squared error of the rows over their squared norm, on a sample; None if not known.
    """

    store: Store
    code: Code
    error: float | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what ``compress`` prints."""
        return {
            "store": str(self.store.path),
            "rows": self.store.n_rows,
            "bad": len(self.store.bad),
            "dim": self.store.dim,
            "bytes_per_row": self.store.bytes_per_row,
            "ratio": round(self.code.ratio, 3),
            "code": describe_code(self.code),
            "error": None if self.error is None else round(self.error, 6),
            "seconds": round(self.seconds, 3),
        }


def compress(
    data: Path,
    out: Path,
    *,
    options: CodeOptions | None = None,
    seed: int = 0,
    threads: int | None = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress = SILENT,
) -> Compressed:
    """Write the rows of the store `data`, coded, to the store `out`, in the same order.

    The code is learned from training rows, or from all if no part is called ``train``. It is kept
    in the store with the recipe of the source. Broken off, it can be resumed to the same bytes.
    Bits can be cut to fewer of the same bits; any other coded store is refused.
    """
    began = time.perf_counter()
    options = options or CodeOptions()
    source = Store.open(data)
    if out.resolve() == data.resolve():
        raise InputError(f"--out {out} is the store itself: name another folder.")
    cut = _check_source(source, options)
    work = prepare_store(out, overwrite=overwrite, resume=resume)
    plan = {
        **asdict(options),
        "seed": seed,
        "source": source.fingerprint,
        "validation": source.plan.get("validation"),
    }
    if is_store(work):
        writer = Store.resume(work, plan=plan)
    else:
        code = cut or _learn(source, options, seed=seed, threads=threads, progress=progress)
        writer = Store.create(
            work,
            class_names=source.class_names,
            dim=code.decoded_dim,
            n_shards=count_shards(source.n_rows, code.bytes_per_row),
            code=code,
            recipe=source.recipe,
            plan=plan,
            several=source.sets is not None,
        )
    _write_codes(source, writer, threads=threads, progress=progress)
    writer.finish()
    settle_store(work, out)
    store = Store.open(out)
    assert store.code is not None
    error = None if cut else _measure_error(source, store.code)
    return Compressed(store, store.code, error, time.perf_counter() - began)


def _check_source(source: Store, options: CodeOptions) -> Code | None:
    """Refuse a store that cannot be coded; return the code of sign bits that are only cut."""
    code = source.code
    if source.n_rows == 0:
        raise InputError(f"{source.path} has no rows to code.")
    if code is None:
        return None
    chosen = isinstance(code, SignCode | TurnedCode) and code.information is not None
    if chosen and options.codes == code.kind:
        count = count_features(code.dim, options)
        if count < code.decoded_dim:
            return code.shorten(count)
    raise InputError(
        f"The rows of {source.path} are coded already ({code.kind}, {code.ratio:g} times smaller): "
        "code the plain rows. Bits alone can be cut further, by the same --codes and a higher "
        "--ratio."
    )


def training_rows(store: Store) -> Rows:
    """Return the rows that a code may be learned from."""
    return store.rows("train" if "train" in set(store.splits.tolist()) else None)


def _learn(
    store: Store, options: CodeOptions, *, seed: int, threads: int | None, progress: Progress
) -> Code:
    common: dict[str, Any] = {"seed": seed, "threads": threads, "progress": progress}
    rows = training_rows(store)
    sample = sample_rows(rows, seed=seed)
    information = inform(rows, sample, options, **common)
    period = None if store.recipe is None or store.recipe.dim != store.dim else store.recipe.period
    return learn_code(Source(sample, information, period), options, **common)


def _write_codes(
    source: Store, writer: StoreWriter, *, threads: int | None, progress: Progress
) -> None:
    """Code all rows that no shard holds yet, a block at a time, and write them shard by shard."""
    code, rows = writer.code, source.rows()
    assert code is not None
    bounds = np.linspace(0, source.n_rows, writer.header.n_shards + 1).astype(int).tolist()
    done = writer.done_shards()
    size = rows_at_a_time(code.dim)

    def encode(start: int, stop: int) -> NDArray[np.uint8]:
        if source.code is not None:  # bits that are cut: a row's first ones are those wanted
            return source.read_codes(start, stop)[:, : code.bytes_per_row]
        return code.encode(rows.read(np.arange(start, stop)))

    with (
        progress.step("Coding rows", source.n_rows, "rows") as advance,
        pool(threads) as executor,
    ):
        for number in range(writer.header.n_shards):
            first, last = bounds[number], bounds[number + 1]
            if number in done:
                advance(last - first)
                continue
            blocks = [(i, min(i + size, last)) for i in range(first, last, size)]
            codes = []
            for part in map_ordered(
                lambda block: encode(*block), blocks, executor, ahead=2 * thread_count(threads)
            ):
                codes.append(part)
                advance(len(part))
            index = np.arange(first, last)
            writer.write_shard(
                number,
                np.concatenate(codes),
                source.labels[index] if source.sets is None else source.sets.select(index),
                source.paths[first:last],
                source.splits[first:last].tolist(),
                source.bad if number == 0 else (),
            )


def _measure_error(source: Store, code: Code) -> float:
    size = max(1, min(ERROR_ROWS, source.n_rows, CODE_BYTES // (4 * code.dim)))
    chosen = np.linspace(0, source.n_rows - 1, size).astype(int)
    rows = source.rows().select(np.unique(chosen))
    return measure_error(code, (block.X for block in rows.blocks(rows_at_a_time(code.dim))))
