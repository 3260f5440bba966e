"""Images in shards: .tar files of WebDataset or .parquet files, alone or several in a folder."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.files import is_valid_unicode
from myriad.images.archive import Archive, is_hidden, open_archive
from myriad.images.listing import SPLITS, ImageList, is_image_name
from myriad.images.parquet import ParquetArchive
from myriad.images.webdataset import read_labels

SHARD_SUFFIXES = (".tar", ".parquet")
_SPLIT_NAME = re.compile(rf"^({'|'.join(SPLITS)})(?![a-z])", re.IGNORECASE)


def find_shards(folder: Path) -> list[str]:
    """Return the shards in a folder and its sub-folders, sorted, relative to it."""
    found = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in SHARD_SUFFIXES and path.is_file()
    ]
    return sorted(name for name in found if not any(p.startswith(".") for p in name.split("/")))


class ShardFolder(Archive):
    """The members of all shards of a folder, each called by its shard and its name there."""

    def _index(self) -> None:
        self.shards = {name: open_archive(self.path / name) for name in find_shards(self.path)}
        self._shard_of: dict[str, tuple[Archive, str]] = {}
        for name, shard in self.shards.items():
            for member, size in shard.sizes.items():
                self.sizes[f"{name}/{member}"] = size
                self._shard_of[f"{name}/{member}"] = (shard, member)

    def _read(self, name: str) -> bytes:
        shard, member = self._shard_of[name]
        return shard.read(member)

    def __reduce__(self) -> Any:
        """Reopen the shards in another process, once for everything that is sent to it."""
        return _open_once, (self.path.absolute(), _state_of(self.path))


def list_shards(source: Path) -> ImageList:
    """List the labelled images of a shard, or of a folder of shards.

    A shard whose name, or whose folder, begins with train, val or test is of that split.
    """
    archive: Archive = ShardFolder(source) if source.is_dir() else open_archive(source)
    shards = archive.shards if isinstance(archive, ShardFolder) else {"": archive}
    paths: list[str] = []
    labels: list[str | None] = []
    splits: list[str] = []
    for name, shard in shards.items():
        if isinstance(shard, ParquetArchive):
            members, found = list(shard.sizes), shard.read_labels()
        else:
            visible = (member for member in shard.sizes if not is_hidden(member))
            members = sorted(filter(is_image_name, visible))
            found = read_labels(shard, members)
        paths += [f"{name}/{member}" if name else member for member in members]
        labels += found
        splits += [_find_split(name or source.name)] * len(members)
    if not paths:
        raise InputError(f"{source} holds no images.")
    kept = [i for i, label in enumerate(labels) if label is not None]
    class_names = sorted({label for label in labels if label is not None})
    if not all(map(is_valid_unicode, class_names)):
        raise InputError(f"{source}: a label is not valid Unicode.")
    number_of = {name: number for number, name in enumerate(class_names)}
    warnings = []
    if len(kept) < len(paths):
        warnings.append(f"Images without a label were left out: {len(paths) - len(kept)}.")
    return ImageList(
        root=source,
        paths=[paths[i] for i in kept],
        labels=np.array([number_of[labels[i] or ""] for i in kept], np.int32),
        class_names=class_names,
        splits=np.array([splits[i] for i in kept], "<U5"),
        archive=archive,
        warnings=warnings,
    )


def _find_split(name: str) -> str:
    """Return the split that the path of a shard names; empty if none."""
    for part in reversed(name.split("/")):
        match = _SPLIT_NAME.match(part)
        if match:
            return SPLITS[match.group(1).lower()]
    return ""


def _state_of(folder: Path) -> int:
    """Return a number that changes when a shard of a folder does."""
    return max((os.stat(folder / name).st_mtime_ns for name in find_shards(folder)), default=0)


@lru_cache(maxsize=2)
def _open_once(folder: Path, state: int) -> ShardFolder:
    """Open the shards of a folder once per process and state of the folder."""
    return ShardFolder(folder)
