"""Checkpoints: the training state in one file, replaced atomically, from which a run resumes.

`TrainingState` is the content of the file, in one format for all methods.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from myriad.errors import InputError
from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.parallel import ThreadPool
from myriad.training.trainer import EpochTrainer

if TYPE_CHECKING:
    from myriad.training.stopping import Monitor

FORMAT = 2
"""Part of every key: checkpoints of another format are ignored like those of another training."""


class Checkpoint:
    """The file of a training state; see `TrainingState` for its content.

    Parameters
    ----------
    path : the file; it need not exist.
    key : data, settings and versions as plain JSON; a checkpoint with another key is ignored.
    every : minimum number of seconds between two writes.
    """

    def __init__(self, path: Path, key: dict[str, Any], *, every: float = 30.0) -> None:
        self.path = path
        self.key = json.dumps({"format": FORMAT, **key}, sort_keys=True, default=str)
        self.every = every
        self._written = time.monotonic()

    def load(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """Return the saved state and arrays, or None if there are none for this key.

        Raises `InputError` for a damaged file.
        """
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="np") as opened:
                texts = opened.metadata() or {}
            state = json.loads(texts["state"])
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise InputError(
                f"{self.path} is damaged ({error}): delete it to start training again."
            ) from None
        if texts.get("key") != self.key:
            return None
        return state, read_arrays(self.path)

    def beside(self, name: str) -> Checkpoint:
        """Return the checkpoint of another phase of the same training, in a separate file."""
        other = copy(self)
        other.path = self.path.with_name(f"{self.path.stem}-{name}{self.path.suffix}")
        return other

    @property
    def is_due(self) -> bool:
        """Whether the last write is at least `every` seconds ago."""
        return time.monotonic() - self._written >= self.every

    def save(self, state: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the file atomically."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        texts = {"key": self.key, "state": json.dumps(state)}
        plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with atomic_write(self.path) as partial_path:
            write_arrays(partial_path, plain, texts)
        self._written = time.monotonic()


Arrays = dict[str, NDArray[Any]]
_FACTS, _TRAINER, _MONITOR = "facts.", "trainer.", "monitor."
"""Prefixes of the names of arrays in a checkpoint."""


class TrainingState:
    """The state of a training run, read from and written to its checkpoint.

    Parameters
    ----------
    checkpoint : the file; None to write none.

    Attributes
    ----------
    facts : state outside the loop, as plain JSON: the setting that a search has found, the
        settings it tried, and so on. Empty at the start of training.
    arrays : arrays that belong to the facts.
    seconds : time spent on the epochs before an interruption.
    """

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self._checkpoint = checkpoint
        kept = checkpoint.load() if checkpoint is not None else None
        state, arrays = kept or ({}, {})
        self.facts: dict[str, Any] = state.get("facts", {})
        self.arrays: Arrays = _below(arrays, _FACTS)
        self.seconds: float = state.get("seconds", 0.0)
        self._loop: dict[str, Any] | None = state.get("loop")
        self._loop_arrays = _below(arrays, _TRAINER), _below(arrays, _MONITOR)

    @property
    def is_running(self) -> bool:
        """Whether the checkpoint was written by a loop that `resume` can continue."""
        return self._loop is not None

    def resume(self, trainer: EpochTrainer, monitor: Monitor, *, pool: ThreadPool) -> None:
        """Restore a trainer and its monitor from the saved state, if there is any."""
        if self._loop is None:
            return
        (arrays, monitored), self._loop_arrays = self._loop_arrays, ({}, {})
        trainer.epoch = self._loop["epoch"]
        trainer.restore(arrays)
        monitor.restore(self._loop["monitor"], monitored, trainer, pool=pool)
        self._loop = None

    def save(
        self,
        trainer: EpochTrainer | None = None,
        monitor: Monitor | None = None,
        *,
        seconds: float = 0.0,
    ) -> None:
        """Write the facts and, where a loop is running, its trainer and monitor."""
        self.seconds = seconds
        if self._checkpoint is None:
            return
        arrays = _prefixed(self.arrays, _FACTS)
        loop = None
        if trainer is not None and monitor is not None:
            monitored, kept = monitor.state()
            loop = {"epoch": trainer.epoch, "monitor": monitored}
            arrays |= _prefixed(trainer.state(), _TRAINER) | _prefixed(kept, _MONITOR)
        self._checkpoint.save({"facts": self.facts, "seconds": seconds, "loop": loop}, arrays)

    def save_if_due(self, trainer: EpochTrainer, monitor: Monitor, *, seconds: float) -> None:
        """Write the state if a checkpoint is due."""
        if self._checkpoint is not None and self._checkpoint.is_due:
            self.save(trainer, monitor, seconds=seconds)


def _prefixed(arrays: Arrays, prefix: str) -> Arrays:
    return {prefix + name: array for name, array in arrays.items()}


def _below(arrays: Arrays, prefix: str) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
