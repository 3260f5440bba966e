"""The two methods that train in the dual: the top-k SVM, and one-vs-rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError
from myriad.objectives import DUAL_LOSSES, TOPK_VARIANTS
from myriad.options import option
from myriad.training.dual.method import (
    DUAL_PANEL,
    MAX_BIAS,
    CertifiedFit,
    DualMethod,
    check_k,
    check_labels,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.store import Rows
    from myriad.training.context import Context, RunningContext
    from myriad.training.distributed.workers import TrainingWorkers
    from myriad.training.dual.ascent import DualTrainer
    from myriad.training.dual.one_vs_rest import BinaryAscent
    from myriad.training.dual.topk import TopKAscent
    from myriad.training.method import Fitted


@dataclass(frozen=True, kw_only=True)
class TopK(DualMethod):
    """The top-k multiclass SVM  [TK], and the smooth top-k losses that followed it.

    Attributes
    ----------
    k : k of the top-k loss, 1 to C - 1; 1 is the SVM of Crammer and Singer, or with the variant
        entropy multinomial logistic regression.
    kernel : whether rows are those of a Gram matrix; `lam` must then be given.
    """

    titles: ClassVar[Mapping[str, str]] = {"topk": "top-k SVM"}

    objective: str = "topk"
    k: int = option(1, minimum=1, panel=DUAL_PANEL, help="The k of the top-k loss.")
    variant: str = option(
        "alpha", choices=tuple(TOPK_VARIANTS), panel=DUAL_PANEL, help="Variant of the top-k loss."
    )
    smoothing: float = option(
        0.0,
        minimum=0,
        maximum=1e6,
        panel=DUAL_PANEL,
        help="Smoothing (gamma) of the hinge of alpha and beta; 0 for none.",
    )
    kernel: bool = False
    bias: float | None = option(
        0.0,
        minimum=0,
        maximum=MAX_BIAS,
        words={"auto": None},
        command=False,
        help="Value of a constant feature (regularised bias), or auto for the root mean square "
        "norm of the rows; 0 for none.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel:
            object.__setattr__(self, "center", False)
        if self.kernel and (self.lam is None or self.bias != 0):
            raise InputError("With a kernel, lam must be a number and bias 0.")
        if self.smoothing > 0 and self.variant == "entropy":
            raise InputError(
                "smoothing is for the variants alpha and beta: the entropy loss is smooth already."
            )

    def _is_cheaper_in_span(self, rows: Rows, n_classes: int, running: RunningContext) -> bool:
        return not self.kernel and super()._is_cheaper_in_span(rows, n_classes, running)

    def make(self, rows: Rows, n_classes: int, lam: float) -> TopKAscent:
        """Return the trainer of all classes in this process."""
        from myriad.training.dual.entropy import EntropyAscent
        from myriad.training.dual.topk import TopKAscent

        check_k(self.k, n_classes)
        check_labels(rows, n_classes)
        options: dict[str, Any] = {"k": self.k, "lam": lam, "bias": self.find_bias(rows)}
        options |= {"kernel": self.kernel, "dtype": self.dtype}
        if self.variant == "entropy":
            return EntropyAscent(rows, n_classes, tol=self.tol, **options)
        options |= {"variant": TOPK_VARIANTS[self.variant], "smoothing": self.smoothing}
        return TopKAscent(rows, n_classes, **options)

    def untrained_loss(self, positives: NDArray[np.int64], n_rows: int) -> float:
        """Return the loss of zero scores.

        The entropy loss of equal scores is the logarithm of the number of classes, and the hinge is
        1; smoothed, it is the maximum of ``s - gamma/2 s^2 / (C - 1)`` over the sum s of equal
        variables.
        """
        if self.variant == "entropy":
            return math.log(len(positives))
        n_wrong = len(positives) - 1
        s = min(1.0, n_wrong / self.smoothing) if self.smoothing > 0 else 1.0
        return s - 0.5 * self.smoothing * s * s / n_wrong

    def describe(self) -> dict[str, Any]:
        """Return k, the variant of the loss and its smoothing."""
        smoothed = {"smoothing": self.smoothing} if self.smoothing > 0 else {}
        return {"k": self.k, "variant": self.variant} | smoothed


@dataclass(frozen=True, kw_only=True)
class BinaryDual(DualMethod):
    """One-vs-rest support vector machines.

    Attributes
    ----------
    beta : weight of all negatives of a class together, as a multiple of the weight of its
        positives; None gives every row the same weight.
    class_weights : factor of the weight of the positives of each class, or None.
    lam_per_class : whether the search finds a lam for each class; see `class_lams`.
    lams : lam of each class; `lam` is then their median. None to use `lam` for all.
    """

    titles: ClassVar[Mapping[str, str]] = {"dual": "one-vs-rest SVM"}
    takes_several_labels: ClassVar[bool] = True

    objective: str = "dual"
    loss: str = option(
        "squared_hinge", choices=tuple(DUAL_LOSSES), panel=DUAL_PANEL, help="Loss function."
    )
    beta: float | None = option(
        None,
        above=0,
        words={"all": None},
        help="Weight of the negatives of a class, relative to its positives.",
    )
    lam_per_class: bool = option(
        False, panel=DUAL_PANEL, help="Search for a separate lam for each class."
    )
    class_weights: tuple[float, ...] | None = None
    lams: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(0 < weight < math.inf for weight in self.class_weights or ()):
            raise InputError("Class weights must be numbers above 0.")
        if self.lam_per_class and self.lam is not None and self.lams is None:
            raise InputError(
                "lam_per_class searches for the lam of each class: leave lam out, or state it as "
                "auto."
            )

    def make(
        self, rows: Rows, n_classes: int, lam: float, own: range | None = None
    ) -> BinaryAscent:
        """Return the trainer, in this process, of all classes or of the range `own` of them."""
        from myriad.training.dual.one_vs_rest import BinaryAscent

        check_labels(rows, n_classes)
        return BinaryAscent(
            rows,
            n_classes,
            own=own,
            loss=self.loss,
            lam=lam,
            beta=self.beta,
            class_weights=self.read_class_weights(n_classes),
            loss_weights=self._weigh_losses(n_classes),
            bias=self.find_bias(rows),
            dtype=self.dtype,
        )

    def read_class_weights(self, n_classes: int) -> NDArray[np.float64] | None:
        """Return the weights of the positives of each class, or None."""
        if self.class_weights is None:
            return None
        if len(self.class_weights) != n_classes:
            raise InputError(
                f"{n_classes} classes need as many weights, not {len(self.class_weights)}."
            )
        import numpy as np

        return np.array(self.class_weights)

    def _weigh_losses(self, n_classes: int) -> NDArray[np.float64] | None:
        """Return the factor of the loss of each class that is equivalent to its lam, or None.

        ``lam_c/2 |w|^2 + loss`` is proportional to ``lam/2 |w|^2 + lam/lam_c loss``.
        """
        if self.lams is None:
            return None
        if len(self.lams) != n_classes:
            raise InputError(f"{n_classes} classes need as many lams, not {len(self.lams)}.")
        import numpy as np

        return (self.lam or 1.0) / np.array(self.lams)

    def _fit(
        self, train: Rows, val: Rows | None, *, n_classes: int, context: Context
    ) -> CertifiedFit:
        """Train on rows without centring, with a lam for each class if requested."""
        options: dict[str, Any] = {"n_classes": n_classes, "context": context}
        if not self.lam_per_class or self.lams is not None or val is None:
            return super()._fit(train, val, **options)
        import numpy as np

        from myriad.training.dual.class_lams import choose_lams

        with context.open() as running:
            lams, table = choose_lams(self, train, val, n_classes, running)
        method = replace(self, lam=float(np.median(lams)), lams=tuple(lams.tolist()))
        return replace(super(BinaryDual, method)._fit(train, val, **options), table=table)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the lam, or those of all classes, that were found."""
        lams = fitted.settings.get("lams")
        lam = fitted.settings["lam"]
        return replace(self, lam=lam, lams=None if lams is None else tuple(lams))

    @property
    def supports_workers(self) -> bool:
        """Whether workers can train class shards."""
        return True

    def trainer(
        self, rows: Rows, n_classes: int, lam: float, workers: TrainingWorkers | None = None
    ) -> DualTrainer:
        """Return the trainer: of class shards if workers are remote or memory is short."""
        from myriad.training.distributed.dual_shards import DualShards, needs_shards

        if workers is None or not needs_shards(workers, n_classes, rows.dim):
            return self.make(rows, n_classes, lam)
        return DualShards(self.make, rows, n_classes, lam, workers)

    def untrained_loss(self, positives: NDArray[np.int64], n_rows: int) -> float:
        """Return the minimum loss of scores that are the same for all rows, summed over classes.

        With p and q the weights of all positives and of all negatives of a class, the score s costs
        ``p loss(s) + q loss(-s)``: at least ``2 min(p, q)`` for the hinge, and ``4 p q / (p + q)``
        for its square.
        """
        import numpy as np

        from myriad.training.dual.one_vs_rest import row_weights

        class_weights = self.read_class_weights(len(positives))
        weights = row_weights(positives, n_rows, self.beta, class_weights)
        q, p = weights[:, 0] * (n_rows - positives), weights[:, 1] * positives
        least = 4.0 * p * q / (p + q) if self.loss == "squared_hinge" else 2.0 * np.minimum(p, q)
        return float(least.sum())

    def describe(self) -> dict[str, Any]:
        """Return the loss, beta and the lam of each class, as far as they are set."""
        found: dict[str, Any] = {"loss": self.loss}
        found |= {} if self.beta is None else {"beta": self.beta}
        return found | ({} if self.lams is None else {"lams": list(self.lams)})
