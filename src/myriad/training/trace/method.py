"""Multinomial logistic regression under a gauge, by stochastic atom descent, and its path over lam.

Every class has a bias that is not learned: the logarithm of its part of the training rows, so that
the zero model predicts the prior. A class without rows counts as half a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.parallel import open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.method import Fitted, Method, MethodSpec, number_or, one_of, whole_number
from myriad.training.trace.descent import Descent
from myriad.training.trace.gauges import GAUGES
from myriad.training.trace.lam_path import RELAXED, LamPath

FEWEST_ROWS = 0.5
"""What a class without rows counts for in the prior."""


@dataclass(frozen=True, kw_only=True)
class AtomDescent(Method):
    """Least ``lam gauge(W) + mean multinomial logistic loss`` [LS].

    Attributes
    ----------
    lam : weight of the gauge, or None to follow a path and choose on validation rows.
    relax : the weights are fitted anew on the directions or features found, with this part of
        `lam`: 1 for not at all; None to try parts where `lam` is chosen on validation rows, else 1.
    gauge : one of `GAUGES`.
    batch : rows of the first mini-batches, which grow by themselves; None to let W decide.
    subspace_every : atoms between two minimisations over the support.
    steps : of L-BFGS-B in a minimisation, at most.
    tol : the bound on suboptimality to reach, as a part of the objective.
    rounds : minimisations for one `lam`, at most.
    callback : called after each round with its row of the history.
    """

    objective: str = "trace"
    lam: float | None = None
    relax: float | None = None
    gauge: str = "trace"
    batch: int | None = None
    subspace_every: int = 8
    steps: int = 30
    tol: float = 0.01
    rounds: int = 100
    callback: Callable[[dict[str, Any]], None] | None = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gauge not in GAUGES:
            raise InputError(f"gauge must be one of {', '.join(GAUGES)}, not {self.gauge!r}.")
        if self.lam is not None and not 0 < self.lam < math.inf:
            raise InputError(
                f"lam must be a number above 0, not {self.lam!r}; to train without a penalty, use "
                "the objective softmax."
            )
        if self.relax is not None and not 0 < self.relax <= 1:
            raise InputError(
                f"relax must be a number above 0 and at most 1, a part of lam, not {self.relax!r}."
            )
        if not 0 < self.tol < 1:
            raise InputError(f"tol must be a number between 0 and 1, not {self.tol!r}.")
        for name in ("batch", "subspace_every", "steps", "rounds"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}.")

    @property
    def is_open(self) -> bool:
        """Whether `lam` is to be chosen on validation rows."""
        return self.lam is None

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
    ) -> Fitted:
        """Train on rows; see `Method.fit`."""
        if train.sets is not None:
            raise InputError(f"The objective {self.objective} is for one label a row.")
        if (train.labels < 0).any():
            train = train.select(np.flatnonzero(train.labels >= 0))
        if train.n_rows == 0:
            raise InputError("No row has a label: nothing is left to train on.")
        biases = prior_biases(train, n_classes)
        with open_threads(threads) as pool:
            descent = Descent(
                train,
                biases,
                GAUGES[self.gauge],
                batch=self.batch,
                subspace_every=self.subspace_every,
                steps=self.steps,
                tol=self.tol,
                seed=self.seed,
                pool=pool,
            )
            path = LamPath(
                descent,
                biases,
                train.dim,
                val,
                relaxed=self._parts(val),
                checkpoint=checkpoint,
                pool=pool,
            )
            return path.run(
                self.lam,
                rounds=self.rounds,
                settings={"gauge": self.gauge, "tol": self.tol},
                progress=progress,
                callback=self.callback,
            )

    def _parts(self, val: Rows | None) -> tuple[float, ...]:
        """Return the parts of `lam` to try on the support."""
        if self.relax is not None:
            return (self.relax,)
        return (1.0,) if val is None or self.lam is not None else RELAXED

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with what was chosen."""
        return replace(self, lam=fitted.settings["lam"], relax=fitted.settings["relax"])


def prior_biases(rows: Rows, n_classes: int) -> Float:
    """Return the logarithm of each class's part of the rows, float32 of shape (n_classes,)."""
    counts = np.bincount(rows.labels, weights=rows.weights, minlength=n_classes)
    counts = np.maximum(counts, FEWEST_ROWS)
    return np.log(counts / counts.sum()).astype(np.float32)


TRACE_METHOD = MethodSpec(
    AtomDescent,
    {
        "lam": number_or(auto=None),
        "relax": number_or(auto=None),
        "gauge": one_of({name: name for name in GAUGES}),
        "tol": number_or(),
        "batch": whole_number,
        "subspace_every": whole_number,
    },
)
