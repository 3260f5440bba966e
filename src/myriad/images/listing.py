"""The list of images that a job works on: where they are, what they show, which part they serve."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.errors import InputError
from myriad.images.archive import Archive
from myriad.images.reading import read_bytes

SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".dib", ".tif", ".tiff", ".webp", ".gif")
)
SPLITS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Where some images are, and no more: what is handed to whoever reads them.

    Attributes
    ----------
    root, paths, archive : as those of an `ImageList`.
    """

    root: Path
    paths: list[str]
    archive: Archive | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def files(self, indices: Sequence[int]) -> ImageFiles:
        """Return the files at these places, by paths that hold in any process."""
        return ImageFiles(self.root.absolute(), [self.paths[i] for i in indices], self.archive)

    def read(self, i: int) -> bytes:
        """Return the content of file `i`; `BadImage` if it cannot be had."""
        if self.archive is not None:
            return self.archive.read(self.paths[i])
        return read_bytes(self.root / self.paths[i])


@dataclass(frozen=True, eq=False)
class ImageList:
    """Images by name, in a fixed order, with their labels and parts.

    Attributes
    ----------
    root : the folder, the folder of the manifest, or the archive.
    paths : names below `root` with "/" between folders, or members of the archive; a manifest may
        also name absolute ones.
    labels : int32 array of shape (n_samples,), places in `class_names`; -1 where there is none.
    class_names : sorted, each once.
    splits : array of strings of shape (n_samples,): "train", "val", "test", or "" if not stated.
    groups : int32 array of shape (n_samples,), or None; images of one group must stay together,
        -1 is an image that belongs to no group.
    archive : where the bytes are read from, if `root` is an archive.
    ignored : the number of files that were passed over because they are no images.
    warnings : sentences that the user should see.
    """

    root: Path
    paths: list[str]
    labels: Ints
    class_names: list[str]
    splits: NDArray[np.str_]
    groups: Ints | None = None
    archive: Archive | None = None
    ignored: int = 0
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.paths)

    def select(self, indices: Sequence[int] | NDArray[Any]) -> ImageList:
        """Return the images at these places (or where a boolean array is true); classes stay."""
        chosen = np.asarray(indices)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        return replace(
            self,
            paths=[self.paths[i] for i in chosen],
            labels=self.labels[chosen],
            splits=self.splits[chosen],
            groups=None if self.groups is None else self.groups[chosen],
        )

    def read(self, i: int) -> bytes:
        """Return the content of the file of image `i`; `BadImage` if it cannot be had."""
        return self.files([i]).read(0)

    def files(self, indices: Sequence[int]) -> ImageFiles:
        """Return the files of the images at these places, by paths that hold in any process."""
        return ImageFiles(self.root.absolute(), [self.paths[i] for i in indices], self.archive)

    def locate(self, i: int) -> str:
        """Return where image `i` is; within an archive, the archive's path comes first."""
        return str(self.root / self.paths[i])

    def fingerprint(self) -> str:
        """Return a hash of names, labels, splits, groups and file sizes, which opens no file.

        It does not depend on where `root` is, so a folder that was moved keeps its fingerprint.
        """
        digest = hashlib.sha256()
        groups = [-1] * len(self) if self.groups is None else self.groups.tolist()
        rows = zip(self.paths, self.labels.tolist(), self.splits.tolist(), groups, strict=True)
        for path, label, split, group in rows:
            name = self.class_names[label] if label >= 0 else ""
            row = "\0".join((path, name, split, str(group), str(self._size(path)), "\n"))
            digest.update(row.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _size(self, path: str) -> int:
        if self.archive is not None:
            return self.archive.sizes[path]
        try:
            return os.stat(os.path.join(self.root, path)).st_size
        except (OSError, ValueError):
            return -1


def is_image_name(name: str) -> bool:
    """Return whether a file's name has the suffix of an image format that is read."""
    return os.path.splitext(name)[1].lower() in SUFFIXES


def require_classes(images: ImageList) -> None:
    """Raise `InputError` unless there are two classes to be told apart outside the test part."""
    usable = np.unique(images.labels[(images.splits != "test") & (images.labels >= 0)])
    if len(usable) >= 2:
        return
    found = f"only {images.class_names[usable[0]]!r}" if len(usable) else "none"
    raise InputError(
        f"{images.root}: at least two classes are needed to train, and {found} was found. "
        "Put the images of each class into a sub-folder of its own."
    )
