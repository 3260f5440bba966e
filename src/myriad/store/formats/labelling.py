"""The labels of ready-made rows: from a column, from files beside them, or from folder names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.arrow import pa, pc
from myriad.errors import InputError, did_you_mean
from myriad.files import is_valid_unicode, open_csv, reading_text, refuse_special
from myriad.images.listing import SPLITS
from myriad.measures import LabelSets
from myriad.store.formats.npy import map_array
from myriad.store.formats.parquet import open_parquet, read_parquet_column
from myriad.store.formats.row_file import Column, RowFile, brief, to_column

FOLDER = "folder"
"""The value of ``--labels`` for the name of the folder that a file is in."""
SEPARATOR = ";"
"""Separates several labels of a row in a string."""
LABEL, SPLIT, GROUP = "label", "split", "group"
MAX_DIGITS = 4300
"""Longest string of digits that Python converts to an integer."""
PATHS = ("path", "image_path")
"""Columns with the origin of a row."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labels, splits, groups and paths of the rows of some files, in their order.

    Attributes
    ----------
    labels : int32 (n_rows,), indices into `class_names`; of several labels the lowest, -1 for none.
    sets : all labels of each row, or None where rows have one.
    class_names : sorted, numbers by their value.
    splits : (n_rows,) of "train", "val", "test", or "" where nothing is stated.
    groups : int32 (n_rows,), -1 for a row of no group; None if there are none.
    paths : the origin of each row; None if not known.
    """

    labels: Ints
    sets: LabelSets | None
    class_names: list[str]
    splits: NDArray[np.str_]
    groups: Ints | None
    paths: Column | None


@dataclass(frozen=True)
class _Table:
    """A source of columns: its name in messages, its number of rows, its columns, their reader."""

    name: str
    n_rows: int
    columns: list[str]
    read: Callable[[str], Column]


def read_labels(files: Sequence[RowFile], wanted: Sequence[str] = ()) -> Labelled:
    """Return the labels of all rows, with splits, groups and paths where columns state them.

    Parameters
    ----------
    wanted : nothing for a column ``label`` of the files themselves; the name of another column;
        the word ``folder``; or label files (.txt, .csv, .npy, .parquet), which together have a
        label for each row.
    """
    tables = [_Table(str(file.path), file.n_rows, file.columns, file.read_column) for file in files]
    if wanted and all(Path(word).is_file() for word in wanted):
        tables = [open_label_file(Path(word)) for word in wanted]
        _check_lengths(files, tables)
        names = _read_column(tables, LABEL)
    elif list(wanted) == [FOLDER] and not any(FOLDER in file.columns for file in files):
        names = pa.concat_arrays([pa.repeat(_name_folder(file), file.n_rows) for file in files])
    else:
        names = _read_column(tables, _choose_column(tables, wanted))
    several = pa.types.is_list(names.type)
    flat = names.flatten() if several else names
    class_names = sort_names(pc.unique(flat).to_pylist())
    if "" in class_names:
        raise InputError(f"{tables[0].name}: one of the several labels of a row is empty.")
    indices = pc.index_in(flat, value_set=pa.array(class_names, pa.string()))
    numbers = indices.to_numpy(zero_copy_only=False).astype(np.int32)
    sets = _collect_sets(names, numbers, len(class_names)) if several else None
    return Labelled(
        labels=numbers if sets is None else sets.first(),
        sets=sets,
        class_names=class_names,
        splits=_read_splits(tables),
        groups=_read_groups(tables),
        paths=_read_paths(tables),
    )


def _name_folder(file: RowFile) -> str:
    """Return the name of the folder of a file; raises `InputError` if it is no Unicode text."""
    name = file.path.resolve().parent.name
    if not is_valid_unicode(name):
        raise InputError(
            f"{file.path}: the name of its folder is not valid Unicode, so it cannot be a label: "
            "rename the folder."
        )
    return name


def sort_names(names: Sequence[str]) -> list[str]:
    """Return class names in order: by value if all are whole numbers, else by letters.

    Texts of more than 4,300 digits, which Python does not convert, are sorted as letters.
    """
    if all(_is_number(name) for name in names):
        return sorted(names, key=int)
    return sorted(names)


def _is_number(name: str) -> bool:
    digits = name.removeprefix("-")
    return len(digits) <= MAX_DIGITS and digits.isdecimal() and digits.isascii()


def open_label_file(path: Path) -> _Table:
    """Open a file with a label per row: lines of text, CSV with a header, .npy or .parquet."""
    refuse_special(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        file = open_parquet(path)
        return _Table(
            str(path),
            file.metadata.num_rows,
            list(file.schema_arrow.names),
            lambda name: read_parquet_column(file, name, path),
        )
    if suffix == ".npy":
        array = map_array(path)
        if array.ndim != 1:
            raise InputError(f"{path} has shape {array.shape}; labels need one dimension.")
        columns = {LABEL: to_column(np.asarray(array), str(path))}
    elif suffix == ".csv":
        columns = _read_csv(path)
    elif suffix == ".txt":
        columns = {LABEL: pa.array(_read_lines(path), pa.string())}
    else:
        raise InputError(
            f"{path} is not a file of labels: those end in .txt, .csv, .npy, .parquet."
        )
    n_rows = len(next(iter(columns.values())))
    return _Table(str(path), n_rows, list(columns), columns.__getitem__)


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a text, without the empty ones at its end."""
    with reading_text(path), path.open(encoding="utf-8-sig", newline="") as stream:
        lines = stream.read().split("\n")
    lines = [line.rstrip("\r") for line in lines]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def _read_csv(path: Path) -> dict[str, Column]:
    """Return the columns of a CSV file with a header."""
    with open_csv(path) as reader:
        head = [name.strip().lower() for name in next(reader, [])]
        rows = list(filter(None, reader))
    if LABEL not in head or len(set(head)) != len(head):
        raise InputError(
            f"{path}, line 1: a column {LABEL} is needed, and no name twice; the columns are "
            f"{', '.join(head) or 'none'}."
        )
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(head)), None)
    if wrong is not None:
        raise InputError(f"{path}, row {wrong}: {len(rows[wrong])} cells, not {len(head)}.")
    return {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(head)}


def _check_lengths(files: Sequence[RowFile], tables: Sequence[_Table]) -> None:
    n_rows, n_labels = (sum(one.n_rows for one in every) for every in (files, tables))
    if n_rows != n_labels:
        rows = files[0].path if len(files) == 1 else f"the {len(files)} files of rows"
        labels = tables[0].name if len(tables) == 1 else f"the {len(tables)} files of labels"
        raise InputError(f"{labels} has {n_labels} labels for the {n_rows} rows of {rows}.")


def _choose_column(tables: Sequence[_Table], wanted: Sequence[str]) -> str:
    """Return the name of the column of labels; raises `InputError` unless all tables have it."""
    if len(wanted) > 1:
        missing = next(word for word in wanted if not Path(word).is_file())
        raise InputError(f"--labels {missing}: there is no such file.")
    name = wanted[0] if wanted else LABEL
    if not any(name in table.columns for table in tables):
        refuse_special(Path(name))
    for table in tables:
        if name not in table.columns:
            has = f"its columns: {', '.join(table.columns)}" if table.columns else "it has none"
            raise InputError(
                f"{table.name} has no column {name!r} ({has}).{did_you_mean(name, table.columns)} "
                f"With --labels name a column, a file with a label per row, or the word {FOLDER}."
            )
    return name


def _read_column(tables: Sequence[_Table], column: str) -> Column:
    """Return a column of all tables as strings; raises `InputError` at an empty value."""
    texts = []
    for table in tables:
        if column not in table.columns:
            known, hint = ", ".join(table.columns), did_you_mean(column, table.columns)
            raise InputError(f"{table.name} has no column {column!r}; its columns: {known}.{hint}")
        values = table.read(column)
        texts.append(_to_text_lists(values, table.name, column))
        flat = texts[-1].flatten() if pa.types.is_list(texts[-1].type) else texts[-1]
        empty = pc.index(pc.equal(pc.fill_null(flat, ""), ""), True).as_py()
        if empty >= 0:
            where = f", row {empty}" if flat is texts[-1] else ""
            raise InputError(f"{table.name}{where}: the {column} is empty.")
    if len({text.type for text in texts}) > 1:
        texts = [_split(text) for text in texts]
    names = pa.concat_arrays(texts)
    is_text = pa.types.is_string(names.type)
    return (
        _split(names) if is_text and pc.any(pc.match_substring(names, SEPARATOR)).as_py() else names
    )


def _split(names: Column) -> Column:
    """Return lists of labels from strings such as ``cat;dog``."""
    if pa.types.is_list(names.type):
        return names
    lists = pc.split_pattern(names, SEPARATOR)
    return _rebuild(lists, pc.utf8_trim_whitespace(lists.flatten()))


def _rebuild(lists: Column, values: Column) -> Column:
    """Return lists of the same lengths with other values."""
    ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False))
    starts = np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])
    return pa.ListArray.from_arrays(pa.array(starts), values)


def _collect_sets(names: Column, numbers: Ints, n_classes: int) -> LabelSets:
    """Return the classes of each row, ascending, each once."""
    lengths = pc.list_value_length(names).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    pairs = np.unique(rows * n_classes + numbers)
    counts = np.bincount(pairs // max(1, n_classes), minlength=len(lengths))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return LabelSets(starts, (pairs % max(1, n_classes)).astype(np.int32))


def _to_text_lists(column: Column, where: str, name: str) -> Any:
    """Return a column of labels, or of lists of labels, as strings or lists of strings."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_list(column.type) for is_list in kinds):
        return _to_text(column, where, name)
    return _rebuild(column, _to_text(column.flatten(), where, name))


def _to_text(column: Column, where: str, name: str) -> Any:
    """Return a column as strings; whole numbers are written without a decimal point."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    try:
        if pa.types.is_floating(kind):
            column = column.cast(pa.float64()).cast(pa.int64())
        return column.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(
            f"{where}: the column {name!r} holds no texts or whole numbers ({brief(error)})."
        ) from None


def _read_optional(tables: Sequence[_Table], name: str) -> Column | None:
    """Return a column as strings, or None unless all tables have it."""
    if not all(name in table.columns for table in tables):
        return None
    texts = [_to_text(table.read(name), table.name, name) for table in tables]
    return pc.fill_null(pa.concat_arrays(texts), "")


def _read_splits(tables: Sequence[_Table]) -> NDArray[np.str_]:
    """Return the split of each row, "" where no column or value states one."""
    column = _read_optional(tables, SPLIT)
    if column is None:
        return np.zeros(sum(table.n_rows for table in tables), "<U5")
    coded = column.dictionary_encode()
    names = []
    for value in coded.dictionary.to_pylist():
        if value and value.lower() not in SPLITS:
            row = pc.index(column, value).as_py()
            raise InputError(
                f"{tables[0].name}, row {row}: split is {value!r}; it must be train, val, test or "
                "empty."
            )
        names.append(SPLITS.get(value.lower(), ""))
    return np.array(names, "<U5")[coded.indices.to_numpy()]


def _read_groups(tables: Sequence[_Table]) -> Ints | None:
    """Return the group of each row, numbered by name, -1 for none; None without groups."""
    column = _read_optional(tables, GROUP)
    if column is None:
        return None
    names = sorted(set(pc.unique(column).to_pylist()) - {""})
    if not names:
        return None
    numbers = pc.fill_null(pc.index_in(column, value_set=pa.array(names, pa.string())), -1)
    return numbers.to_numpy(zero_copy_only=False).astype(np.int32)


def _read_paths(tables: Sequence[_Table]) -> Column | None:
    for name in PATHS:
        column = _read_optional(tables, name)
        if column is not None:
            return column
    return None
