"""CSV manifests: one image per line, with columns path, label and optionally split, group.

Where images have several labels, these are separated within a cell, or an image has a line for each
of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError, did_you_mean
from myriad.files import open_csv
from myriad.images.listing import SPLITS, ImageList, refuse_urls
from myriad.measures import LabelSets

_COLUMNS = ("path", "label", "split", "group")


@dataclass(frozen=True)
class SeveralLabels:
    """How a manifest states several labels of an image.

    Attributes
    ----------
    repeated : whether an image may have several lines, one for each label.
    separator : what separates the labels in a cell; None if a cell has one label.
    """

    repeated: bool = False
    separator: str | None = None

    def __bool__(self) -> bool:
        return self.repeated or self.separator is not None

    def split(self, cell: str) -> list[str]:
        """Return the labels of a cell; an empty cell has none where a separator is stated."""
        if self.separator is None:
            return [cell.strip()]
        return [label.strip() for label in cell.split(self.separator) if label.strip()]


ONE_LABEL = SeveralLabels()


@dataclass
class _Rows:
    """The columns of a manifest, the labels of an image as a list, and warnings for the user."""

    paths: list[str] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def list_manifest(path: Path, several: SeveralLabels = ONE_LABEL) -> ImageList:
    """Read a manifest; its paths are relative to its own folder.

    A missing file becomes a bad image when it is read; `InputError` is raised only if all files are
    missing.

    Parameters
    ----------
    several : how it states several labels of an image; by default each has one.
    """
    with open_csv(path) as reader:
        rows = _read_rows(path, reader, several)
    refuse_urls(rows.paths, str(path))
    _require_a_file(path, rows.paths)
    class_names = sorted({label for labels in rows.labels for label in labels})
    label_of = {name: label for label, name in enumerate(class_names)}
    sets = None
    if several:
        sets = LabelSets.from_lists([[label_of[name] for name in labels] for labels in rows.labels])
        first = sets.first()
    else:
        first = np.array([label_of[labels[0]] for labels in rows.labels], np.int32)
    return ImageList(
        root=path.parent,
        paths=rows.paths,
        labels=first,
        class_names=class_names,
        splits=np.array(rows.splits, dtype="<U5"),
        groups=_number_groups(rows.groups),
        sets=sets,
        warnings=rows.warnings,
    )


def _read_rows(path: Path, reader: Any, several: SeveralLabels) -> _Rows:
    """Read and check all lines; errors name the line."""
    rows = _Rows()
    seen: dict[str, int] = {}
    split_of_group: dict[str, str] = {}
    header: list[str] = next(reader, [])
    columns = _read_header(path, header)
    rows.warnings = _warn_of_misspelt(path, header)
    for cells in filter(None, reader):
        where = f"{path}, line {reader.line_num}"
        if len(cells) != columns["all"]:
            raise InputError(
                f"{where}: {len(cells)} cells where the header has {columns['all']} columns."
            )
        name, cell, split, group = (
            cells[columns[column]].strip() if column in columns else "" for column in _COLUMNS
        )
        _check_row(where, name, cell, split, several)
        labels, split = several.split(cell), SPLITS.get(split.lower(), "")
        earlier = seen.setdefault(os.path.normpath(name), len(rows.paths))
        if earlier < len(rows.paths):
            _check_repeated(where, name, rows, earlier, (split, group), several)
            rows.labels[earlier] += labels
            continue
        if group and split and split_of_group.setdefault(group, split) != split:
            raise InputError(
                f"{where}: group {group!r} is in {split_of_group[group]} and in {split}; "
                "a group must be in one split."
            )
        rows.paths.append(name)
        rows.labels.append(labels)
        rows.splits.append(split)
        rows.groups.append(group)
    if not rows.paths:
        raise InputError(f"{path} lists no images: it has a header but no other lines.")
    return rows


def _read_header(path: Path, header: list[str]) -> dict[str, int]:
    """Return the position of each known column, and as "all" the number of columns."""
    if not header:
        raise InputError(f"{path} is empty: a manifest starts with the line path,label.")
    names = [name.strip().lower() for name in header]
    missing = [name for name in _COLUMNS[:2] if name not in names]
    if missing:
        hint = "".join(did_you_mean(name, missing) for name in names if name not in _COLUMNS)
        if any("url" in name for name in names):
            hint += " Images are read from a disk: download them first, and list the files."
        raise InputError(
            f"{path}, line 1: no column {' and no column '.join(missing)}; the columns are "
            f"{', '.join(names)}.{hint} A manifest has the columns path,label and optionally "
            "split,group, separated by commas."
        )
    duplicates = [name for name in _COLUMNS if names.count(name) > 1]
    if duplicates:
        raise InputError(f"{path}, line 1: two columns are named {duplicates[0]}.")
    columns = {name: names.index(name) for name in _COLUMNS if name in names}
    return {**columns, "all": len(names)}


def _warn_of_misspelt(path: Path, header: list[str]) -> list[str]:
    """Return warnings of ignored columns whose names resemble those of optional ones."""
    names = [name.strip().lower() for name in header]
    absent = [name for name in _COLUMNS if name not in names]
    hints = {name: did_you_mean(name, absent) for name in names if name not in _COLUMNS}
    return [
        f"{path}: the column {name!r} is not used.{hint}" for name, hint in hints.items() if hint
    ]


def _check_row(where: str, name: str, label: str, split: str, several: SeveralLabels) -> None:
    """Raise `InputError` for an invalid line."""
    if not name:
        raise InputError(f"{where}: the path is empty.")
    if not label and several.separator is None:
        raise InputError(f"{where}: the label is empty. Fill it in, or remove the line.")
    if split and split.lower() not in SPLITS:
        raise InputError(f"{where}: split is {split!r}; it must be train, val, test or empty.")


def _check_repeated(
    where: str,
    name: str,
    rows: _Rows,
    earlier: int,
    given: tuple[str, str],
    several: SeveralLabels,
) -> None:
    """Raise `InputError` unless a path may have a second line, with the split of the first one."""
    if not several.repeated:
        raise InputError(
            f"{where}: the path {name!r} is already in an earlier line. If images have several "
            "labels, one per line, train, extract and evaluate read them with --multi-label."
        )
    if given != (rows.splits[earlier], rows.groups[earlier]):
        raise InputError(f"{where}: {name!r} has another split or group in an earlier line.")


def _require_a_file(path: Path, names: list[str]) -> None:
    if not any(os.path.lexists(path.parent / name) for name in names if "\0" not in name):
        raise InputError(
            f"{path}: none of its {len(names)} files exists, {names[0]!r} first. "
            f"Paths are relative to the folder of the manifest, {path.parent}."
        )


def _number_groups(groups: list[str]) -> np.ndarray | None:
    """Number the groups in the order of their names; -1 where a cell is empty."""
    names = sorted(set(groups) - {""})
    if not names:
        return None
    number_of = {name: number for number, name in enumerate(names)}
    return np.array([number_of.get(group, -1) for group in groups], dtype=np.int32)
