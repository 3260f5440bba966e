"""Rows by address: what a worker on another machine needs to read the rows that this one means.

Rows never travel themselves. A store goes by its path; what is only known here, such as which of
its rows are meant, is left in a folder that all machines see, once.
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
from myriad.store.views import BalancedRows, ScaledRows
from myriad.urls import UrlPath, read_url

_X = "X"


@dataclass(frozen=True)
class SharedRows:
    """Where rows are, and how they are seen.

    Attributes
    ----------
    place : the folder or URL of a store, or the file of an array.
    state : tells one content of the place from another.
    facts : a file with the arrays that say which rows are meant and what else is known of them.
    n_classes : of an array, how many classes; a store knows its own.
    scale : a file with a number for each feature, or None.
    balanced : whether classes are drawn alike.
    """

    place: Path
    state: int
    facts: Path
    n_classes: int
    scale: Path | None = None
    balanced: bool = False

    @property
    def is_store(self) -> bool:
        """Whether the rows are those of a store."""
        return isinstance(self.place, UrlPath) or self.place.is_dir()

    @property
    def files(self) -> list[Path]:
        """Files that are there if the rows can be read."""
        whole = self.place / STORE if self.is_store else self.place
        return [whole, self.facts, *([self.scale] if self.scale else [])]


@dataclass(frozen=True)
class LocalRows:
    """Rows of this very process, where an address is not needed."""

    rows: Rows


def share_rows(rows: Rows, folder: Path) -> SharedRows:
    """Return the address of rows, for which small files are left in a folder.

    The array of rows that are in memory is left there, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(rows, ScaledRows):
        return replace(share_rows(rows.rows, folder), scale=_leave(folder, {"scale": rows.scale}))
    if isinstance(rows, BalancedRows):
        return replace(share_rows(rows.rows, folder), balanced=True)
    if isinstance(rows, StoreRows):
        facts = _leave(folder, {"chosen": rows.chosen})
        return SharedRows(rows.store.path.absolute(), state_of(rows.store.path), facts, 0)
    if type(rows) is ArrayRows:
        chosen = np.arange(len(rows.X)) if rows.chosen is None else rows.chosen
        known: dict[str, NDArray[Any]] = {"chosen": chosen, "labels": rows.labels}
        if rows.sets is not None:
            known |= {"starts": rows.sets.starts, "classes": rows.sets.classes}
        if rows.weights is not None:
            known["weights"] = rows.weights
        array = _leave(folder, {_X: rows.X})
        return SharedRows(array, 0, _leave(folder, known), len(rows.class_names))
    raise InputError("Workers read rows from a store or an array: bring these rows into a store.")


def open_rows(address: SharedRows | LocalRows) -> Rows:
    """Return the rows of an address; the last few are kept open."""
    return address.rows if isinstance(address, LocalRows) else _open(address)


@lru_cache(maxsize=4)
def _open(address: SharedRows) -> Rows:
    if address.is_store:
        store = _open_store(address.place, address.state)
        rows: Rows = StoreRows(store, read_arrays(address.facts)["chosen"])
    else:
        rows = _open_array(address)
    if address.balanced:
        rows = BalancedRows(rows)
    return ScaledRows(rows, read_arrays(address.scale)["scale"]) if address.scale else rows


@lru_cache(maxsize=2)
def _open_store(place: Path, state: int) -> Store:
    return Store.open(place)


def _open_array(address: SharedRows) -> Rows:
    facts = read_arrays(address.facts)
    X, chosen = read_arrays(address.place)[_X], facts["chosen"]
    rows = ArrayRows(X, None, [str(c) for c in range(address.n_classes)]).select(chosen)
    rows.labels = facts["labels"]
    if "starts" in facts:
        rows.sets = LabelSets(facts["starts"], facts["classes"])
    rows.weights = facts.get("weights")
    return rows


def state_of(place: Path) -> int:
    """Return a number that tells one content of a store from another."""
    if isinstance(place, UrlPath):
        return int.from_bytes(hashlib.sha256(read_url(place / STORE)).digest()[:8], "little")
    return (place / STORE).stat().st_mtime_ns


def _leave(folder: Path, arrays: dict[str, NDArray[Any]]) -> Path:
    """Write arrays into a file that is named after what is in it, unless it is there."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    digest = hashlib.sha256()
    for name, array in plain.items():
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.data.cast("B") if array.size else b"")
    path = folder.absolute() / f"rows-{digest.hexdigest()[:24]}.safetensors"
    if not path.exists():
        with atomic_write(path) as beside:
            write_arrays(beside, plain)
    return path
