"""Checkpoints: the state of a long training in one file, replaced whole, to go on from."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from myriad.errors import InputError
from myriad.files import atomic_write, read_arrays, write_arrays


class Checkpoint:
    """Where training keeps its state.

    Parameters
    ----------
    path : the file; it need not exist.
    key : what the training depends on, plain JSON; a state of another key is not gone on from.
    every : seconds from one writing to the next.
    """

    def __init__(self, path: Path, key: dict[str, Any], *, every: float = 30.0) -> None:
        self.path = path
        self.key = json.dumps(key, sort_keys=True, default=str)
        self.every = every
        self._written = time.monotonic()

    def load(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return the state and the arrays kept, or None if there are none for this key."""
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="np") as opened:
                texts = opened.metadata() or {}
            state = json.loads(texts["state"])
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise InputError(
                f"{self.path} is damaged ({error}): delete it, and training begins anew."
            ) from None
        if texts.get("key") != self.key:
            return None
        return state, read_arrays(self.path)

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.every

    def save(self, state: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace what is kept."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        texts = {"key": self.key, "state": json.dumps(state)}
        plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with atomic_write(self.path) as beside:
            write_arrays(beside, plain, texts)
        self._written = time.monotonic()

    def drop(self) -> None:
        """Forget what is kept."""
        self.path.unlink(missing_ok=True)
