"""The state of a training as a checkpoint keeps it: one format for all methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from myriad.parallel import ThreadPool
from myriad.training.checkpoints import Checkpoint
from myriad.training.trainer import EpochTrainer

if TYPE_CHECKING:
    from myriad.training.stopping import Monitor

Arrays = dict[str, NDArray[Any]]
_FACTS, _TRAINER, _MONITOR = "facts.", "trainer.", "monitor."
"""What the names of arrays begin with in a checkpoint."""


class TrainingState:
    """What a training has come to, read from its checkpoint and written to it.

    Parameters
    ----------
    checkpoint : the file; None to keep nothing.

    Attributes
    ----------
    facts : what is known beside the loop, plain JSON: the setting that a search has found, the
        settings it tried, and so on. Empty in a training that begins.
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
        """Put a trainer and its monitor into the state kept, if there is any."""
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
        """Write the state if the last time is long enough ago."""
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
