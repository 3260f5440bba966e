"""The images in a folder and its sub-folders, with labels and splits by the names of folders."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from myriad.errors import InputError
from myriad.files import is_valid_unicode, is_virtual
from myriad.images.archive import Archive
from myriad.images.listing import (
    FORMATS,
    SPLITS,
    VIDEO_SUFFIXES,
    ImageList,
    is_image_name,
    is_video_name,
)


@dataclass
class FolderScan:
    """The result of scanning a folder; paths are sorted, relative, with "/" between folders.

    `ignored` counts the other files by suffix; `warnings` are sentences for the user.
    """

    paths: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


def list_folder(root: Path, scan: FolderScan, *, labelled: bool = True) -> ImageList:
    """List the images of a folder with a sub-folder per class, or with such folders per split.

    Without `labelled`, images need no sub-folders; without these, they have no labels.
    """
    ignored, warnings = scan.ignored.total(), scan.warnings
    if not labelled and not any("/" in path for path in scan.paths):
        return list_unlabelled(root, scan.paths, ignored=ignored, warnings=warnings)
    return label_by_folders(root, scan.paths, ignored=ignored, warnings=warnings)


def list_unlabelled(
    root: Path, paths: list[str], *, ignored: int = 0, warnings: Sequence[str] = ()
) -> ImageList:
    """Return images without labels, all of which are in the split train."""
    note = "There are no sub-folders: images have no labels."
    return ImageList(
        root=root,
        paths=paths,
        labels=np.full(len(paths), -1, np.int32),
        class_names=[],
        splits=np.full(len(paths), "train", "<U5"),
        ignored=ignored,
        warnings=[*warnings, note],
    )


def scan_folder(root: Path, *, videos: bool = False) -> FolderScan:
    """Find all images below `root`, in sorted order; `InputError` if there are none.

    With `videos`, video files are found too.

    Hidden files and folders are ignored. Links are followed after everything else, and each real
    folder is entered once: so loops end, and an image that can be reached in two ways belongs to
    the folder that contains it.
    """
    scan = FolderScan()
    folders: list[str] = []
    entered: set[tuple[int, int]] = set()
    waiting, links = [""], deque[str]()
    while waiting or links:
        folder = waiting.pop() if waiting else links.popleft()
        try:
            status = os.stat(root / folder)
            if is_virtual(status) and not folder:
                raise InputError(f"{root} is not a folder on a disk, but a virtual file system.")
            key = (status.st_dev, status.st_ino)
            if key in entered or is_virtual(status):
                continue
            entered.add(key)
            inner, linked = _scan_one(root, folder, scan, videos=videos)
            folders.append(folder)
        except OSError as error:
            if not folder:
                raise InputError(f"{root} cannot be read: {error.strerror}.") from None
            scan.warnings.append(f"The folder {folder!r} cannot be read: {error.strerror}.")
            continue
        waiting.extend(inner)
        links.extend(linked)
    if not scan.paths:
        raise InputError(f"{root} holds no images{_describe(scan.ignored)}.")
    scan.paths.sort()
    scan.warnings += _warn_of_empty(folders, scan.paths)
    return scan


def _warn_of_empty(folders: list[str], paths: list[str]) -> list[str]:
    """Return a warning if folders where those of classes are hold no images."""
    holders = {tuple(path.split("/")[:-1][:2]) for path in paths}
    filled = {"/".join(parts[:depth]) for parts in holders for depth in (1, 2)}
    classes = (
        folder
        for folder in folders
        if "/" not in folder or (folder.count("/") == 1 and folder.split("/")[0].lower() in SPLITS)
    )
    empty = sorted(set(classes) - filled - {""})
    if not empty:
        return []
    return [f"Folders without images were left out: {len(empty)}, the first is {empty[0]!r}."]


def _scan_one(
    root: Path, folder: str, scan: FolderScan, *, videos: bool
) -> tuple[list[str], list[str]]:
    """Add the files of a folder to `scan`; return its sub-folders and links to folders, sorted."""
    inner: list[str] = []
    linked: list[str] = []
    prefix = f"{folder}/" if folder else ""
    undecodable = 0
    with os.scandir(root / folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                scan.ignored["hidden"] += 1
            elif not is_valid_unicode(name):
                undecodable += 1
            elif _is_folder(entry):
                (linked if entry.is_symlink() else inner).append(prefix + name)
            elif (is_image_name(name) or (videos and is_video_name(name))) and (
                entry.is_symlink() or entry.is_file()
            ):
                scan.paths.append(prefix + name)  # a dangling link becomes a bad image when read
            else:
                scan.ignored[os.path.splitext(name)[1].lower() or "no suffix"] += 1
    if undecodable:
        scan.ignored["bad name"] += undecodable
        scan.warnings.append(
            f"Names in the folder {folder or '.'!r} that are not valid Unicode were left out: "
            f"{undecodable}. Rename them."
        )
    return sorted(inner, reverse=True), sorted(linked)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links that lead in a circle
        return False


def _describe(ignored: Counter[str]) -> str:
    if not ignored:
        return ""
    kinds = ", ".join(f"{count} {kind}" for kind, count in ignored.most_common(3))
    hint = (
        ". With --every SECONDS, train, extract and predict read frames of videos"
        if set(ignored) & VIDEO_SUFFIXES
        else ""
    )
    return f" ({FORMATS}), only other files: {kinds}{hint}"


_HOW = "Put the images of each class into a sub-folder of its own, such as"


def label_by_folders(
    root: Path,
    paths: list[str],
    *,
    level: int = 0,
    archive: Archive | None = None,
    ignored: int = 0,
    warnings: list[str] | None = None,
) -> ImageList:
    """Label images by the folder that contains them, `level` folders below `root`.

    Paths are ``class/.../image`` or ``split/class/.../image``, where a split is train, val (also
    valid, validation) or test. Folders of these names are splits only if they have class folders
    and there are at least two of them or no other folders: a single "train" among other folders is
    a class of vehicles.

    Parameters
    ----------
    paths : relative to `root`, "/" between folders.
    level : how many outer folders to ignore.
    """
    path_parts = [split_path(path)[level:] for path in paths]
    outer = {parts[0] for parts in path_parts if len(parts) >= 2}
    if not outer:
        raise InputError(f"{root} holds images but no sub-folders. {_HOW} {root.name}/cat/1.jpg.")
    named = {name for name in outer if name.lower() in SPLITS}
    split_folders = {parts[0] for parts in path_parts if len(parts) >= 3 and parts[0] in named}
    has_splits = bool(split_folders) and (named == outer or len(split_folders) >= 2)

    depth = 1 if has_splits else 0
    kept = [i for i, parts in enumerate(path_parts) if len(parts) >= depth + 2]
    if has_splits:
        kept = [i for i in kept if path_parts[i][0] in split_folders]
    names = [path_parts[i][depth] for i in kept]
    splits = [SPLITS[path_parts[i][0].lower()] if has_splits else "" for i in kept]
    class_names = sorted(set(names))
    label_of = {name: label for label, name in enumerate(class_names)}
    return ImageList(
        root=root,
        paths=[paths[i] for i in kept],
        labels=np.array([label_of[name] for name in names], dtype=np.int32),
        class_names=class_names,
        splits=np.array(splits, dtype="<U5"),
        archive=archive,
        ignored=ignored,
        warnings=[*(warnings or []), *_warn_of_unlabelled(paths, kept)],
    )


def _warn_of_unlabelled(paths: list[str], kept: list[int]) -> list[str]:
    n_strays = len(paths) - len(kept)
    if not n_strays:
        return []
    inside = set(kept)
    first = next(path for i, path in enumerate(paths) if i not in inside)
    return [f"Images outside the class folders were left out: {n_strays}, the first is {first!r}."]


def split_path(path: str) -> list[str]:
    """Return the folders and the name of a path, without the "./" that some archives have."""
    return [part for part in path.split("/") if part not in (".", "")]
