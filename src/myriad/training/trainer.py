"""The interfaces of trainers that the training loop and the searches use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError, WorkError
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.settings import Setting

Weights = tuple[NDArray[Any], NDArray[Any]]
Arrays = Mapping[str, NDArray[Any]]


class EpochTrainer(Protocol):
    """The interface of a trainer that the loop needs.

    Attributes
    ----------
    epoch : number of epochs finished.
    """

    epoch: int

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, in the order given by the seed."""

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (n_settings, n_rows)."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint."""

    def restore(self, arrays: Arrays) -> None:
        """Restore the arrays that `state` returned."""


class Trainer(EpochTrainer, Protocol):
    """A trainer whose epochs are compared by validation accuracy.

    Attributes
    ----------
    n_classes : number of classes.
    """

    n_classes: int

    def weights(self, number: int = 0) -> Weights:
        """Return copies of the two arrays that one setting has learned."""

    def epoch_statistics(self) -> dict[str, float]:
        """Return further columns of the history for the last epoch."""


class SettingsTrainer(Trainer, Protocol):
    """A trainer of one or several settings side by side: a `LinearTrainer`, or class shards.

    Attributes
    ----------
    settings : the settings trained together.
    """

    settings: list[Setting]

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Start every setting from the given weights instead of zero."""


def pack_state(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays for a checkpoint: structured arrays as bytes, empty ones left out."""
    return {
        name: array.view(np.uint8) if array.dtype.names else array
        for name, array in arrays.items()
        if array.size
    }


def unpack_state(saved: Arrays, arrays: Arrays) -> None:
    """Copy what `pack_state` returned into the arrays of a trainer, which are changed in place."""
    for name, array in arrays.items():
        if array.size == 0:
            continue
        kept = saved.get(name)
        if kept is None or kept.nbytes != array.nbytes:
            raise InputError("The checkpoint does not fit this training: delete it.")
        array[...] = kept.view(array.dtype).reshape(array.shape)


def overflow(settings: Sequence[Setting], epoch: int, safe_rate: float = math.inf) -> WorkError:
    """Return the error for overflowed weights, which suggests a smaller learning rate."""
    rate = max(setting.eta for setting in settings)
    return WorkError(
        f"The weights overflowed in epoch {epoch} with eta={rate:g}. "
        f"Try a smaller learning rate, such as {min(rate / 10, safe_rate):.1g}."
    )
