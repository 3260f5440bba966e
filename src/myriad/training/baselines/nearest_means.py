"""Nearest class means: the first baseline, learned in one epoch, with nothing to tune."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from myriad.training.context import DEFAULT_CONTEXT, Context
from myriad.training.method import Fitted, Method

if TYPE_CHECKING:
    from myriad.store import Rows


@dataclass(frozen=True, kw_only=True)
class Means(Method):
    """The class whose mean is nearest [HM: P_g the class mean, V = I]; it has no options."""

    titles: ClassVar[Mapping[str, str]] = {"means": "nearest mean"}

    objective: str = "means"

    @property
    def is_open(self) -> bool:
        """Nothing is searched."""
        return False

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        context: Context = DEFAULT_CONTEXT,
    ) -> Fitted:
        """Learn the means in one epoch, which is too short for a checkpoint."""
        from myriad.training.baselines.class_sums import ClassSums

        sums = ClassSums(n_classes, train.dim)
        with context.open() as running:
            sums.add(train, pool=running.pool, progress=running.progress)
        return Fitted(sums.to_model(), {}, 1)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method itself."""
        return self
