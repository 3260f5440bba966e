"""Images sorted into folders by their best label, as links or copies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.images import ImageFiles
from myriad.images.video import split_frame
from myriad.pipelines.outputs import check_writable, list_entries

UNKNOWN = "unknown"
"""The folder of images that no label is given to."""


def check_sorting(folder: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless images may be sorted into a folder: a new or an empty one."""
    check_writable(folder)
    if list_entries(folder) and not overwrite:
        raise InputError(
            f"--sort-into {folder} is not empty. Use --overwrite to add to it; files that are "
            "there stay."
        )


def sort_images(
    predictions: Sequence[dict[str, Any]], folder: Path, *, copy: bool = False
) -> dict[str, int]:
    """Link each image into a folder of its best label; return how many each label has.

    Frames of videos are written as PNG. A name that is taken by another image gets a number.

    Parameters
    ----------
    copy : whether images are copied rather than linked.
    """
    counts: dict[str, int] = {}
    for prediction in predictions:
        source = Path(prediction["path"])
        label = UNKNOWN if prediction.get("unknown") else prediction["labels"][0]["label"]
        target = folder / name_folder(label)
        target.mkdir(parents=True, exist_ok=True)
        frame = split_frame(str(source))
        if frame is not None:
            content = ImageFiles(Path(), [str(source)]).read(0)
            with atomic_write(_find_name(target, f"{source.name}.png", None)) as beside:
                beside.write_bytes(content)
        else:
            path = _find_name(target, source.name, source)
            if path is not None and copy:
                with atomic_write(path) as beside:
                    shutil.copy2(source, beside)
            elif path is not None:
                path.symlink_to(os.path.abspath(source))
        counts[label] = counts.get(label, 0) + 1
    return counts


def name_folder(label: str) -> str:
    """Return the name of the folder of a label, which must not lead anywhere else."""
    plain = label.replace("/", "_").replace("\\", "_").replace("\0", "_").strip()
    return f"_{plain}" if plain in ("", ".", "..") else plain[:200]


def _find_name(folder: Path, name: str, source: Path | None) -> Any:
    """Return a path in a folder that no other file has; None if the image is already there."""
    stem, suffix = os.path.splitext(name)
    number = 1
    path = folder / name
    while os.path.lexists(path):
        if source is not None and os.path.exists(path) and _is_same(path, source):
            return None
        number += 1
        path = folder / f"{stem}-{number}{suffix}"
    return path


def _is_same(first: Path, second: Path) -> bool:
    """Return whether two files are one, or have the same content."""
    if os.path.samefile(first, second):
        return True
    return first.stat().st_size == second.stat().st_size and (
        first.read_bytes() == second.read_bytes()
    )
