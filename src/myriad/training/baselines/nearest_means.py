"""Nearest class means: the first baseline, learned in one pass over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from myriad.progress import SILENT, Progress
from myriad.training.method import Fitted, Method

if TYPE_CHECKING:
    from myriad.store import Rows
    from myriad.training.checkpoints import Checkpoint


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
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
    ) -> Fitted:
        """Learn the means in one pass, which is too short for checkpoints."""
        from myriad.parallel import open_threads
        from myriad.training.baselines.class_sums import ClassSums

        sums = ClassSums(n_classes, train.dim)
        with open_threads(threads) as pool:
            sums.add(train, pool=pool, progress=progress)
        return Fitted(sums.to_model(), {}, 1)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method itself."""
        return self
