"""The two methods that train in the dual: the top-k SVM, and one-vs-rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.objectives.topk import TOPK_VARIANTS
from myriad.store import Rows
from myriad.training.distributed.dual_shards import DualShards, needs_shards
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.dual.ascent import Ascending
from myriad.training.dual.method import DualMethod, check_labels
from myriad.training.dual.one_vs_rest import DUAL_LOSSES, BinaryAscent, weigh
from myriad.training.dual.topk import TopKAscent
from myriad.training.method import MethodSpec, number_or, one_of, whole_number


@dataclass(frozen=True, kw_only=True)
class TopK(DualMethod):
    """The top-k multiclass SVM  [TK].

    Attributes
    ----------
    k : how many guesses are allowed, 1 to C - 1; 1 is the SVM of Crammer and Singer.
    variant : one of `TOPK_VARIANTS`.
    kernel : whether rows are those of a Gram matrix; `lam` must then be given.
    """

    objective: str = "topk"
    k: int = 1
    variant: str = "alpha"
    kernel: bool = False
    bias: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.k, Integral) or self.k < 1:
            raise InputError(f"k must be a whole number and at least 1, not {self.k!r}.")
        if self.variant not in TOPK_VARIANTS:
            raise InputError(
                f"variant must be one of {', '.join(TOPK_VARIANTS)}, not {self.variant!r}."
            )

        if self.kernel and (self.lam is None or self.bias > 0):
            raise InputError("With a kernel, lam must be a number and bias 0.")

    def make(self, rows: Rows, n_classes: int, lam: float) -> TopKAscent:
        """Return the dual variables to train."""
        if self.k >= n_classes:
            raise InputError(
                f"k is {self.k}, but there are {n_classes} classes: it must be at most "
                f"{n_classes - 1}."
            )
        check_labels(rows.labels, n_classes)
        return TopKAscent(
            rows,
            n_classes,
            k=self.k,
            variant=TOPK_VARIANTS[self.variant],
            lam=lam,
            bias=self.bias,
            kernel=self.kernel,
            dtype=self.dtype,
        )

    def untrained_loss(self, labels: NDArray[np.int32], n_classes: int) -> float:
        """Return the loss of zero scores, which miss the margin of 1 by all of it."""
        return 1.0

    def describe(self) -> dict[str, Any]:
        """Return the settings that are the method's own."""
        return {"k": self.k, "variant": self.variant}


@dataclass(frozen=True, kw_only=True)
class BinaryDual(DualMethod):
    """One class against the rest, each a support vector machine of its own.

    Attributes
    ----------
    loss : one of `DUAL_LOSSES`.
    beta : how much the negatives of a class count together, as times its positives; None counts
        every row alike.
    class_weights : how much more the positives of each class count, or None.
    """

    objective: str = "dual"
    loss: str = "hinge"
    beta: float | None = None
    class_weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss not in DUAL_LOSSES:
            raise InputError(f"loss must be one of {', '.join(DUAL_LOSSES)}, not {self.loss!r}.")
        if self.beta is not None and not 0 < self.beta < math.inf:
            raise InputError(f"beta must be a number above 0, not {self.beta!r}.")
        if not all(0 < weight < math.inf for weight in self.class_weights or ()):
            raise InputError("Class weights must be numbers above 0.")

    def make(
        self, rows: Rows, n_classes: int, lam: float, own: range | None = None
    ) -> BinaryAscent:
        """Return the dual variables to train, of all classes or of some."""
        check_labels(rows.labels, n_classes)
        return BinaryAscent(
            rows,
            n_classes,
            own=own,
            squared=DUAL_LOSSES[self.loss],
            lam=lam,
            beta=self.beta,
            class_weights=self._read_class_weights(n_classes),
            bias=self.bias,
            dtype=self.dtype,
        )

    def _read_class_weights(self, n_classes: int) -> NDArray[np.float64] | None:
        if self.class_weights is None:
            return None
        if len(self.class_weights) != n_classes:
            raise InputError(
                f"{n_classes} classes need as many weights, not {len(self.class_weights)}."
            )
        return np.array(self.class_weights)

    @property
    def spreads(self) -> bool:
        """Whether workers can do pieces: each takes some classes."""
        return True

    def make_at(
        self, workers: TrainingWorkers | None, rows: Rows, n_classes: int, lam: float
    ) -> Ascending:
        """Return the dual variables to train, a shard of classes at a time where that helps."""
        if workers is None or not needs_shards(workers, n_classes, rows.dim):
            return self.make(rows, n_classes, lam)
        return DualShards(self.make, rows, n_classes, lam, workers)

    def untrained_loss(self, labels: NDArray[np.int32], n_classes: int) -> float:
        """Return the least loss of scores that are the same for all rows, summed over classes.

        With p and q the weights of all positives and of all negatives of a class, the score s costs
        ``p loss(s) + q loss(-s)``: at least ``2 min(p, q)`` for the hinge, and ``4 p q / (p + q)``
        for its square.
        """
        weights = weigh(labels, n_classes, self.beta, self._read_class_weights(n_classes))
        positives = np.bincount(labels, minlength=n_classes)
        q, p = weights[:, 0] * (len(labels) - positives), weights[:, 1] * positives
        least = 4.0 * p * q / (p + q) if DUAL_LOSSES[self.loss] else 2.0 * np.minimum(p, q)
        return float(least.sum())

    def describe(self) -> dict[str, Any]:
        """Return the settings that are the method's own."""
        return {"loss": self.loss} | ({} if self.beta is None else {"beta": self.beta})


_OPTIONS = {"lam": number_or(auto=None), "tol": number_or(), "epochs": whole_number}

DUAL_METHODS = {
    "topk": MethodSpec(
        TopK,
        _OPTIONS | {"k": whole_number, "variant": one_of({name: name for name in TOPK_VARIANTS})},
    ),
    "dual": MethodSpec(
        BinaryDual,
        _OPTIONS
        | {
            "loss": one_of({name: name for name in DUAL_LOSSES}),
            "beta": number_or(all=None),
        },
    ),
}
