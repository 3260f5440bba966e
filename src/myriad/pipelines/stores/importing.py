"""Import existing rows into a store: copied in random order, or referred to in their files."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.images import fill_splits
from myriad.parallel import map_ordered, thread_executor
from myriad.pipelines.outputs import WrittenStore, locks_output, prepare_store, replace_store
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.progress import Progress
from myriad.store import Store, StoreWriter, is_store, shard_rows
from myriad.store.formats import (
    Labelled,
    RowFile,
    common_dtype,
    open_row_files,
    read_labels,
    to_floats,
)
from myriad.store.manifest import STAGED
from myriad.store.references import make_reference
from myriad.store.rows import WINDOW_BYTES, shuffle_groups, window_size
from myriad.store.shards import FLOATS, encode_path
from myriad.store.writing import reporting_write_errors

BLOCK_BYTES, RUN_BYTES = 16 << 20, 1 << 20
"""Bytes that are read at a time, and of rows that stay together when the order is drawn."""
AHEAD = 4
"""Shards in progress at a time; bounds memory."""


@dataclass(frozen=True)
class ImportOptions:
    """How files become rows.

    Attributes
    ----------
    labels : see `read_labels`.
    rows : the column or array that the rows are in; None if there is only one.
    in_place : whether to refer to .npy files instead of copying their rows.
    """

    labels: tuple[str, ...] = ()
    rows: str | None = None
    in_place: bool = False


@locks_output()
def import_rows(
    paths: Sequence[Path],
    out: Path,
    *,
    options: ImportOptions | None = None,
    run: Run = DEFAULT_RUN,
) -> WrittenStore:
    """Write the rows of files to the store `out`; the validation split is drawn as for images.

    Rows are streamed, never all in memory. An interrupted run can be resumed.
    """
    began, progress = time.perf_counter(), run.progress
    options = options or ImportOptions()
    with progress.step("Reading labels") as advance:
        files = open_row_files(paths, options.rows)
        labelled = read_labels(files, options.labels)
        advance(len(labelled.labels))
    splits, warnings = fill_splits(
        labelled.splits,
        labelled.labels,
        labelled.groups,
        labelled.class_names,
        seed=run.seed,
        noun="row",
    )
    for warning in warnings:
        progress.note(warning)
    if options.in_place:
        _check_in_place(files)
    work = prepare_store(out, overwrite=run.overwrite, resume=run.resume)
    rows = _Rows(files, replace(labelled, splits=splits))
    writer = _begin(
        work, rows, _plan(files, labelled, options, seed=run.seed), in_place=options.in_place
    )
    if options.in_place:
        _refer(rows, writer, progress)
    else:
        _copy(rows, writer, run)
    writer.finish()
    replace_store(work, out)
    return WrittenStore(Store.open(out), time.perf_counter() - began)


class _Rows:
    """The rows of all files under one numbering."""

    def __init__(self, files: list[RowFile], known: Labelled) -> None:
        self.files, self.known = files, known
        self.starts = np.cumsum([0, *(file.n_rows for file in files)])
        self.n_rows, self.dim = int(self.starts[-1]), files[0].dim
        self.dtype = common_dtype(files)
        self.row_bytes = np.dtype(self.dtype).itemsize * self.dim
        self.arrays = [file.array for file in files]

    def read(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return rows by index, those of each file read in their order."""
        X = np.empty((len(rows), self.dim), np.float32)
        file_of = np.searchsorted(self.starts, rows, side="right") - 1
        for number in np.unique(file_of):
            here = np.flatnonzero(file_of == number)
            here = here[np.argsort(rows[here])]
            local = rows[here] - self.starts[number]
            array = self.arrays[number]
            assert array is not None
            X[here] = to_floats(array[local], self.files[number], local)
        return X

    def labels(self, rows: NDArray[np.int64] | slice) -> Any:
        """Return the labels of rows: indices, or sets where rows may have several."""
        sets = self.known.sets
        if sets is None:
            return self.known.labels[rows]
        return sets if isinstance(rows, slice) else sets.select(rows)

    def name(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the origin of rows."""
        if self.known.paths is not None:
            names: list[str] = self.known.paths.take(rows).to_pylist()
            return names
        file_of = np.searchsorted(self.starts, rows, side="right") - 1
        local = (rows - self.starts[file_of]).tolist()
        return [self.files[f].locate(row) for f, row in zip(file_of.tolist(), local, strict=True)]


def _plan(
    files: list[RowFile], found: Labelled, options: ImportOptions, *, seed: int
) -> dict[str, Any]:
    """Return the inputs that determine the bytes of the store; files by size and time."""
    stated = []
    for file in files:
        status = file.path.stat()
        stated.append([str(file.path.resolve()), status.st_size, status.st_mtime_ns])
    digest = hashlib.sha256(json.dumps(found.class_names).encode())
    arrays: list[Any] = [found.labels, found.splits, found.groups]
    arrays += [found.sets.starts, found.sets.classes] if found.sets is not None else []
    for array in arrays:
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return {
        "files": hashlib.sha256(json.dumps(stated).encode()).hexdigest(),
        "labels": digest.hexdigest(),
        "rows": options.rows,
        "in_place": options.in_place,
        "seed": seed,
        "validation": "stated" if (found.splits == "val").any() else "drawn",
    }


def _begin(work: Path, rows: _Rows, plan: dict[str, Any], *, in_place: bool) -> StoreWriter:
    if is_store(work):
        return Store.resume(work, plan=plan)
    return Store.create(
        work,
        class_names=rows.known.class_names,
        dim=rows.dim,
        dtype=rows.dtype,
        n_shards=0 if in_place else -(-rows.n_rows // shard_rows(rows.row_bytes)),
        plan=plan,
        several=rows.known.sets is not None,
        grouped=rows.known.groups is not None,
    )


def _check_in_place(files: list[RowFile]) -> None:
    """Raise `InputError` unless all files can be read where they are."""
    for file in files:
        if file.array is None:
            raise InputError(f"{file.path}: --in-place is for .npy files only.")
        if file.dtype not in [np.dtype(name) for name in FLOATS] or file.dtype != files[0].dtype:
            raise InputError(
                f"{file.path} holds {file.dtype}: --in-place needs float32 or float16, the same "
                "in all files. Leave it out to have the rows converted."
            )


def _refer(rows: _Rows, writer: StoreWriter, progress: Progress) -> None:
    """Check all rows once, then write references to their files."""
    with progress.step("Checking rows", rows.n_rows, "rows") as advance:
        for file in rows.files:
            for block in file.checked_blocks(max(1, BLOCK_BYTES // rows.row_bytes)):
                advance(len(block))
    with progress.step("Computing checksums", len(rows.files), "files") as advance:
        references = []
        for file in rows.files:
            references.append(make_reference(file.path, file.n_rows))
            advance(1)
    known = rows.known
    labels = rows.labels(slice(None))
    writer.add_references(references, labels, _stream_names(rows), known.splits, known.groups)


def _stream_names(rows: _Rows) -> Iterator[bytes]:
    for start in range(0, rows.n_rows, 65536):
        some = np.arange(start, min(start + 65536, rows.n_rows))
        yield from (encode_path(name) for name in rows.name(some))


def _copy(rows: _Rows, writer: StoreWriter, run: Run) -> None:
    """Write all shards that are missing, their rows in an order drawn over all files."""
    n_shards = writer.header.n_shards
    done = writer.done_shards()
    missing = [number for number in range(n_shards) if number not in done]
    staged = writer.path / STAGED
    if missing:
        _stage(rows, staged, run.progress)
    shards = np.array_split(_draw_order(rows, run.seed), n_shards)

    def write(number: int) -> int:
        chosen = shards[number]
        writer.write_shard(
            number,
            rows.read(chosen),
            rows.labels(chosen),
            rows.name(chosen),
            rows.known.splits[chosen].tolist(),
            groups=None if rows.known.groups is None else rows.known.groups[chosen],
        )
        return len(chosen)

    with (
        run.progress.step("Importing rows", rows.n_rows, "rows") as advance,
        thread_executor(run.threads) as executor,
    ):
        advance(sum(len(shards[number]) for number in done))
        for count in map_ordered(write, missing, executor, ahead=AHEAD):
            advance(count)
    rows.arrays = []
    staged.unlink(missing_ok=True)


def _draw_order(rows: _Rows, seed: int) -> NDArray[np.int64]:
    """Return the order of the rows in the store.

    Runs of adjacent rows are drawn into windows that fit into memory, and the rows of a window are
    shuffled: a file larger than the memory is read in runs, smaller ones are fully shuffled.
    """
    run = max(1, RUN_BYTES // rows.row_bytes)
    groups = np.split(np.arange(rows.n_rows), range(run, rows.n_rows, run))
    window = window_size(run * rows.row_bytes, most=WINDOW_BYTES)
    return shuffle_groups(groups, window, seed=seed, epoch=-1)


def _stage(rows: _Rows, staged: Path, progress: Progress) -> None:
    """Copy the rows of files that cannot be memory-mapped to one that can, and map it."""
    numbers = [number for number, file in enumerate(rows.files) if file.array is None]
    if not numbers:
        return
    n_rows = sum(rows.files[number].n_rows for number in numbers)
    if not staged.exists():
        with (
            reporting_write_errors(staged),
            atomic_write(staged) as beside,
            beside.open("wb") as stream,
            progress.step("Decompressing rows", n_rows, "rows") as advance,
        ):
            write_header(stream, (n_rows, rows.dim), rows.dtype)
            for number in numbers:
                file = rows.files[number]
                for block in file.checked_blocks(max(1, BLOCK_BYTES // rows.row_bytes)):
                    stream.write(block.astype(rows.dtype).tobytes())
                    advance(len(block))
    array = np.load(staged, mmap_mode="r", allow_pickle=False)
    start = 0
    for number in numbers:
        rows.arrays[number] = array[start : start + rows.files[number].n_rows]
        start += rows.files[number].n_rows


def write_header(stream: Any, shape: tuple[int, int], dtype: str) -> None:
    """Write the header of a .npy file; the bytes of the rows follow it."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
