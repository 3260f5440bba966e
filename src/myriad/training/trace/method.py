"""Multinomial logistic regression under a gauge, by stochastic atom descent, and its path over lam.

Every class has a bias that is not learned: the logarithm of its share of the training rows, so that
the zero model predicts the prior. A class without rows counts as half a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError
from myriad.options import option
from myriad.training.context import Context, RunningContext
from myriad.training.method import CentringMethod, Fitted
from myriad.training.trace.gauges import GAUGES, make_gauge

if TYPE_CHECKING:
    from myriad.arrays import Float
    from myriad.store import Rows
    from myriad.training.trace.lam_path import AtomTrainer

GRADIENTS = 200
"""Full gradients that a path over `lam` takes, as measured by `benchmarks/trace.py`."""
PLANNED_RANK = 256
"""Maximum rank that the cost assumes."""
FACTORS_BYTES = 200 << 20
"""Bytes that atom descent holds in addition to its factors."""
FEWEST_ROWS = 0.5
"""Number of rows that a class without rows counts as in the prior."""
PANEL = "Low rank: trace"


@dataclass(frozen=True)
class PathCost:
    """The cost of a path over `lam`, for ``plan``.

    Attributes
    ----------
    gradients : number of full gradients, each over all rows.
    multiply_adds : of one row in one gradient.
    model_bytes, memory : bytes of the model, and of the training.
    """

    gradients: int
    multiply_adds: float
    model_bytes: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class AtomDescent(CentringMethod):
    """Minimises ``lam gauge(W) + mean multinomial logistic loss`` [LS].

    Options are described on their fields. A `lam` of None follows a path and is chosen on
    validation rows; a `relax` of None tries several values with it, and is 1 with a stated `lam`.

    Attributes
    ----------
    callback : called after each round with its row of the history.
    """

    titles: ClassVar[Mapping[str, str]] = {"trace": "low rank"}

    objective: str = "trace"
    lam: float | None = option(
        None,
        above=0,
        words={"auto": None},
        hint="To train without a penalty, use the objective softmax.",
        help="Regularisation strength (weight decay), or auto to search for it.",
    )
    relax: float | None = option(
        None,
        above=0,
        maximum=1,
        words={"auto": None},
        panel=PANEL,
        default_text="auto; 1 with a stated lam",
        help="Fraction of lam for a refit on the atoms found, or auto to search for it.",
    )
    gauge: str = option(
        "trace",
        choices={name: entry.description for name, entry in GAUGES.items()},
        panel=PANEL,
        help="Penalised norm.",
    )
    batch: int | None = option(
        None,
        minimum=1,
        panel=PANEL,
        default_text="by the size of W",
        help="Initial mini-batch size, which grows during training.",
    )
    subspace_every: int = option(
        8,
        minimum=1,
        panel=PANEL,
        help="Number of atoms to add between two minimisations over all atoms.",
    )
    steps: int = option(
        30, minimum=1, command=False, help="Maximum number of L-BFGS-B iterations per minimisation."
    )
    tol: float = option(
        0.01,
        above=0,
        below=1,
        panel=PANEL,
        help="Tolerance: relative suboptimality at which training stops.",
    )
    rounds: int = option(
        100, minimum=1, command=False, help="Maximum number of minimisations for one lam."
    )
    callback: Callable[[dict[str, Any]], None] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def is_open(self) -> bool:
        """Whether `lam` is to be chosen on validation rows."""
        return self.lam is None

    def _fit(self, train: Rows, val: Rows | None, *, n_classes: int, context: Context) -> Fitted:
        """Train on rows as they are."""
        import numpy as np

        from myriad.training.trace.lam_path import LamPath

        if train.sets is not None:
            raise InputError(f"The objective {self.objective} needs one label per row.")
        if (train.labels < 0).any():
            train = train.select(np.flatnonzero(train.labels >= 0))
        if train.n_rows == 0:
            raise InputError("No row has a label: there is nothing to train on.")
        with context.open() as running:
            trainer = self.trainer(train, n_classes, running)
            path = LamPath(trainer, train, val, relaxed=self._fractions(val), running=running)
            settings = {"gauge": self.gauge, "tol": self.tol}
            return path.run(self.lam, rounds=self.rounds, settings=settings, callback=self.callback)

    def trainer(self, rows: Rows, n_classes: int, running: RunningContext) -> AtomTrainer:
        """Return atom descent on rows, at W = 0."""
        from myriad.training.trace.descent import Descent
        from myriad.training.trace.lam_path import AtomTrainer

        biases = prior_biases(rows, n_classes)
        descent = Descent(
            rows,
            biases,
            make_gauge(self.gauge),
            batch=self.batch,
            subspace_every=self.subspace_every,
            steps=self.steps,
            tol=self.tol,
            seed=self.seed,
            pool=running.pool,
        )
        return AtomTrainer(descent, biases, rows.dim)

    @staticmethod
    def cost(n_classes: int, dim: int) -> PathCost:
        """Return the cost of a path: a gradient is two products of a row with all weights."""
        factors = 4.0 * min(PLANNED_RANK, dim, n_classes) * (n_classes + dim)
        memory = 6 * factors + FACTORS_BYTES
        return PathCost(GRADIENTS, 2.0 * n_classes * dim, factors, memory)

    def _fractions(self, val: Rows | None) -> tuple[float, ...]:
        """Return the fractions of `lam` to try on the support."""
        from myriad.training.trace.lam_path import RELAXED

        if self.relax is not None:
            return (self.relax,)
        return (1.0,) if val is None or self.lam is not None else RELAXED

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the `lam` and `relax` that were chosen."""
        return replace(self, lam=fitted.settings["lam"], relax=fitted.settings["relax"])


def prior_biases(rows: Rows, n_classes: int) -> Float:
    """Return the logarithm of each class's share of the rows, float32 of shape (n_classes,)."""
    import numpy as np

    counts = np.bincount(rows.labels, weights=rows.weights, minlength=n_classes)
    counts = np.maximum(counts, FEWEST_ROWS)
    return np.log(counts / counts.sum()).astype(np.float32)
