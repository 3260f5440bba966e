"""What all trainers are: stored weights of one or several settings, passed over the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError, WorkError
from myriad.parallel import Team
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.settings import Setting

BLOCK = 128
"""Rows whose scores come from one product: more would cost more in Gram matrices (measured)."""


class Trainer(ABC):
    """The base of all trainers.

    Attributes
    ----------
    settings : what is trained together; class c under setting s is row ``s * n_classes + c`` of V.
    V : float array of shape (n_settings * n_classes, n_features), stored weights; the weights are
        these times a scale.
    epoch : passes made.
    """

    settings: list[Setting]
    n_classes: int
    V: NDArray[Any]
    epoch: int = 0
    _changing: tuple[str, ...] = ("V",)

    @abstractmethod
    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""

    @abstractmethod
    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""

    @abstractmethod
    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""

    @abstractmethod
    def _pass(self, rows: Rows, *, seed: int, team: Team, advance: Advance) -> None:
        """Pass once over the rows."""

    def run_epoch(self, rows: Rows, *, seed: int, team: Team, advance: Advance) -> None:
        """Pass once more over the rows, in the order that the seed gives this epoch.

        Weights that overflow are an error, unless other settings trained with them are sound.
        """
        self._pass(rows, seed=seed, team=team, advance=advance)
        self.epoch += 1
        if not any(self.is_finite(number) for number in range(len(self.settings))):
            step = max(setting.eta for setting in self.settings)
            raise WorkError(
                f"The weights overflowed in epoch {self.epoch} with eta={step:g}. "
                f"Try a smaller step, such as {step / 10:.1g}."
            )

    def is_finite(self, number: int) -> bool:
        """Tell whether the weights of a setting are still numbers."""
        part = self.part(number)
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(self.biases()[part].sum()) and np.isfinite(self.V[part].sum()))

    def part(self, number: int) -> slice:
        """Return the rows of V that belong to a setting."""
        return slice(number * self.n_classes, (number + 1) * self.n_classes)

    def weights(self, number: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return copies of the weights and biases of one setting."""
        part = self.part(number)
        scales = self.scales()[part].astype(self.V.dtype)
        return self.V[part] * scales[:, None], self.biases()[part].astype(self.V.dtype)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training changes, records as bytes: what a checkpoint keeps."""
        arrays = {name.strip("_"): getattr(self, name) for name in self._changing}
        return {
            name: array.view(np.uint8) if array.dtype.names else array
            for name, array in arrays.items()
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays that `state` gave."""
        for name in self._changing:
            mine, kept = getattr(self, name), arrays.get(name.strip("_"))
            if kept is None or kept.nbytes != mine.nbytes:
                raise InputError("The checkpoint does not fit this training: delete it.")
            mine[...] = kept.view(mine.dtype).reshape(mine.shape)

    def rows_of(self, numbers: Sequence[int]) -> NDArray[np.int64]:
        """Return the rows of V that belong to some settings."""
        return np.concatenate([np.arange(self.V.shape[0])[self.part(n)] for n in numbers])


def class_shards(n_classes: int, most: int) -> list[slice]:
    """Cut classes into shards of equal size, at most `most`; threads share them out.

    Where the cuts are is fixed by the number of classes, not by that of the threads.
    """
    bounds = np.linspace(0, n_classes, 1 + -(-n_classes // most)).astype(int)
    return [slice(int(start), int(stop)) for start, stop in pairwise(bounds)]
