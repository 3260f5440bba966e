"""Labels and splits (train, val, test) from the names of folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from myriad.errors import InputError
from myriad.images.archive import Archive
from myriad.images.listing import SPLITS, ImageList

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
    trails = [split_path(path)[level:] for path in paths]
    outer = {trail[0] for trail in trails if len(trail) >= 2}
    if not outer:
        raise InputError(f"{root} holds images but no sub-folders. {_HOW} {root.name}/cat/1.jpg.")
    named = {name for name in outer if name.lower() in SPLITS}
    split_folders = {trail[0] for trail in trails if len(trail) >= 3 and trail[0] in named}
    has_splits = bool(split_folders) and (named == outer or len(split_folders) >= 2)

    depth = 1 if has_splits else 0
    kept = [i for i, trail in enumerate(trails) if len(trail) >= depth + 2]
    if has_splits:
        kept = [i for i in kept if trails[i][0] in split_folders]
    names = [trails[i][depth] for i in kept]
    splits = [SPLITS[trails[i][0].lower()] if has_splits else "" for i in kept]
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
        warnings=[*(warnings or []), *_warn_of_strays(paths, kept)],
    )


def _warn_of_strays(paths: list[str], kept: list[int]) -> list[str]:
    n_strays = len(paths) - len(kept)
    if not n_strays:
        return []
    inside = set(kept)
    first = next(path for i, path in enumerate(paths) if i not in inside)
    return [f"Images outside the class folders were left out: {n_strays}, the first is {first!r}."]


def split_path(path: str) -> list[str]:
    """Return the folders and the name of a path, without the "./" that some archives have."""
    return [part for part in path.split("/") if part not in (".", "")]
