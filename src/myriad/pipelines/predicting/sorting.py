"""Images sorted into folders by their best label, as links or copies."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.images import ImageFiles
from myriad.images.video import split_frame
from myriad.pipelines.outputs import check_writable, list_entries

UNKNOWN = "unknown"
"""The folder of images that no label is given to."""
NAME_BYTES = 200
"""Bytes of a label that the name of its folder has; file systems allow 255."""


def check_sorting(folder: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless images may be sorted into a folder: a new or an empty one."""
    check_writable(folder)
    if list_entries(folder) and not overwrite:
        raise InputError(
            f"--sort-into {folder} is not empty. Use --overwrite to add to it; files that are "
            "there stay."
        )


def sort_images(
    predictions: Sequence[dict[str, Any]],
    folder: Path,
    class_names: Sequence[str],
    *,
    copy: bool = False,
) -> dict[str, int]:
    """Link each image into a folder of its best label; return how many each label has.

    Frames of videos are written as PNG. A name that is taken by another image gets a number.

    Parameters
    ----------
    class_names : all labels of the model; the names of folders depend on them.
    copy : whether images are copied rather than linked.
    """
    rejects = any("unknown" in prediction for prediction in predictions)
    folders = name_folders(class_names, taken=[UNKNOWN] if rejects else [])
    counts: Counter[str] = Counter()
    done: set[Path] = set()
    for prediction in predictions:
        source = Path(prediction["path"])
        rejected = prediction.get("unknown")
        label = UNKNOWN if rejected else prediction["labels"][0]["label"]
        target = folder / (UNKNOWN if rejected else folders[label])
        target.mkdir(parents=True, exist_ok=True)
        counts[label] += 1
        is_frame = split_frame(str(source)) is not None
        name = f"{source.name}.png" if is_frame else source.name
        content = ImageFiles(Path(), [str(source)]).read(0) if is_frame else source
        path = _find_name(target, name, content, done)
        done.add(path)
        if os.path.lexists(path):
            continue
        if isinstance(content, Path) and not copy:
            path.symlink_to(os.path.abspath(source))
            continue
        with atomic_write(path) as beside:
            if isinstance(content, Path):
                shutil.copy2(content, beside)
            else:
                beside.write_bytes(content)
    return dict(counts)


def name_folders(labels: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return the name of the folder of each label; no two are the same on any file system.

    Slashes become ``_``, so that a folder is inside the one that images are sorted into. A name
    that another label has, or that is in `taken`, gets a number.
    """
    seen = {_fold(name) for name in taken}
    folders: dict[str, str] = {}
    for label in labels:
        plain = re.sub(r"[/\\\0]", "_", label).strip()
        if not plain or plain.startswith("."):  # neither hidden nor the folder above
            plain = f"_{plain}"
        plain = plain[:NAME_BYTES]
        while len(plain.encode("utf-8", "surrogateescape")) > NAME_BYTES:
            plain = plain[:-1]
        name, number = plain, 1
        while _fold(name) in seen:
            number += 1
            name = f"{plain}-{number}"
        seen.add(_fold(name))
        folders[label] = name
    return folders


def _fold(name: str) -> str:
    """Return a name as file systems compare it that know neither case nor Unicode forms."""
    return unicodedata.normalize("NFC", name).casefold()


def _find_name(folder: Path, name: str, source: Path | bytes, done: Container[Path]) -> Path:
    """Return the path of an image in a folder: where an earlier run put it, or one that is free.

    Parameters
    ----------
    done : paths of other images, which may have the same content.
    """
    stem, suffix = os.path.splitext(name)
    number = 1
    path = folder / name
    while os.path.lexists(path):
        if path not in done and os.path.exists(path) and _is_same(path, source):
            break
        number += 1
        path = folder / f"{stem}-{number}{suffix}"
    return path


def _is_same(path: Path, source: Path | bytes) -> bool:
    """Return whether a file is another one, or has the same content."""
    if isinstance(source, bytes):
        return path.read_bytes() == source
    if os.path.samefile(path, source):
        return True
    return path.stat().st_size == source.stat().st_size and (
        path.read_bytes() == source.read_bytes()
    )
