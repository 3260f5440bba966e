"""Write a store shard by shard, in any order, from one or several threads, and resume it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import as_rows
from myriad.arrow import pa
from myriad.codes import Code
from myriad.errors import InputError, WorkError, lacks_library_memory
from myriad.files import checksum, read_json, write_json
from myriad.measures import LabelSets
from myriad.signatures import Signature
from myriad.store.index import index_batch, index_columns, write_index
from myriad.store.manifest import (
    ARRAYS,
    INDEX,
    PLAN,
    STAGED,
    STORE,
    Header,
    check_header,
    header_to_json,
    read_header,
    read_records,
    record_file,
    write_arrays,
)
from myriad.store.references import Reference
from myriad.store.shards import ShardRecord, map_shard, shard_name, write_shard
from myriad.urls import refuse_url

_STORE_FILE = re.compile(
    rf"\.?({PLAN}|{STORE}|{ARRAYS}|{INDEX}|shard-\d+\.arrow|{STAGED})(\.part)?"
)


class StoreWriter:
    """A store that is being written: `begin` starts one, `resume` continues an unfinished one.

    Attributes
    ----------
    path : the folder.
    header : what all rows have in common, with `code` and `recipe`.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self.path = path
        self.header = header
        self._plan = checksum(path / PLAN)
        self._records: dict[int, ShardRecord] = {}
        self._references: list[Reference] | None = None
        self._referred: list[pa.RecordBatch] = []

    @classmethod
    def begin(
        cls,
        path: str | Path,
        *,
        class_names: Sequence[str],
        dim: int,
        n_shards: int,
        dtype: str = "float32",
        code: Code | None = None,
        recipe: Signature | None = None,
        plan: dict[str, Any] | None = None,
        several: bool = False,
        grouped: bool = False,
    ) -> Self:
        """Begin a store in a new or empty folder.

        Parameters
        ----------
        dtype : ``"float32"`` or ``"float16"``; rows with a `code` are always stored as codes.
        plan : the settings of this run, plain JSON; `resume` must be called with the same.
        several : whether rows may have several labels.
        grouped : whether rows have groups.
        """
        folder = Path(path)
        refuse_url(folder)
        stored_as = dtype if code is None else "codes"
        plan = {} if plan is None else plan
        header = Header(
            list(class_names),
            dim,
            stored_as,
            n_shards,
            code,
            recipe,
            _as_json(plan),
            several,
            grouped,
        )
        check_header(header, f"The store {folder} cannot be made")
        with reporting_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _check_free(folder)
            write_arrays(folder, header)
            write_json(folder / PLAN, header_to_json(folder, header))
        return cls(folder, header)

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Open a store that another process has begun, to write shards; its plan is not checked."""
        return cls(path, read_header(path / PLAN)[0])

    @classmethod
    def resume(cls, path: str | Path, *, plan: dict[str, Any] | None = None) -> Self:
        """Resume a store that was begun with the same plan."""
        folder = Path(path)
        header, _ = read_header(folder / PLAN)
        asked = _as_json({} if plan is None else plan)
        for key in sorted(asked.keys() | header.plan.keys()):
            before, now = header.plan.get(key), asked.get(key)
            if before != now:
                raise InputError(
                    f"{folder} was begun with {key} = {_brief(before)}, and now it is "
                    f"{_brief(now)}: resume with the same settings and images, or start again "
                    f"with --overwrite."
                )
        return cls(folder, header)

    @property
    def code(self) -> Code | None:
        """The code of the rows, or None for floats."""
        return self.header.code

    @property
    def recipe(self) -> Signature | None:
        """The signature that turns an image into a row, or None."""
        return self.header.recipe

    @property
    def bytes_per_row(self) -> int:
        """Bytes that one row takes."""
        return self.header.form.bytes_per_row

    def done_shards(self) -> set[int]:
        """Return the numbers of the shards that are complete and were written for this plan.

        In a finished store, also one of an earlier version, they must equal its records.
        """
        listed = self._read_listed()
        return {i for i in range(self.header.n_shards) if self._is_done(i, listed)}

    def _read_listed(self) -> list[ShardRecord] | None:
        """Return the records of the shards of a finished store; None if it is unfinished."""
        path = self.path / STORE
        try:
            return read_records(read_json(path), self.header.n_shards, path)
        except InputError:
            return None

    def _is_done(self, number: int, listed: list[ShardRecord] | None) -> bool:
        """Return whether a shard is complete and of this plan; record it in a finished store."""
        path = self.path / shard_name(number)
        try:
            content = map_shard(path, self.header.form)
        except InputError:
            return False
        if listed is None:
            return content.plan == self._plan
        record = record_file(path, len(content.rows))
        if record != listed[number] or content.plan not in (None, self._plan):
            return False
        self._records[number] = record
        return True

    def read_bad(self, number: int) -> list[dict[str, str]]:
        """Return the bad images of a complete shard."""
        return map_shard(self.path / shard_name(number), self.header.form).bad

    def write_shard(
        self,
        number: int,
        rows: NDArray[Any],
        labels: ArrayLike | LabelSets,
        paths: Sequence[str],
        splits: Sequence[str] | str = "",
        bad: Sequence[dict[str, str]] = (),
        groups: NDArray[np.int32] | None = None,
    ) -> None:
        """Write shard `number` atomically.

        Parameters
        ----------
        rows : floats (n, dim), which are encoded if the store has a code, or uint8 codes
            (n, bytes_per_row).
        labels : n class numbers, -1 if unknown; `LabelSets` if rows may have several labels.
        paths : n paths of the images, or other names of the rows.
        splits : n names such as ``"train"``, or one for all.
        bad : images of this shard that could not be read, each ``{"path": ..., "reason": ...}``.
        groups : n group numbers, -1 for none; None unless the store is `grouped`.
        """
        if not 0 <= number < self.header.n_shards:
            raise InputError(f"There is no shard {number} in a store of {self.header.n_shards}.")
        ready = self._prepare_rows(rows)
        numbers = self._check_labels(labels)
        names = [splits] * len(ready) if isinstance(splits, str) else list(splits)
        if not len(ready) == len(numbers) == len(paths) == len(names):
            raise InputError(
                f"Shard {number} has {len(ready)} rows but {len(numbers)} labels, {len(paths)} "
                f"paths and {len(names)} splits."
            )
        self._check_groups(groups, len(ready))
        target = self.path / shard_name(number)
        with reporting_write_errors(target):
            self._records[number] = write_shard(
                target,
                self.header.form,
                ready,
                labels=numbers,
                paths=paths,
                splits=names,
                groups=groups,
                bad=[{"path": str(item["path"]), "reason": str(item["reason"])} for item in bad],
                plan=self._plan,
            )

    def _prepare_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return checked rows as they are stored: codes, or floats of the type of the store."""
        form, code = self.header.form, self.header.code
        rows = np.asarray(rows)
        if code is not None and rows.dtype == np.uint8:
            if rows.ndim != 2 or rows.shape[1] != form.width:
                raise InputError(
                    f"Codes of shape {rows.shape} do not fit rows of {form.width} bytes."
                )
            return rows
        if code is not None:
            return code.encode(as_rows(rows, dim=code.dim, name="The array of rows"))
        floats = as_rows(rows, dim=self.header.dim, name="The array of rows")
        if form.dtype == "float16" and floats.size and np.abs(floats).max() > 65504:
            raise InputError("Rows with values beyond 65504 cannot be stored as float16.")
        return floats.astype(form.numpy, copy=False)

    def _check_labels(self, labels: ArrayLike | LabelSets) -> NDArray[np.int32] | LabelSets:
        n_classes = len(self.header.class_names)
        if isinstance(labels, LabelSets) != self.header.several:
            raise InputError(
                "A store of several labels per row takes `LabelSets`, any other one class numbers."
            )
        if isinstance(labels, LabelSets):
            if labels.classes.max(initial=-1) >= n_classes:
                raise InputError(f"Labels must be between 0 and {n_classes - 1}.")
            return labels
        numbers = np.asarray(labels, dtype=np.int32)
        if numbers.size and not -1 <= numbers.min() <= numbers.max() < n_classes:
            raise InputError(f"Labels must be between -1 and {n_classes - 1}.")
        return numbers

    def _check_groups(self, groups: NDArray[np.int32] | None, n_rows: int) -> None:
        if (groups is not None) != self.header.grouped:
            raise InputError("A store whose rows have groups needs the groups of all rows.")
        if groups is not None and groups.shape != (n_rows,):
            raise InputError(f"{n_rows} rows need as many groups, not {len(groups)}.")

    def add_references(
        self,
        references: Sequence[Reference],
        labels: ArrayLike | LabelSets,
        paths: Iterable[bytes],
        splits: NDArray[np.str_],
        groups: NDArray[np.int32] | None = None,
    ) -> None:
        """Use the rows of files, without copying them, as the rows of a store without shards.

        Parameters
        ----------
        labels, splits, groups : those of all rows of the files, as in `write_shard`.
        paths : the names of all rows, in UTF-8.
        """
        if self.header.n_shards or self.header.code is not None:
            raise InputError("A store with shards or codes cannot refer to files as well.")
        self._check_groups(groups, len(splits))
        batch = index_batch(self.header.form, self._check_labels(labels), paths, splits, groups)
        if batch.num_rows != sum(reference.rows for reference in references):
            raise InputError("The number of rows in the files differs from the number of labels.")
        self._references, self._referred = list(references), [batch]

    def finish(self) -> None:
        """Write the index and then `store.json`, which makes the store complete."""
        small, bad, records = list(self._referred), [], []
        for number in range(self.header.n_shards):
            path = self.path / shard_name(number)
            if not path.exists():
                raise WorkError(f"{self.path} lacks {path.name}: run again with --resume.")
            content = map_shard(path, self.header.form)
            if content.plan != self._plan and number not in self._records:
                raise WorkError(f"{path} was written for another store: run again with --resume.")
            small.append(index_columns(content.batch, self.header.form))
            bad.extend(content.bad)
            record = self._records.get(number) or record_file(path, len(content.rows))
            records.append(record)
        with reporting_write_errors(self.path):
            n_rows = write_index(self.path / INDEX, self.header.form, small)
            content_of_store = {
                **header_to_json(self.path, self.header),
                "n_rows": n_rows,
                "index": asdict(record_file(self.path / INDEX, n_rows)),
                "shards": [asdict(record) for record in records],
                "bad": bad,
            }
            if self._references is not None:
                references = [asdict(reference) for reference in self._references]
                content_of_store["references"] = references
            write_json(self.path / STORE, content_of_store)


@contextmanager
def reporting_write_errors(path: Path, *, resumable: bool = True) -> Iterator[None]:
    """Convert errors of writing (no permission, disk full) to a `WorkError`.

    Parameters
    ----------
    resumable : whether the command can resume the work that was interrupted.
    """
    try:
        yield
    except OSError as error:
        if lacks_library_memory(error):  # a library that is loaded meanwhile, such as llvmlite
            raise
        reason = error.strerror or str(error).partition("\n")[0]
        advice = "Free disk space or allow writing, and run again."
        if resumable:
            advice = (
                "Finished shards are kept; free disk space or allow writing, and run again with "
                "--resume."
            )
        raise WorkError(f"{path} cannot be written: {reason}. {advice}") from error


def _check_free(folder: Path) -> None:
    """Raise `InputError` for a folder with a store or with other files."""
    names = {path.name for path in folder.iterdir()}
    if names & {PLAN, STORE}:
        raise InputError(f"{folder} already has a store: use --resume, --overwrite or a new name.")
    if not holds_only_store(folder):
        raise InputError(f"{folder} is not empty: choose a new folder for the store.")


def holds_only_store(folder: Path) -> bool:
    """Return whether a folder is empty or has only files that belong to a store."""
    return all(_STORE_FILE.fullmatch(path.name) and path.is_file() for path in folder.iterdir())


def _as_json(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan as it will be when it is read from JSON."""
    try:
        return json.loads(json.dumps(plan, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"The plan of a store must be plain JSON: {error}.") from None


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
