"""Linear classifiers by stochastic gradient descent: what to train and for how long."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Self

from myriad.errors import InputError
from myriad.models import LinearModel
from myriad.objectives import BINARY_LOSSES, JOINT_OBJECTIVES
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.distributed.workers import ROUNDS, TrainingWorkers, check_rounds
from myriad.training.engine.optimiser_options import ADAGRADS, PLAIN_SGD, OptimiserOptions
from myriad.training.method import (
    Fitted,
    Method,
    MethodSpec,
    number_or,
    one_of,
    whole_number,
    yes_or_no,
)
from myriad.training.schedules import FIXED, NUMBERS, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import fit
from myriad.training.sgd.joint import WarpOptions

OBJECTIVES = ("ovr", *JOINT_OBJECTIVES)

SEVERAL_LABELS = ("ovr", "ranking", "warp", "auc")
"""The objectives for rows of several labels."""
DECAY_T0 = 1000.0
"""Steps after which the schedule ``decay`` has halved the step, unless stated."""


@dataclass(frozen=True, kw_only=True)
class SGD(Method):
    """Stochastic gradient descent on a linear model, in exact blocks.

    Attributes
    ----------
    objective : one of `OBJECTIVES`.
    loss : of ``ovr``: one of `BINARY_LOSSES`.
    eta, beta : a number, or None to search for it; `beta` belongs to ``ovr``.
    lam : weight of the squared norm; None to search for it where rows are few.
    scale : bring features to unit variance; None to find out whether that helps, unless `lam` is
        stated: it weighs the plain weights.
    balanced : draw classes uniformly, then a row of each; for the joint objectives [GP, Eq. 4].
    schedule : how steps shrink.
    conditioning : adagrad, averages and bounds of norms.
    warp : how the objective ``warp`` looks for violators.
    epochs : the most passes over the rows.
    theta, patience : see `Stopping`; a patience of None depends on how many rows validate.
    memory : bytes that the weights trained together in a search may take.
    rounds : of a pass of a joint objective over shards of rows on workers, see `rounds`.
    start : the model to begin from, instead of zero.
    callback : called after each epoch of the last training with its row of the history.
    """

    objective: str = "ovr"
    loss: str = "hinge"
    eta: float | None = None
    beta: float | None = None
    lam: float | None = 0.0
    scale: bool | None = None
    balanced: bool = False
    schedule: Schedule = FIXED
    optimiser: OptimiserOptions = PLAIN_SGD
    warp: WarpOptions = field(default_factory=WarpOptions)
    epochs: int = 50
    theta: float = 0.0
    patience: int | None = None
    memory: int = field(default=2 << 30, repr=False)
    rounds: int = ROUNDS
    start: LinearModel | None = field(default=None, repr=False, compare=False)
    callback: Callable[[dict[str, Any]], None] | None = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_words()
        if self.scale is None and self.lam:
            object.__setattr__(self, "scale", False)
        for name in ("eta", "beta"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be positive, not {value!r}.")
        if self.eta is not None and math.isinf(self.eta):
            raise InputError("eta must be a finite number.")
        lam = self.lam or 0.0
        if not 0 <= lam < math.inf:
            raise InputError(f"lam must be a number from 0 on, not {self.lam!r}.")
        if self.eta is not None and self.eta * lam >= 1:
            raise InputError(
                f"eta * lam is {self.eta * lam:g}: a step would shrink the weights below "
                "nothing. Choose a smaller eta or lam."
            )
        if self.schedule.name == "lam" and lam == 0:
            raise InputError("The schedule lam needs a lam above 0.")
        if self.memory < 1:
            raise InputError(f"memory must be a number of bytes, not {self.memory!r}.")
        if not 0 <= self.theta < math.inf:
            raise InputError(f"theta must be a number from 0 on, not {self.theta!r}.")
        check_rounds(self.rounds)
        if self.epochs < 1 or (self.patience is not None and self.patience < 1):
            raise InputError("epochs and patience must be at least 1.")

    def _check_words(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(
                f"objective must be one of {', '.join(OBJECTIVES)}, not {self.objective!r}."
            )
        if self.loss not in BINARY_LOSSES:
            raise InputError(f"loss must be one of {sorted(BINARY_LOSSES)}, not {self.loss!r}.")
        if self.objective != "ovr" and self.beta is not None:
            raise InputError(
                f"beta belongs to the objective ovr; {self.objective} draws no negatives."
            )
        if self.objective == "ovr" and self.balanced:
            raise InputError(
                "balanced belongs to the joint objectives; ovr balances a class by beta."
            )

    @property
    def spreads(self) -> bool:
        """Whether workers can do pieces: rates of features and averages need all in one place."""
        optimiser = self.optimiser
        return optimiser.adagrad != "feature" and (self.objective == "ovr" or not optimiser.average)

    @property
    def is_open(self) -> bool:
        """Whether a number is left to be searched."""
        open_beta = self.objective == "ovr" and self.beta is None
        return self.eta is None or open_beta or self.scale is None or self.lam is None

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
        workers: TrainingWorkers | None = None,
    ) -> Fitted:
        """Train on rows; see `Method.fit`."""
        if train.sets is not None and self.objective not in SEVERAL_LABELS:
            raise InputError(
                f"The objective {self.objective} is for one label a row; for several use "
                f"{', '.join(SEVERAL_LABELS)}."
            )
        return fit(
            self,
            train,
            val,
            n_classes=n_classes,
            threads=threads,
            progress=progress,
            checkpoint=checkpoint,
            workers=workers,
        )

    def stated_json(self) -> dict[str, Any]:
        """Return what is not searched for, as plain JSON; what is not used is left out."""
        optimiser = self.optimiser
        found: dict[str, Any] = {"schedule": self.schedule.name}
        found |= {"t0": self.schedule.t0} if self.schedule.name == "decay" else {}
        found |= {"loss": self.loss} if self.objective == "ovr" else {}
        found |= {"adagrad": optimiser.adagrad} if optimiser.adagrad != "none" else {}
        found |= {"average": True} if optimiser.average else {}
        found |= {"max_norm": optimiser.max_norm} if optimiser.max_norm < math.inf else {}
        found |= {"balanced": True} if self.balanced else {}
        usual = asdict(WarpOptions())
        drawn = asdict(self.warp) if self.objective == "warp" else {}
        return found | {name: value for name, value in drawn.items() if value != usual[name]}

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with nothing left to search or to stop early."""
        setting = Setting.from_json(fitted.settings)
        return replace(
            self,
            eta=setting.eta,
            beta=setting.beta,
            lam=setting.lam,
            scale=setting.scale,
            epochs=fitted.epochs,
        )


TAMING = {
    "adagrad": one_of({name: name for name in ADAGRADS}),
    "average": yes_or_no,
    "max_norm": number_or(),
}
DRAWING = {
    "replacement": yes_or_no,
    "exact_rank": yes_or_no,
    "constant_weight": yes_or_no,
    "max_draws": whole_number,
    "last_violators": whole_number,
}
_BASE_OPTIONS = {
    "eta": number_or(auto=None),
    "lam": number_or(auto=None),
    "scale": one_of({"auto": None, "yes": True, "no": False}),
    "schedule": one_of({name: Schedule(name, t0=DECAY_T0) for name in NUMBERS}),
    "t0": number_or(),
    "epochs": whole_number,
    "theta": number_or(),
    **TAMING,
}
_OVR_OPTIONS = _BASE_OPTIONS | {
    "beta": number_or(auto=None, all=math.inf),
    "loss": one_of({name: name for name in BINARY_LOSSES}),
}
_JOINT_OPTIONS = _BASE_OPTIONS | {"balanced": yes_or_no, "rounds": whole_number}


def make_sgd(objective: str, **options: Any) -> SGD:
    """Return the method from options that all stand side by side."""
    optimiser = {name: options.pop(name) for name in TAMING if name in options}
    drawn = {name: options.pop(name) for name in DRAWING if name in options}
    t0 = options.pop("t0", None)
    if t0 is not None:
        schedule = options.get("schedule", FIXED)
        if schedule.name != "decay":
            raise InputError(f"--t0 belongs to --schedule decay, not to {schedule.name}.")
        options["schedule"] = replace(schedule, t0=t0)
    return SGD(
        objective=objective,
        optimiser=OptimiserOptions(**optimiser),
        warp=WarpOptions(**drawn),
        **options,
    )


SGD_METHODS = {
    objective: MethodSpec(
        partial(make_sgd, objective),
        {"ovr": _OVR_OPTIONS, "warp": _JOINT_OPTIONS | DRAWING}.get(objective, _JOINT_OPTIONS),
    )
    for objective in OBJECTIVES
}
