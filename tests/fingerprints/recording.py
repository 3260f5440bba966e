"""What a case is, and how its results are hashed."""

from __future__ import annotations

import hashlib
import json
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from myriad import InputError

UNSTABLE = re.compile(
    r"(^|_)(seconds?|version|date|created|modified|machine|commit)(_|$)|^(checksum|plan|files)$"
)
"""Keys of JSON objects whose values change from run to run, or repeat another file's hash."""


@dataclass(frozen=True)
class Case:
    """Something to compute.

    Attributes
    ----------
    name : key of the results, with a suffix for each.
    run : called with the number of threads and a folder to write in; returns the results by suffix.
    """

    name: str
    run: Callable[[int, Path], Mapping[str, Any]]

    def fingerprint(self, threads: int, folder: Path) -> dict[str, str]:
        """Run the case and return the hash of each result."""
        try:
            results = self.run(threads, folder)
        except InputError:
            return {self.name: "refused"}
        except Exception as error:  # the other cases still say something
            traceback.print_exc()
            return {self.name: f"failed: {type(error).__name__}"}
        return {f"{self.name} {part}": to_hash(found) for part, found in results.items()}


def to_hash(value: Any) -> str:
    """Return the SHA-256 of arrays, bytes, or what JSON can write, in any nesting."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if sparse.issparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray) and value.dtype != object:
        array = np.ascontiguousarray(value)
        digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
    elif isinstance(value, bytes):
        digest.update(b"bytes" + hashlib.sha256(value).digest())
    elif isinstance(value, Mapping):
        for key in sorted(value):
            digest.update(f"key {key}".encode())
            _feed(digest, value[key])
    elif isinstance(value, list | tuple | np.ndarray):
        digest.update(f"list {len(value)}".encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(json.dumps(value, default=_plain).encode())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def stable(value: Any, folder: Path) -> Any:
    """Return JSON data without times and versions, and with paths inside `folder` made relative."""
    if isinstance(value, dict):
        return {key: stable(v, folder) for key, v in value.items() if not UNSTABLE.search(key)}
    if isinstance(value, list):
        return [stable(item, folder) for item in value]
    if isinstance(value, str):  # a folder of each number of threads is inside
        return re.sub(re.escape(str(folder)) + r"(/\d+\b)?", "", value)
    return value


def read_bytes(path: Path, folder: Path) -> bytes:
    """Return the bytes of a file without paths and plans, which name times of the sources."""
    content = path.read_bytes().replace(str(folder).encode(), b"")
    return re.sub(rb'"plan": "[^"]*"', b"", content)


def read_store(path: Path, folder: Path) -> dict[str, Any]:
    """Return the results of a case that wrote a store."""
    description = json.loads((path / "store.json").read_text())
    for name in ("index", "shards", "arrays"):  # checksums of files that are hashed themselves
        description.pop(name, None)
    found: dict[str, Any] = {"store.json": stable(description, folder)}
    for pattern in ("shard-*", "recipe*", "index*"):
        found[pattern.rstrip("-*")] = {
            file.name: read_bytes(file, folder) for file in sorted(path.glob(pattern))
        }
    return found


def read_model(path: Path, folder: Path) -> dict[str, Any]:
    """Return the results of a case that wrote a model."""
    config = json.loads((path / "config.json").read_text())
    config.pop("trained_from", None)  # a checksum of rows whose paths have the folder in them
    config = stable(config, folder)
    return {"model": (path / "model.safetensors").read_bytes(), "config": config}
