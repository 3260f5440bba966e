"""WebDataset: tar files in which an image and its label have the same key.

The members ``000001.jpg`` and ``000001.cls`` belong together. A label is the text of a ``.cls`` or
``.txt`` member, or a field of a ``.json`` member.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from myriad.errors import InputError
from myriad.images.archive import Archive
from myriad.images.listing import is_image_name
from myriad.images.reading import BadImage

LABEL_SUFFIXES = ("cls", "txt", "json")
JSON_FIELDS = ("label", "cls", "class", "class_name", "category", "target")
"""Fields of a .json member, the first of which that is there is the label."""
MAX_LABEL_BYTES = 1 << 20


def split_key(name: str) -> tuple[str, str]:
    """Return the key of a member and its suffix: all behind the first dot of its file name."""
    folder, slash, file = name.rpartition("/")
    stem, _, suffix = file.partition(".")
    return folder + slash + stem, suffix.lower()


def find_label_files(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the members that may have the label of each image, by the name of the image."""
    labels: dict[str, list[str]] = defaultdict(list)
    images: dict[str, str] = {}
    for name in names:
        key, suffix = split_key(name)
        if suffix.rpartition(".")[2] in LABEL_SUFFIXES:
            labels[key].append(name)
        elif is_image_name(name):
            images[name] = key
    return {name: labels[key] for name, key in images.items() if key in labels}


def is_webdataset(names: Iterable[str], images: Sequence[str]) -> bool:
    """Return whether the labels of an archive are members rather than names of folders.

    They are if most images have a member with their label, or some if all images are in one folder.
    """
    n_labelled = len(find_label_files(names))
    one_folder = len({name.rpartition("/")[0] for name in images}) == 1
    return n_labelled > 0 and (one_folder or 2 * n_labelled > len(images))


def read_labels(archive: Archive, paths: list[str]) -> list[str | None]:
    """Return the label of each image, None where it has none.

    Raises `InputError` for an image with two labels, or if no image has one.
    """
    files = find_label_files(archive.sizes)
    duplicates = [name for name in archive.duplicates if split_key(name)[1] in LABEL_SUFFIXES]
    if duplicates:
        raise InputError(
            f"{archive.path} has two members called {duplicates[0]!r}: a key must have one label."
        )
    labels = [_read_label(archive, path, files.get(path, [])) for path in paths]
    if not any(label is not None for label in labels):
        raise InputError(
            f"{archive.path} has no labels: an image KEY.jpg needs a member KEY.cls, KEY.txt or "
            f"KEY.json with a field such as {JSON_FIELDS[0]}."
        )
    return labels


def _read_label(archive: Archive, path: str, files: list[str]) -> str | None:
    """Return the one label of an image from its label files; None if they have none."""
    found: dict[str, str] = {}
    for name in sorted(files):
        label = _parse(archive, name)
        if label is not None:
            found[name] = label
    if len(set(found.values())) > 1:
        first, second = list(found.items())[:2]
        raise InputError(
            f"{archive.path} has two labels for {path!r}: {first[1]!r} in {first[0]!r} and "
            f"{second[1]!r} in {second[0]!r}. Keep one of them."
        )
    return next(iter(found.values()), None)


def _parse(archive: Archive, name: str) -> str | None:
    """Return the label in a member; None for a .json without one."""
    if archive.sizes[name] > MAX_LABEL_BYTES:
        raise InputError(f"{archive.path}: {name!r} is too large for a label.")
    try:
        text = archive.read(name).decode("utf-8-sig").strip()
        content = json.loads(text) if name.lower().endswith(".json") else text
    except (BadImage, ValueError, RecursionError):
        raise InputError(f"{archive.path}: the label in {name!r} cannot be read.") from None
    if isinstance(content, dict):
        content = next((content[field] for field in JSON_FIELDS if field in content), None)
    if isinstance(content, list | dict | bool) or content is None:
        return None
    label = str(content).strip()
    if not label or "\n" in label:
        raise InputError(f"{archive.path}: the label in {name!r} must be one line of text.")
    return label
