"""A small training picture of each class, kept in the model folder beside the model.

Programs that show predictions, such as the page of the server, get a picture of each class without
reading training images, which may have been moved. A model without pictures is complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, ascends
from myriad.errors import InputError
from myriad.files import read_arrays

PICTURES = "pictures.safetensors"


@dataclass(frozen=True, eq=False)
class ClassPictures:
    """A JPEG file for each class; an empty one where there is no picture.

    Attributes
    ----------
    content : uint8 array of shape (n_bytes,), all files one after the other.
    ends : int64 array of shape (n_classes,), where each file ends.
    """

    content: Bytes
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, files: Sequence[bytes | None]) -> ClassPictures:
        """Return the pictures of classes, given the content of each file or None."""
        content = np.frombuffer(b"".join(file or b"" for file in files), np.uint8)
        sizes = [len(file or b"") for file in files]
        return cls(content, np.cumsum(sizes, dtype=np.int64))

    def to_arrays(self, class_names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the arrays of the file: the pictures, and a hash of the class names."""
        return {"content": self.content, "ends": self.ends, "classes": _hash_names(class_names)}

    def read(self, label: int) -> bytes | None:
        """Return the JPEG file of a class, or None if there is none."""
        start = int(self.ends[label - 1]) if label else 0
        return self.content[start : int(self.ends[label])].tobytes() or None


def load_pictures(folder: Path, class_names: Sequence[str]) -> ClassPictures | None:
    """Return the pictures of a model's classes; None if missing, damaged or of other classes."""
    try:
        arrays = read_arrays(folder / PICTURES)
        content, ends = arrays["content"], arrays["ends"]
        if not np.array_equal(arrays["classes"], _hash_names(class_names)):
            return None
    except (InputError, OSError, KeyError):
        return None
    whole = content.dtype == np.uint8 and content.ndim == 1
    fits = whole and ends.dtype == np.int64 and ends.shape == (len(class_names),)
    if not fits or not ascends(ends) or (ends[:1] < 0).any() or ends[-1:].sum() != len(content):
        return None
    return ClassPictures(content, ends)


def _hash_names(class_names: Sequence[str]) -> Bytes:
    digest = hashlib.sha256()
    for name in class_names:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
    return np.frombuffer(digest.digest(), np.uint8)
