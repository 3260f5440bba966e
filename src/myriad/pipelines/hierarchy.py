"""A hierarchy of classes: a CSV file with the parent of each class."""

from __future__ import annotations

import csv
from pathlib import Path

from myriad.errors import InputError


def read_hierarchy(path: Path) -> dict[str, str]:
    """Return the parent of each class; the file has the columns ``class`` and ``parent``."""
    parents: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            if not {"class", "parent"} <= set(reader.fieldnames or []):
                raise InputError(f"{path} needs the columns class and parent in its first line.")
            for line in reader:
                name, parent = line["class"], line["parent"]
                if not name or not parent:
                    raise InputError(
                        f"{path}, line {reader.line_num}: a class and its parent are needed."
                    )
                if parents.setdefault(name, parent) != parent:
                    raise InputError(
                        f"{path}, line {reader.line_num}: {name} has two parents, "
                        f"{parents[name]} and {parent}."
                    )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a hierarchy: {error}.") from None
    return parents
