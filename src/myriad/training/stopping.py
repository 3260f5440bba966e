"""When to stop: when validation accuracy has not risen by a threshold for a while [GP, 4.2]."""

from __future__ import annotations

from dataclasses import dataclass, field

from myriad.measures import Measures


@dataclass
class Stopping:
    """Watches validation accuracy and remembers the best epoch.

    Attributes
    ----------
    theta : points of top-1 accuracy that count as a rise.
    patience : epochs without a rise after which training stops.
    best : the best (top-1, top-5) seen; top-5 decides between equals.
    """

    theta: float = 0.0
    patience: int = 8
    best: tuple[float, float] = (-1.0, -1.0)
    best_epoch: int = -1
    _raised: float = field(default=-1.0, repr=False)
    _since: int = field(default=0, repr=False)

    def watch(self, epoch: int, measures: Measures) -> bool:
        """Take the measures of an epoch; return whether they are the best so far."""
        score = measures.at(1), measures.at(5)
        if score[0] > self._raised + self.theta or self._raised < 0:
            self._raised, self._since = score[0], 0
        else:
            self._since += 1
        if score <= self.best:
            return False
        self.best, self.best_epoch = score, epoch
        return True

    @property
    def done(self) -> bool:
        """Whether accuracy has stopped rising."""
        return self._since >= self.patience
