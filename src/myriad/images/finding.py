"""Find the images of a folder, manifest, archive or list."""

from __future__ import annotations

import os
from pathlib import Path

from myriad.errors import InputError
from myriad.files import refuse_special
from myriad.images.archive import COMPRESSED_TARS, open_archive
from myriad.images.folder import is_text, label_by_folders, list_folder, scan_folder, split_path
from myriad.images.listing import SPLITS, ImageList, is_image_name
from myriad.images.manifest import list_manifest
from myriad.urls import UrlPath, as_path


def find_images(source: Path) -> ImageList:
    """List the labelled images of a folder, a CSV manifest or an archive.

    A folder (or a .zip or .tar laid out like one) has a sub-folder per class, or ``train/ val/
    test/`` with those sub-folders; a manifest has the columns ``path,label`` and optionally
    ``split,group``.
    """
    if isinstance(as_path(source), UrlPath):
        raise InputError(
            f"{as_path(source)} is a URL, but images are read from a disk: copy them to a folder "
            "that all machines share, or give the URL of a store."
        )
    source = Path(source)
    name = source.name.lower()
    if not os.path.exists(source):
        raise InputError(f"{source} does not exist.")
    if os.path.isdir(source):
        return list_folder(source)
    if name.endswith(".csv"):
        return list_manifest(source)
    if name.endswith((".zip", ".tar", *COMPRESSED_TARS)):
        return list_archive(source)
    raise InputError(
        f"{source} is not a folder of images, a CSV manifest (.csv) or an archive (.zip, .tar)."
    )


def list_archive(path: Path) -> ImageList:
    """List the images of an archive; an outer folder around all others is ignored."""
    archive = open_archive(path)
    readable = [name for name in archive.sizes if is_text(name)]
    visible = [name for name in readable if not _is_hidden(name)]
    paths = sorted(name for name in visible if is_image_name(name))
    if not paths:
        raise InputError(f"{path} holds no images (JPEG, PNG, BMP, TIFF, WebP or GIF).")
    warnings = []
    if len(readable) < len(archive.sizes):
        warnings.append(
            f"{len(archive.sizes) - len(readable)} names in {path} are not valid Unicode and were "
            "left out: the archive is damaged, or its files have to be renamed."
        )
    return label_by_folders(
        path,
        paths,
        level=_count_wrappers(paths),
        archive=archive,
        ignored=len(archive.sizes) - len(paths),
        warnings=warnings,
    )


def _is_hidden(name: str) -> bool:
    """Return whether a member is hidden, or was added to the archive by macOS."""
    parts = name.split("/")
    return parts[0] == "__MACOSX" or any(part.startswith(".") and part != "." for part in parts)


def _count_wrappers(paths: list[str]) -> int:
    """Return how many nested outer folders contain everything else."""
    trails = [split_path(path) for path in paths]
    level = 0
    while any(len(trail) >= level + 3 for trail in trails):
        outer = {trail[level].lower() for trail in trails if len(trail) >= level + 2}
        if len(outer) > 1 or outer <= SPLITS.keys():
            break
        level += 1
    return level


def list_inputs(arguments: list[str]) -> list[Path]:
    """List the files to predict: images, folders with their sub-folders, lists of paths (.txt).

    An argument that does not exist is an error. A path in a list that does not exist becomes a bad
    image when it is read, but it is an error if none of the paths exists.
    """
    inputs: list[Path] = []
    for argument in arguments:
        path = Path(argument)
        if os.path.isdir(path):
            inputs.extend(path / name for name in scan_folder(path).paths)
        elif path.suffix.lower() == ".txt" and os.path.isfile(path):
            inputs.extend(_read_list(path))
        elif os.path.lexists(path):
            inputs.append(path)
        else:
            raise InputError(f"{argument} does not exist.")
    return inputs


def _read_list(path: Path) -> list[Path]:
    """Read one path per line, relative to the folder of the list or the current folder."""
    refuse_special(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a list: it must be UTF-8 text.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    names = [line.rstrip("\r") for line in lines if line.strip() and "\0" not in line]
    if not names:
        raise InputError(f"{path} lists no images: it must have a path per line.")
    found = [_resolve(path.parent, name) for name in names]
    if not any(os.path.exists(file) for file in found):
        raise InputError(
            f"{path}: none of its {len(names)} files exists, {names[0]!r} first. Paths are "
            "relative to the folder of the list or to the current folder."
        )
    return found


def _resolve(folder: Path, name: str) -> Path:
    beside = folder / name
    return Path(name) if not os.path.exists(beside) and os.path.exists(name) else beside
