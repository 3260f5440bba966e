"""Descriptions of rows with which workers, also on other machines, read the same rows.

The rows themselves are not sent. A store is named by its path; what only this process knows, such
as which of its rows are selected, is written once to a folder that all machines share.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.measures import LabelSets
from myriad.store.manifest import STORE
from myriad.store.rows import ArrayRows, Rows
from myriad.store.store import Store, StoreRows
from myriad.store.views import BalancedRows, CentredRows, ScaledRows
from myriad.urls import UrlPath, read_url

_X = "X"


@dataclass(frozen=True)
class SharedRows:
    """Where rows are stored, and which view of them is used.

    Attributes
    ----------
    path : the folder or URL of a store, or the file of an array.
    state : a number that changes when the content of `path` does.
    selection : a file of arrays: the numbers of the selected rows and, for an array, their labels.
    n_classes : number of classes of an array; a store has its own.
    mean : a file with the mean that is subtracted from rows, or None.
    scale : a file with a factor for each feature, or None.
    balanced : whether classes are drawn with equal probability.
    """

    path: Path
    state: int
    selection: Path
    n_classes: int
    mean: Path | None = None
    scale: Path | None = None
    balanced: bool = False

    @property
    def is_store(self) -> bool:
        """Whether the rows are those of a store."""
        return isinstance(self.path, UrlPath) or self.path.is_dir()

    @property
    def files(self) -> list[Path]:
        """The files that must exist for the rows to be readable."""
        content = self.path / STORE if self.is_store else self.path
        return [content, self.selection, *filter(None, (self.mean, self.scale))]


@dataclass(frozen=True)
class LocalRows:
    """Rows in the memory of this process, which need no description."""

    rows: Rows


def share_rows(rows: Rows, folder: Path) -> SharedRows:
    """Return a description of rows; the files that it needs are written to a folder.

    Rows in memory are written to the folder, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(rows, ScaledRows):
        return replace(
            share_rows(rows.rows, folder), scale=_write_once(folder, {"scale": rows.scale})
        )
    if isinstance(rows, CentredRows):
        return replace(share_rows(rows.rows, folder), mean=_write_once(folder, {"mean": rows.mean}))
    if isinstance(rows, BalancedRows):
        return replace(share_rows(rows.rows, folder), balanced=True)
    if isinstance(rows, StoreRows):
        selection = _write_once(folder, {"chosen": rows.chosen})
        return SharedRows(rows.store.path.absolute(), state_of(rows.store.path), selection, 0)
    if type(rows) is ArrayRows:
        chosen = np.arange(len(rows.X)) if rows.chosen is None else rows.chosen
        known: dict[str, NDArray[Any]] = {"chosen": chosen, "labels": rows.labels}
        if rows.sets is not None:
            known |= {"starts": rows.sets.starts, "classes": rows.sets.classes}
        if rows.weights is not None:
            known["weights"] = rows.weights
        array = _write_once(folder, {_X: rows.X})
        return SharedRows(array, 0, _write_once(folder, known), len(rows.class_names))
    raise InputError("Workers read rows from a store or an array: write these rows to a store.")


def open_rows(shared: SharedRows | LocalRows) -> Rows:
    """Return the described rows; the most recently used ones are cached."""
    return shared.rows if isinstance(shared, LocalRows) else _open(shared)


@lru_cache(maxsize=4)
def _open(shared: SharedRows) -> Rows:
    if shared.is_store:
        store = _open_store(shared.path, shared.state)
        rows: Rows = StoreRows(store, read_arrays(shared.selection)["chosen"])
    else:
        rows = _open_array(shared)
    if shared.mean:
        rows = CentredRows(rows, read_arrays(shared.mean)["mean"])
    if shared.balanced:
        rows = BalancedRows(rows)
    return ScaledRows(rows, read_arrays(shared.scale)["scale"]) if shared.scale else rows


@lru_cache(maxsize=2)
def _open_store(path: Path, state: int) -> Store:
    return Store.open(path)


def _open_array(shared: SharedRows) -> Rows:
    selection = read_arrays(shared.selection)
    X, chosen = read_arrays(shared.path)[_X], selection["chosen"]
    rows = ArrayRows(X, None, [str(c) for c in range(shared.n_classes)]).select(chosen)
    rows.labels = selection["labels"]
    if "starts" in selection:
        rows.sets = LabelSets(selection["starts"], selection["classes"])
    rows.weights = selection.get("weights")
    return rows


def state_of(path: Path) -> int:
    """Return a number that changes when the content of a store does."""
    if isinstance(path, UrlPath):
        return int.from_bytes(hashlib.sha256(read_url(path / STORE)).digest()[:8], "little")
    return (path / STORE).stat().st_mtime_ns


def _write_once(folder: Path, arrays: dict[str, NDArray[Any]]) -> Path:
    """Write arrays to a file named after their hash, unless it exists; return its path."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    digest = hashlib.sha256()
    for name, array in plain.items():
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.data.cast("B") if array.size else b"")
    path = folder.absolute() / f"rows-{digest.hexdigest()[:24]}.safetensors"
    if not path.exists():
        with atomic_write(path) as partial_path:
            write_arrays(partial_path, plain)
    return path
