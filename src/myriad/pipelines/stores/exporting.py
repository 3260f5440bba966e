"""Export a store to files for other tools, or a model to ONNX or with rounded weights."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.arrow import pa, pq
from myriad.errors import InputError, did_you_mean
from myriad.files import atomic_write, atomic_writes
from myriad.models import (
    is_model,
    load_held_scores,
    load_model,
    load_pictures,
    round_model,
    save_model,
)
from myriad.models.folder import CARD
from myriad.models.onnx_graph import build_onnx
from myriad.models.rounded import LARGEST
from myriad.pipelines.outputs import (
    check_file_output,
    check_model_output,
    locks_output,
    refuse_input,
)
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.stores.importing import write_header
from myriad.serialisation import size_of
from myriad.store import Store, is_store
from myriad.store.writing import reporting_write_errors

ROWS, TABLE = "rows.npy", "rows.parquet"
FILE_SUFFIXES = (".npy", ".npz", ".parquet", ".csv", ".onnx")
"""Names of files, which are refused where a folder is written."""
BLOCK_BYTES = 16 << 20
TABLE_ROWS = 1 << 16


@dataclass(frozen=True)
class Exported:
    """The files that were written, and the shape of their content."""

    source: Path
    files: list[Path]
    facts: dict[str, int]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``export`` prints."""
        return {
            "source": str(self.source),
            "files": [str(path) for path in self.files],
            **self.facts,
            "seconds": round(self.seconds, 3),
        }


def export(
    source: Path,
    out: Path,
    *,
    k: int | None = None,
    weights: str | None = None,
    run: Run = DEFAULT_RUN,
) -> Exported:
    """Export a store to ``rows.npy`` and ``rows.parquet`` in the folder `out`, a model to the file.

    Parameters
    ----------
    k : how many of the best labels the ONNX graph of a model ranks; None for the scores of all.
    weights : of `LARGEST`: a model is written as a model folder with weights of this precision.
    """
    if is_store(source):
        for option, value in (("--top", k), ("--weights", weights)):
            if value is not None:
                raise InputError(f"{option} is for models; {source} is a store.")
        return export_store(source, out, run)
    if is_model(source):
        if weights is None:
            return export_model(source, out, k, run)
        if k is not None:
            raise InputError("--top is for an ONNX file, --weights for a model folder.")
        return export_rounded(source, out, weights, run)
    raise InputError(f"{source} is neither a store nor a model folder.")


@locks_output()
def export_store(source: Path, out: Path, run: Run = DEFAULT_RUN) -> Exported:
    """Write the decoded rows of a store to .npy, and label, path and split of each to Parquet."""
    began = time.perf_counter()
    store = Store.open(source)
    rows = store.rows()
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file; a store is exported to a folder.")
    if out.suffix.lower() in FILE_SUFFIXES:
        raise InputError(
            f"--out {out} has the name of a file; a store is exported to a folder, as {ROWS} and "
            f"{TABLE}."
        )
    files = [out / ROWS, out / TABLE]
    if out.is_dir():
        for path in files:
            check_file_output(path, option="--out", overwrite=run.overwrite)
    dtype = "float16" if store.dtype == "float16" else "float32"
    with reporting_write_errors(out, resumable=False):
        out.mkdir(parents=True, exist_ok=True)
        with (
            atomic_writes(*files) as (row_file, table_file),
            run.progress.step("Exporting rows", rows.n_rows, "rows") as advance,
        ):
            with row_file.open("wb") as stream:
                write_header(stream, (rows.n_rows, rows.dim), dtype)
                for block in rows.blocks(max(1, BLOCK_BYTES // (4 * rows.dim))):
                    stream.write(block.X.astype(dtype, copy=False).tobytes())
                    advance(len(block.X))
            batches = _tabulate(store)
            first = next(batches)
            with pq.ParquetWriter(table_file, first.schema) as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)
    facts = {"rows": rows.n_rows, "dim": rows.dim, "classes": len(store.class_names)}
    return Exported(source, files, facts, time.perf_counter() - began)


def _tabulate(store: Store) -> Iterator[pa.RecordBatch]:
    """Yield label, path and split of all rows, some at a time; at least one batch."""
    names = np.array([*store.class_names, None], dtype=object)
    several = store.sets is not None
    kind = pa.list_(pa.string()) if several else pa.string()
    for start in range(0, max(1, store.n_rows), TABLE_ROWS):
        stop = min(start + TABLE_ROWS, store.n_rows)
        if store.sets is not None:
            labels = [names[store.sets.of(row)].tolist() for row in range(start, stop)]
        else:
            labels = names[store.labels[start:stop]].tolist()
        paths = [_readable(path) for path in store.paths[start:stop]]
        columns = {
            "label": pa.array(labels, kind),
            "path": pa.array(paths, pa.string()),
            "split": pa.array(store.splits[start:stop].tolist(), pa.string()),
        }
        yield pa.RecordBatch.from_pydict(columns)


def _readable(path: str) -> str:
    """Return a path as text that any tool can read: bytes that are not UTF-8 are escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@locks_output(is_file=True)
def export_model(source: Path, out: Path, k: int | None = None, run: Run = DEFAULT_RUN) -> Exported:
    """Write a model as an ONNX graph from rows, or the input of its network, to scores."""
    began = time.perf_counter()
    if k is not None and k < 1:
        raise InputError(f"--top must be at least 1, not {k}.")
    check_file_output(out, option="--out", overwrite=run.overwrite)
    folder = load_model(source)
    graph = build_onnx(folder, k)
    with reporting_write_errors(out, resumable=False), atomic_write(out) as beside:
        beside.write_bytes(graph)
    facts = {"dim": folder.model.dim, "classes": len(folder.class_names)}
    return Exported(source, [out], facts, time.perf_counter() - began)


@locks_output()
def export_rounded(source: Path, out: Path, weights: str, run: Run = DEFAULT_RUN) -> Exported:
    """Write a model folder with the weights of a model in float16 or int8.

    Card, calibration, held-out scores and pictures are those of the model; its report is not
    copied.
    """
    began = time.perf_counter()
    if weights not in LARGEST:
        raise InputError(
            f"--weights must be {' or '.join(LARGEST)}, not {weights!r}."
            + did_you_mean(weights, LARGEST)
        )
    refuse_input(out, option="--out", inputs=[source])
    check_model_output(out, overwrite=run.overwrite, resume=False)
    folder = load_model(source)
    model = round_model(folder.model, weights)
    card = source / CARD
    save_model(
        out,
        replace(folder, model=model, settings={**folder.settings, "weights": weights}),
        card=card.read_text(encoding="utf-8") if card.is_file() else "",
        held_scores=load_held_scores(source, len(folder.class_names)),
        pictures=load_pictures(source, folder.class_names),
    )
    facts = {"dim": model.dim, "classes": model.n_classes}
    facts |= {"bytes": size_of(model), "bytes_before": size_of(folder.model)}
    return Exported(source, [out], facts, time.perf_counter() - began)
