"""Images whose label a user has corrected, kept in a folder that ``train`` takes.

The folder has the images, named by a hash of their content, and ``manifest.csv`` with the columns
path and label. Nothing that a client sends becomes part of a path.
"""

from __future__ import annotations

import csv
import hashlib
import threading
from pathlib import Path

from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.images.reading import recognise_format
from myriad.serving.refusal import Refusal

MANIFEST = "manifest.csv"
ENDINGS = {"JPEG": "jpg", "TIFF": "tif"}
"""Endings of files that are not the name of their format in small letters."""


class Feedback:
    """A folder of images with their labels.

    Parameters
    ----------
    folder : made if it does not exist; `InputError` if it holds anything but earlier feedback.
    limit : images that it takes.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self._lock = threading.Lock()
        self._labels = read_labels(folder)
        try:
            (folder / "images").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"--feedback {folder} cannot be made: {error.strerror or error}."
            ) from None

    def __len__(self) -> int:
        return len(self._labels)

    def keep(self, content: bytes, label: str) -> None:
        """Keep an image with its label; an image that is kept already gets the new label.

        Raises `Refusal` (507) if the folder is full.
        """
        digest = hashlib.sha256(content).hexdigest()[:32]
        form = recognise_format(content)
        name = f"images/{digest}.{ENDINGS.get(form, form.lower())}"
        with self._lock:
            if name not in self._labels and len(self._labels) >= self.limit:
                raise Refusal(507, f"The feedback folder has its {self.limit} images.")
            with atomic_write(self.folder / name) as beside:
                beside.write_bytes(content)
            labels = self._labels | {name: label}
            write_labels(self.folder, labels)
            self._labels = labels


def read_labels(folder: Path) -> dict[str, str]:
    """Return the label of each image of an earlier run; `InputError` if the folder is another."""
    path = folder / MANIFEST
    if not folder.exists():
        return {}
    if not path.is_file():
        if folder.is_dir() and {entry.name for entry in folder.iterdir()} <= {"images"}:
            return {}  # of a server to which nobody has sent any
        raise InputError(f"--feedback {folder} is not a folder of feedback: name a new one.")
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return {row["path"]: row["label"] for row in csv.DictReader(stream, strict=True)}
    except (OSError, ValueError, KeyError, csv.Error):
        raise InputError(f"{path} is damaged: it needs the columns path and label.") from None


def write_labels(folder: Path, labels: dict[str, str]) -> None:
    """Write the manifest."""
    with (
        atomic_write(folder / MANIFEST) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(["path", "label"])
        writer.writerows(sorted(labels.items()))
