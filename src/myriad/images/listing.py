"""Lists of images: paths, labels, splits and groups."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.errors import InputError
from myriad.images.archive import Archive
from myriad.images.reading import read_bytes
from myriad.measures import LabelSets
from myriad.urls import UrlPath, as_path

_USUAL = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".dib", ".tif", ".tiff")
SUFFIXES = frozenset((*_USUAL, ".webp", ".gif", ".heic", ".heif", ".avif"))
VIDEO_SUFFIXES = frozenset((".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg"))
FORMATS = "JPEG, PNG, BMP, TIFF, WebP, GIF, HEIC or AVIF"
SPLITS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """The paths of some images, without labels: what is sent to a worker that reads them.

    Attributes
    ----------
    root, paths, archive, views : as those of an `ImageList`.
    """

    root: Path
    paths: list[str]
    archive: Archive | None = None
    views: list[int] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def files(self, indices: Sequence[int]) -> ImageFiles:
        """Return the files at the given positions, with an absolute `root` for other processes."""
        return _list_files(self, indices)

    def view(self, i: int) -> int:
        """Return the number of the view that is wanted of image `i`."""
        return 0 if self.views is None else self.views[i]

    def read(self, i: int) -> bytes:
        """Return the content of file `i`; `BadImage` if it cannot be read."""
        if self.archive is not None:
            return self.archive.read(self.paths[i])
        if "@" in self.paths[i]:
            from myriad.images.video import read_frame, split_frame

            frame = split_frame(self.paths[i])
            if frame is not None:
                return read_frame(self.root / frame[0], frame[1])
        return read_bytes(self.root / self.paths[i])


@dataclass(frozen=True, eq=False)
class ImageList:
    """Images in a fixed order, with their labels and splits.

    Attributes
    ----------
    root : the folder, the folder of the manifest, or the archive.
    paths : paths relative to `root` with "/" between folders, or members of the archive; paths of
        a manifest may be absolute.
    labels : int32 array of shape (n_samples,), positions in `class_names`; -1 if unknown. If
        an image has several labels, the first in the order of `class_names`.
    class_names : sorted, without duplicates.
    splits : array of strings of shape (n_samples,): "train", "val", "test", or "" if not stated.
    groups : int32 array of shape (n_samples,), or None; images of one group must be in one split;
        -1 for an image without a group.
    archive : the opened archive, if `root` is one.
    views : int8 array of shape (n_samples,), the view of the image that is meant, see
        `myriad.images.augmentation`; None for the images themselves.
    sets : all labels of each image, if images may have several; else None.
    ignored : the number of files that were ignored because they are not images.
    warnings : warnings for the user, as sentences.
    """

    root: Path
    paths: list[str]
    labels: Ints
    class_names: list[str]
    splits: NDArray[np.str_]
    groups: Ints | None = None
    archive: Archive | None = None
    views: NDArray[np.int8] | None = None
    sets: LabelSets | None = None
    ignored: int = 0
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.paths)

    def select(self, indices: Sequence[int] | NDArray[Any]) -> ImageList:
        """Return the images at the given positions, or of a boolean mask; classes stay the same."""
        chosen = np.asarray(indices)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        return replace(
            self,
            paths=[self.paths[i] for i in chosen],
            labels=self.labels[chosen],
            splits=self.splits[chosen],
            groups=None if self.groups is None else self.groups[chosen],
            views=None if self.views is None else self.views[chosen],
            sets=None if self.sets is None else self.sets.select(chosen),
        )

    def read(self, i: int) -> bytes:
        """Return the content of the file of image `i`; `BadImage` if it cannot be read."""
        return self.files([i]).read(0)

    def files(self, indices: Sequence[int]) -> ImageFiles:
        """Return the files at the given positions, with an absolute `root` for other processes."""
        return _list_files(self, indices)

    def labels_of(self, i: int) -> list[str]:
        """Return the labels of image `i`; none if they are not known."""
        if self.sets is not None:
            return [self.class_names[c] for c in self.sets.of(i)]
        return [self.class_names[self.labels[i]]] if self.labels[i] >= 0 else []

    def locate(self, i: int) -> str:
        """Return the path of image `i`; in an archive, the path of the archive comes first."""
        return str(self.root / self.paths[i])

    def fingerprint(self) -> str:
        """Return a hash of paths, labels, splits, groups and file sizes; no file is opened.

        It does not depend on where `root` is, so a folder that was moved keeps its fingerprint.
        """
        digest = hashlib.sha256()
        groups = [-1] * len(self) if self.groups is None else self.groups.tolist()
        rows = zip(self.paths, range(len(self)), self.splits.tolist(), groups, strict=True)
        for path, i, split, group in rows:
            name = "\0".join(self.labels_of(i))
            row = "\0".join((path, name, split, str(group), str(self._size(path)), "\n"))
            digest.update(row.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _size(self, path: str) -> int:
        if self.archive is not None:
            return self.archive.sizes[path]
        if "@" in path and not is_image_name(path):  # a frame: the size of its video
            path = path.rpartition("@")[0]
        try:
            return os.stat(os.path.join(self.root, path)).st_size
        except (OSError, ValueError):
            return -1


def _list_files(source: ImageFiles | ImageList, indices: Sequence[int]) -> ImageFiles:
    views = None if source.views is None else [int(source.views[i]) for i in indices]
    paths = [source.paths[i] for i in indices]
    return ImageFiles(source.root.absolute(), paths, source.archive, views)


def is_image_name(name: str) -> bool:
    """Return whether the name of a file has the suffix of a supported image format."""
    return os.path.splitext(name)[1].lower() in SUFFIXES


def is_video_name(name: str) -> bool:
    """Return whether the name of a file has the suffix of a video."""
    return os.path.splitext(name)[1].lower() in VIDEO_SUFFIXES


def refuse_urls(names: Iterable[str], where: str) -> None:
    """Raise `InputError` if a path among those that `where` lists is the URL of an image."""
    for name in names:
        if ":/" in name and isinstance(as_path(name.strip()), UrlPath):
            raise InputError(
                f"{where} names a URL, {name.strip()!r}, but images are read from a disk: "
                "download them first, and list the files."
            )


def require_training_images(images: ImageList, source: Path | None = None) -> None:
    """Raise `InputError` if all images are in the splits val and test.

    Parameters
    ----------
    source : what errors name; None for the root of the images.
    """
    if set(images.splits.tolist()) <= {"val", "test"}:
        raise InputError(
            f"{source or images.root} has no training images: all are in other splits. Call the "
            "split of some train, or leave it empty."
        )


def require_classes(images: ImageList, source: Path | None = None) -> None:
    """Raise `InputError` unless there are training images, and two classes outside the test split.

    Parameters
    ----------
    source : what errors name; None for the root of the images.
    """
    require_training_images(images, source)
    some = images.select((images.splits != "test") & (images.labels >= 0))
    usable = np.unique(some.labels if some.sets is None else some.sets.classes)
    if len(usable) >= 2:
        return
    found = f"only {images.class_names[usable[0]]!r}" if len(usable) else "none"
    raise InputError(
        f"{source or images.root}: at least two classes are needed to train, and {found} was "
        "found. Put the images of each class into a sub-folder of its own, or give them a label of "
        "their own in the manifest."
    )
