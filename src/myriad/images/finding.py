"""Find the images of a folder, manifest, archive or list."""

from __future__ import annotations

import os
from pathlib import Path

from myriad.errors import InputError
from myriad.files import is_valid_unicode, refuse_special
from myriad.images.archive import ARCHIVES, COMPRESSED_TARS, is_hidden, open_archive
from myriad.images.folder import (
    label_by_folders,
    list_folder,
    scan_folder,
    split_path,
)
from myriad.images.listing import (
    FORMATS,
    SPLITS,
    ImageList,
    is_image_name,
    is_video_name,
    refuse_urls,
)
from myriad.images.manifest import ONE_LABEL, SeveralLabels, list_manifest
from myriad.images.reading import BadImage
from myriad.images.shards import find_shards, list_shards
from myriad.images.video import (
    check_every,
    expand_videos,
    list_frames,
    name_frame,
    name_frames,
)
from myriad.images.webdataset import is_webdataset
from myriad.urls import UrlPath, as_path


def find_images(
    source: Path,
    *,
    every: float | None = None,
    several: SeveralLabels = ONE_LABEL,
    labelled: bool = True,
) -> ImageList:
    """List the labelled images of a folder, a CSV manifest or an archive.

    A folder (or a .zip or .tar laid out like one) has a sub-folder per class, or ``train/ val/
    test/`` with those sub-folders; a manifest has the columns ``path,label`` and optionally
    ``split,group``. Shards of WebDataset (.tar) and .parquet files with images are read alone or
    from a folder of them.

    Parameters
    ----------
    every : seconds between the frames of video files, in folders and manifests; None to ignore
        videos.
    several : how a manifest states several labels of an image; by default each has one.
    labelled : whether labels are needed; if not, a folder may have images but no sub-folders.
    """
    check_every(every)
    if several and Path(source).suffix.lower() != ".csv":
        raise InputError(
            f"--multi-label and --label-separator are for CSV manifests, which {source} is not."
        )
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
        try:
            scan = scan_folder(source, videos=every is not None)
        except InputError:
            if find_shards(source):
                return list_shards(source)
            raise
        images = list_folder(source, scan, labelled=labelled)
        return images if every is None else expand_videos(images, every)
    if name.endswith(".parquet"):
        return list_shards(source)
    if name.endswith(".csv"):
        images = list_manifest(source, several)
        return images if every is None else expand_videos(images, every)
    if name.endswith((".zip", ".tar", *COMPRESSED_TARS)):
        return list_archive(source)
    raise InputError(
        f"{source} is not a folder of images, a CSV manifest (.csv), an archive (.zip, .tar) or a "
        "Parquet file with images (.parquet)."
        + (" A list needs labels: write it as a manifest." if name.endswith(".txt") else "")
    )


def list_archive(path: Path) -> ImageList:
    """List the images of an archive; an outer folder around all others is ignored."""
    archive = open_archive(path)
    readable = [name for name in archive.sizes if is_valid_unicode(name)]
    visible = [name for name in readable if not is_hidden(name)]
    paths = sorted(name for name in visible if is_image_name(name))
    if not paths:
        raise InputError(f"{path} holds no images ({FORMATS}).")
    if is_webdataset(visible, paths):
        return list_shards(path)
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


def _count_wrappers(paths: list[str]) -> int:
    """Return how many nested outer folders contain everything else."""
    path_parts = [split_path(path) for path in paths]
    level = 0
    while any(len(parts) >= level + 3 for parts in path_parts):
        outer = {parts[level].lower() for parts in path_parts if len(parts) >= level + 2}
        if len(outer) > 1 or outer <= SPLITS.keys():
            break
        level += 1
    return level


def list_inputs(arguments: list[str], *, every: float | None = None) -> list[Path]:
    """List the files to predict: images, folders with their sub-folders, lists of paths (.txt).

    An argument that does not exist is an error. A path in a list that does not exist becomes a bad
    image when it is read, but it is an error if none of the paths exists.

    Parameters
    ----------
    every : seconds between the frames of video files, which are listed by `name_frame`; None to
        ignore the videos of folders.
    """
    check_every(every)
    refuse_urls(arguments, "The command line")
    inputs: list[Path] = []
    for argument in arguments:
        path = Path(argument)
        if os.path.isdir(path):
            names = scan_folder(path, videos=every is not None).paths
            inputs.extend(_expand([path / name for name in names], every))
        elif path.suffix.lower() == ".txt" and os.path.isfile(path):
            inputs.extend(_expand(_read_list(path), every))
        elif is_video_name(argument) and os.path.isfile(path):
            inputs.extend(_list_video(path, every))
        elif not os.path.lexists(path):
            raise InputError(f"{argument} does not exist.")
        elif argument.lower().endswith((*ARCHIVES, *COMPRESSED_TARS, ".csv")):
            raise InputError(
                f"{argument} is neither an image, a folder nor a list of paths (.txt): unpack an "
                "archive to a folder, and write the paths of a manifest to a list."
            )
        else:
            inputs.append(path)
    return inputs


def _expand(paths: list[Path], every: float | None) -> list[Path]:
    """Return paths with the frames of videos in their places."""
    if every is None:
        return paths
    found: list[Path] = []
    for path in paths:
        frames = is_video_name(path.name) and name_frames(str(path), path, every)
        found += [Path(name) for name in frames] if frames else [path]
    return found


def _list_video(path: Path, every: float | None) -> list[Path]:
    """Return the frames of a video that was named; `InputError` if it cannot be opened."""
    if every is None:
        raise InputError(
            f"{path} is a video: say with --every how many seconds there are from one frame to the "
            "next."
        )
    try:
        return [Path(name_frame(str(path), seconds)) for seconds in list_frames(path, every)]
    except BadImage as error:
        raise InputError(f"{path} is {error.reason}.") from None


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
    refuse_urls(names, str(path))
    if not names:
        raise InputError(f"{path} lists no images: it must have a path per line.")
    files = [_resolve(path.parent, name) for name in names]
    if not any(os.path.exists(file) for file in files):
        raise InputError(
            f"{path}: none of its {len(names)} files exists, {names[0]!r} first. Paths are "
            "relative to the folder of the list or to the current folder."
        )
    return files


def _resolve(folder: Path, name: str) -> Path:
    beside = folder / name
    return Path(name) if not os.path.exists(beside) and os.path.exists(name) else beside
