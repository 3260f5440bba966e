"""What a search and a run ask of weights in training, wherever they are trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.errors import WorkError
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.settings import Setting

Weights = tuple[NDArray[Any], NDArray[Any]]


class Trainer(Protocol):
    """Weights of one or several settings in training: a `LinearTrainer` or workers.

    Attributes
    ----------
    settings : what is trained side by side.
    n_classes : rows of the weights of each.
    epoch : passes made.
    """

    settings: list[Setting]
    n_classes: int
    epoch: int

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once more over the rows."""

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the rank of the truth of held-out rows, (n_settings, n_rows)."""

    def weights(self, number: int = 0) -> Weights:
        """Return weights and biases of one setting."""

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a checkpoint keeps."""

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays that `state` gave."""

    def begin_from(self, W: NDArray[Any], b: NDArray[Any]) -> None:
        """Begin every setting at some weights instead of at zero."""


def overflow(settings: Sequence[Setting], epoch: int, modest: float = math.inf) -> WorkError:
    """Return the error of weights that are no numbers any more; it names a smaller step."""
    step = max(setting.eta for setting in settings)
    return WorkError(
        f"The weights overflowed in epoch {epoch} with eta={step:g}. "
        f"Try a smaller step, such as {min(step / 10, modest):.1g}."
    )
