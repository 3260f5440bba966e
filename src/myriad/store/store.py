"""A finished store: a folder of rows with their labels, class names and recipe."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import Float, Ints
from myriad.codes import Code
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.signatures import Signature, name_samples
from myriad.store.index import Index
from myriad.store.manifest import (
    INDEX,
    PLAN,
    STORE,
    Header,
    check_size,
    read_bad,
    read_header,
    read_record,
    read_records,
    verify_file,
)
from myriad.store.mapped_shards import MappedShards
from myriad.store.references import ReferencedShards, read_references
from myriad.store.rows import Fill, Rows, check_indices, shuffle_groups, window_size
from myriad.store.shard_cache import ShardCache
from myriad.store.shards import Prefetcher, ShardRecord, map_shard, prefetch_file, shard_name
from myriad.store.writing import StoreWriter
from myriad.urls import UrlPath, as_path, path_exists

LISTED_ROWS = 1 << 16
"""Rows whose shards are looked up at a time, to bound the memory."""


def is_store(path: str | Path) -> bool:
    """Return whether a folder has a store, finished or not; `InputError` for a URL without one."""
    folder = as_path(path)
    if not isinstance(folder, UrlPath):
        return any((folder / name).is_file() for name in (STORE, PLAN))
    if any(path_exists(folder / name) for name in (STORE, PLAN)):
        return True
    raise InputError(
        f"{folder} is not a store: it has no {STORE}. Only stores can be read from a URL."
    )


TRAIN_AGAIN_BELOW = 20_000
"""Number of rows below which a final model is also trained on randomly drawn validation rows."""


class Store:
    """A finished store, opened with `Store.open`; `Store.create` begins a new one.

    Attributes
    ----------
    path : the folder; a `UrlPath` if it is read from a URL.
    class_names : names of the classes, by label.
    n_rows, dim : number of rows and of features of a decoded row.
    dtype : ``"float32"``, ``"float16"`` or ``"codes"``.
    bytes_per_row : bytes a row takes on disk.
    code : the code of the rows, or None for floats.
    recipe : what turns an image into a row, if known.
    plan : the settings of the run that wrote the store.
    bad : the images that could not be read, each ``{"path": ..., "reason": ...}``.
    labels : int32 (n_rows,), -1 if unknown; the lowest one if a row has several.
    sets : all labels of each row; None if rows have one label each.
    groups : int32 (n_rows,), the group of each row, -1 for none; None if rows have no groups.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        records: list[ShardRecord],
        index: Index,
        *,
        bad: list[dict[str, str]],
        verify: bool,
        referred: ReferencedShards | None = None,
        cache: ShardCache | None = None,
    ) -> None:
        self.path = path
        self.class_names = header.class_names
        self.dim, self.dtype = header.dim, header.dtype
        self.code: Code | None = header.code
        self.recipe: Signature | None = header.recipe
        self.plan: dict[str, Any] = header.plan
        self.bad = bad
        self.labels: Ints = index.labels
        self.sets: LabelSets | None = index.sets
        self.groups: Ints | None = index.groups
        self.bytes_per_row = header.form.bytes_per_row
        self.starts = np.cumsum([0, *(record.rows for record in records)])
        """Shard i has the rows ``starts[i]`` to ``starts[i + 1]``."""
        self._form, self._records, self._index = header.form, records, index
        self._referred, self._cache = referred, cache
        self._unverified = set(range(len(records))) if verify else set()
        self._check = verify_file if verify else check_size
        self._lock = threading.Lock()

    @property
    def noun(self) -> str:
        """The word for a row in tables and reports: "image" or "row"."""
        return name_samples(self.recipe)

    def __repr__(self) -> str:
        counts = f"{self.n_rows:,} rows, {self.dim:,} features, {len(self.class_names):,} classes"
        return f"<Store {self.path}: {counts}>"

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> Store:
        """Open a store in a folder, or at a URL that fsspec can read.

        The sizes of all files are checked now; with `verify` the checksum of a shard is checked
        when it is first read. `InputError` names the file that is missing or damaged. Shards at a
        URL are copied to a local cache when they are read, and checked then.
        """
        folder = as_path(path)
        if not path_exists(folder / STORE):
            if is_store(folder):
                raise InputError(f"{folder} is unfinished: run its command again with --resume.")
            raise InputError(f"{folder} is not a store: it has no {STORE}.")
        if not isinstance(folder, UrlPath):
            return cls._open_folder(folder, folder, None, verify=verify)
        cache = ShardCache(folder)
        with cache.naming_urls():
            return cls._open_folder(folder, cache.folder, cache, verify=verify)

    @classmethod
    def _open_folder(
        cls, path: Path, folder: Path, cache: ShardCache | None, *, verify: bool
    ) -> Store:
        """Open the store at `path`, whose files, or copies of some of them, are in `folder`."""
        header, content = read_header(folder / STORE)
        records = read_records(content, header.n_shards, folder / STORE)
        if cache is None:
            for number, record in enumerate(records):
                check_size(folder / shard_name(number), record, header.form.bytes_per_row)
        index_file = read_record(content.get("index"), folder / STORE)
        verify_file(folder / INDEX, index_file)
        referred = None
        if content.get("references") is not None:
            references = read_references(content["references"], folder / STORE)
            referred = ReferencedShards(
                references, header.form, index=index_file.sha256, verify=verify
            )
            records = referred.records
        n_rows = sum(record.rows for record in records)
        index = Index(folder / INDEX, header.form, n_rows, len(header.class_names))
        return cls(
            path,
            header,
            records,
            index,
            bad=read_bad(content, folder / STORE),
            verify=verify,
            referred=referred,
            cache=cache,
        )

    create = staticmethod(StoreWriter.begin)
    resume = staticmethod(StoreWriter.resume)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._records)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all rows, labels and splits."""
        sums = [record.sha256 for record in self._records]
        return hashlib.sha256(json.dumps([self.class_names, sums]).encode()).hexdigest()

    @cached_property
    def paths(self) -> list[str]:
        """The path each row comes from."""
        return self._index.read_paths()

    @cached_property
    def splits(self) -> NDArray[np.str_]:
        """The split of each row."""
        return self._index.read_splits()

    @property
    def split_names(self) -> set[str]:
        """The names of the splits that rows are in."""
        return set(self.splits.tolist())

    @property
    def trained_splits(self) -> list[str]:
        """The splits that a final model is trained on, of those that there are.

        They include validation rows that were drawn at random, if there are few rows in all, where
        a tenth more training rows matter; a validation split of the user is never included.
        """
        drawn = self.plan.get("validation") == "drawn" and self.n_rows < TRAIN_AGAIN_BELOW
        splits = ("train", "val") if drawn else ("train",)
        return [split for split in splits if split in self.split_names]

    def relabelled(self, labels: Ints, kept: NDArray[np.bool_]) -> Store:
        """Return the same store with other labels; nothing is written.

        Parameters
        ----------
        labels : int32 (n_rows,).
        kept : bool (n_rows,), whether each row stays in its split; others have no split.
        """
        if self.sets is not None:
            raise InputError(f"The rows of {self.path} have several labels each, or none.")
        other = copy(self)
        other.labels = labels
        other.splits = np.where(kept, self.splits, "")
        digest = hashlib.sha256(self.fingerprint.encode())
        digest.update(labels.tobytes() + kept.tobytes())
        other.fingerprint = digest.hexdigest()
        return other

    def read_shard(self, number: int) -> NDArray[Any]:
        """Return the stored rows of a shard, (n, width), memory-mapped and read-only."""
        if self._referred is not None:
            return self._referred.read(number)
        if self._cache is not None:
            with self._cache.naming_urls():
                copied = self._fetch(self._cache, number)
                return map_shard(copied, self._form, self._records[number].rows).rows
        path = self.path / shard_name(number)
        with self._lock:
            if number in self._unverified:
                verify_file(path, self._records[number])
                self._unverified.discard(number)
        return map_shard(path, self._form, self._records[number].rows).rows

    def prefetch_shard(self, number: int) -> None:
        """Load a shard into the cache, so that it can soon be read without waiting."""
        if self._cache is not None:
            self._fetch(self._cache, number)
        elif self._referred is None:
            prefetch_file(self.path / shard_name(number))

    def _fetch(self, cache: ShardCache, number: int) -> Path:
        record = self._records[number]
        return cache.fetch_shard(shard_name(number), lambda path: self._check(path, record))

    def read_codes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return the stored codes of the rows `start` to `stop`, (n, bytes_per_row)."""
        if self.code is None:
            raise InputError(f"The rows of {self.path} are not coded.")
        codes = np.empty((stop - start, self.bytes_per_row), np.uint8)
        MappedShards(self).gather(np.arange(start, stop), codes)
        return codes

    def rows(self, split: str | Sequence[str] | None = None) -> StoreRows:
        """Return the rows of one split, of several, or all, in stored order."""
        if split is None:
            return StoreRows(self, np.arange(self.n_rows))
        wanted = [split] if isinstance(split, str) else list(split)
        present = sorted(self.split_names)
        for name in wanted:
            if name not in present:
                raise InputError(f"{self.path} has no rows of the split {name!r}, only {present}.")
        return StoreRows(self, np.flatnonzero(np.isin(self.splits, wanted)))


def training_rows(store: Store) -> StoreRows:
    """Return the rows that a code may be learned from: all if there is no split ``train``."""
    return store.rows("train" if "train" in store.split_names else None)


class StoreRows(Rows):
    """Some rows of a store, decoded block by block.

    Parameters
    ----------
    store : the store.
    chosen : int64 (n_rows,), the numbers of the rows in the store.
    """

    def __init__(self, store: Store, chosen: NDArray[np.int64]) -> None:
        self.store = store
        self.chosen = chosen
        self.n_rows, self.dim = len(chosen), store.dim
        self.labels = store.labels[chosen]
        self.sets = None if store.sets is None else store.sets.select(chosen)
        self.groups = None if store.groups is None else store.groups[chosen]
        self.class_names = store.class_names

    @property
    def paths(self) -> list[str]:
        """The path each row comes from."""
        return [self.store.paths[i] for i in self.chosen]

    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the order of an epoch: windows of shards, each of them shuffled."""
        shard_of = np.searchsorted(self.store.starts, self.chosen, side="right") - 1
        by_shard = np.argsort(shard_of, kind="stable")
        cuts = np.flatnonzero(np.diff(shard_of[by_shard])) + 1
        groups = np.split(by_shard, cuts) if self.n_rows else []
        return shuffle_groups(groups, self._window(), seed=seed, epoch=epoch)

    def _window(self) -> int:
        """Return how many shards are shuffled together."""
        largest = int(np.diff(self.store.starts).max(initial=0))
        return window_size(largest * self.store.bytes_per_row)

    def select(self, indices: ArrayLike) -> StoreRows:
        """Return the rows with the given numbers; nothing is read or copied."""
        return StoreRows(self.store, self.chosen[check_indices(indices, self.n_rows)])

    def origin(self) -> tuple[object, NDArray[np.int64]]:
        """Return the store and the numbers of the rows in it."""
        return self.store, self.chosen

    def _reader(self) -> Fill:
        return self._fill_from(MappedShards(self.store))

    def _fill_from(self, shards: MappedShards) -> Fill:
        def fill(index: NDArray[np.int64], out: Float) -> None:
            shards.fill(self.chosen[index], out)

        return fill

    def _ordered_reader(self, order: NDArray[np.int64]) -> tuple[Fill, Callable[[], None]]:
        prefetcher = Prefetcher(self._list_shards(order), self._window(), self.store.prefetch_shard)
        return self._fill_from(MappedShards(self.store, prefetcher.use)), prefetcher.close

    def _list_shards(self, order: NDArray[np.int64]) -> list[int]:
        """Return the shards of rows in the order of their first use, with little memory."""
        shards: dict[int, None] = {}
        for start in range(0, len(order), LISTED_ROWS):
            some = self.chosen[order[start : start + LISTED_ROWS]]
            found = np.searchsorted(self.store.starts, some, side="right") - 1
            _, first = np.unique(found, return_index=True)
            shards.update(dict.fromkeys(found[np.sort(first)].tolist()))
        return list(shards)
