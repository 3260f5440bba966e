"""Linear classifiers by stochastic gradient descent: the options, and what is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError, did_you_mean
from myriad.objectives import BINARY_LOSSES, JOINT_OBJECTIVES
from myriad.options import check_options, flat_values, option, option_group, options_of
from myriad.training.context import Context
from myriad.training.method import (
    SCALING_PANEL,
    SGD_PANEL,
    CentringMethod,
    Fitted,
    GradientMethod,
    rounds_option,
)
from myriad.training.optimiser import PLAIN_SGD, OptimiserOptions, Schedule
from myriad.training.settings import Setting

if TYPE_CHECKING:
    from myriad.arrays import Float
    from myriad.models import LinearModel
    from myriad.store import Rows
    from myriad.training.engine.chunks import EpochCost

JOINT = tuple(JOINT_OBJECTIVES)
OBJECTIVES = ("ovr", *JOINT)

SEVERAL_LABELS = ("ovr", "multiclass", "ranking", "warp", "auc")
"""The objectives for rows with several labels."""
WARP_PANEL = "Sampling of wrong classes: warp"


@dataclass(frozen=True)
class WarpOptions:
    """How `warp` looks for classes that violate the margin; see `objectives.warp`.

    Attributes
    ----------
    replacement : draw with replacement, as [GP] does.
    exact_rank : count all violators instead of estimating their number.
    constant_weight : give all steps the same weight.
    max_draws : maximum number of draws; None for C - 1.
    last_violators : how long a chain of last violators to look at [HM, 6].
    """

    replacement: bool = option(
        True, panel=WARP_PANEL, help="Whether a wrong class may be drawn twice for a row."
    )
    exact_rank: bool = option(
        False, panel=WARP_PANEL, help="Count all violators instead of estimating their number."
    )
    constant_weight: bool = option(
        False, panel=WARP_PANEL, help="Give all steps the same weight, independent of the rank."
    )
    max_draws: int | None = option(
        None,
        minimum=1,
        panel=WARP_PANEL,
        default_text="classes - 1",
        help="Maximum number of wrong classes to draw for a row.",
    )
    last_violators: int = option(
        0,
        minimum=0,
        panel=WARP_PANEL,
        help="Skip a row after a chain of this many last violators; 0 to skip none.",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class SGD(GradientMethod, CentringMethod):
    """Stochastic gradient descent on a linear model, in exact blocks.

    Options are described on their fields; those left at None are searched for. A `scale` of None is
    no scaling where `lam` is stated, because `lam` weighs the weights of unscaled features.

    Attributes
    ----------
    objective : one of `OBJECTIVES`.
    schedule, optimiser, warp : groups of options.
    start : the model to begin from, instead of zero.
    callback : called after each epoch of the last training with its row of the history.
    """

    titles: ClassVar[Mapping[str, str]] = {
        "ovr": "one-vs-rest",
    }

    objective: str = "ovr"
    loss: str = option(
        "hinge", choices=tuple(BINARY_LOSSES), only=("ovr",), panel=SGD_PANEL, help="Loss function."
    )
    k: int = option(
        1,
        minimum=1,
        only=("softmax",),
        panel=SGD_PANEL,
        help="The k of the top-k loss: the k - 1 largest wrong scores are left out.",
    )
    negatives: int | None = option(
        None,
        minimum=1,
        words={"all": None},
        only=("softmax",),
        panel=SGD_PANEL,
        help="Wrong classes drawn for each row (sampled softmax): a number, or all.",
    )
    beta: float | None = option(
        None,
        above=0,
        words={"auto": None, "all": math.inf},
        only=("ovr",),
        help="Negatives per positive: a number, all, or auto to search for it.",
    )
    lam: float | None = option(
        0.0,
        minimum=0,
        words={"auto": None},
        help="Regularisation strength (weight decay), or auto to search for it.",
    )
    scale: bool | None = option(
        None,
        words={"auto": None, "yes": True, "no": False},
        panel=SCALING_PANEL,
        help="Scale features to unit variance for training.",
    )
    plda: float | None = option(
        None,
        above=0,
        maximum=1e6,
        words={"none": None},
        panel=SCALING_PANEL,
        help="Train in the space of discriminant analysis (plda) with this lam, or none.",
    )
    balanced: bool = option(
        False, only=JOINT, panel=SGD_PANEL, help="Sample classes uniformly, then one row of each."
    )
    batch: int | None = option(
        1,
        minimum=1,
        words={"all": None},
        panel=SGD_PANEL,
        help="Mini-batch size, or all.",
    )
    schedule: Schedule = option_group(Schedule)
    optimiser: OptimiserOptions = option_group(OptimiserOptions)
    warp: WarpOptions = option_group(WarpOptions, only=("warp",))
    rounds: int = rounds_option(panel=SGD_PANEL, only=JOINT)
    start: LinearModel | None = field(default=None, repr=False, compare=False)
    callback: Callable[[dict[str, Any]], None] | None = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.objective not in OBJECTIVES:
            raise InputError(
                f"objective must be one of {', '.join(OBJECTIVES)}, not {self.objective!r}."
                + did_you_mean(self.objective, OBJECTIVES)
            )
        if self.objective != "ovr" and self.beta is not None:
            raise InputError(
                f"beta belongs to the objective ovr; {self.objective} draws no negatives."
            )
        if self.objective != "softmax" and self.k != 1:
            raise InputError(f"k belongs to the objective softmax, not to {self.objective}.")
        if self.negatives is not None:
            if self.objective != "softmax":
                raise InputError(
                    f"negatives belongs to the objective softmax, not to {self.objective}."
                )
            if self.k != 1 or self.batch != 1:
                raise InputError(
                    "k and batch cannot be combined with negatives: they need the scores of all "
                    "classes."
                )
        if self.objective == "ovr" and self.balanced:
            raise InputError(
                "balanced belongs to the joint objectives; ovr balances a class by beta."
            )
        if self.batch != 1 and self.optimiser != PLAIN_SGD:
            raise InputError(
                "batch cannot be combined with adagrad, average or max_norm: these are for a "
                "step after each row."
            )
        if self.scale is None and self.lam:
            object.__setattr__(self, "scale", False)
        lam = self.lam or 0.0
        if self.eta is not None and self.eta * lam >= 1:
            raise InputError(
                f"eta * lam is {self.eta * lam:g}, but must be below 1: a step multiplies the "
                "weights by 1 - eta * lam. Choose a smaller eta or lam."
            )
        if self.schedule.name == "lam" and lam == 0:
            raise InputError("The schedule lam needs a lam above 0.")
        if self.plda is not None and self.start is not None:
            raise InputError("plda is for a training that starts from zero.")

    @property
    def supports_workers(self) -> bool:
        """Whether workers can train shards: not with mini-batches, feature rates or averages."""
        optimiser = self.optimiser
        if self.batch != 1 or self.plda is not None:
            return False
        return optimiser.adagrad != "feature" and (self.objective == "ovr" or not optimiser.average)

    def count_batch(self, n_rows: int) -> int:
        """Return the mini-batch size, at most the number of rows."""
        return n_rows if self.batch is None else min(self.batch, n_rows)

    @property
    def is_open(self) -> bool:
        """Whether an option is left to be searched for."""
        open_beta = self.objective == "ovr" and self.beta is None
        open_numbers = self.eta is None or self.lam is None or self.schedule.is_open
        return open_numbers or open_beta or self.scale is None

    def _fit(self, train: Rows, val: Rows | None, *, n_classes: int, context: Context) -> Fitted:
        """Train on rows as they are."""
        from myriad.training.checkpoints import TrainingState
        from myriad.training.loop import run, start_clock
        from myriad.training.sgd.fitting import Task
        from myriad.training.sgd.search import Search
        from myriad.training.stopping import AccuracyMonitor, EarlyStopping

        if train.sets is not None and self.objective not in SEVERAL_LABELS:
            raise InputError(
                f"The objective {self.objective} needs one label per row; for several use "
                f"{', '.join(SEVERAL_LABELS)}, dual, wsabie or means."
            )
        if self.plda is not None:
            return self._fit_projected(train, val, self.plda, n_classes, context)
        with context.open() as running:
            workers = running.workers if self.supports_workers else None
            task = Task(self, train, val, n_classes, workers)
            state, found, clock = TrainingState(running.checkpoint), None, start_clock()
            if not state.facts:
                setting, table = task.default_setting, []
                if val is not None and self.is_open:
                    found = Search(task, val, running, clock).run()
                    setting, table = found.setting, found.table
                state.facts = {"setting": setting.to_json(), "table": table}
                if found is None or found.trainer is None:
                    state.save()
            setting = Setting.from_json(state.facts["setting"])
            rows, held_out = task.rows_for(task.train, setting), val and task.rows_for(val, setting)
            if found is not None and found.trainer is not None:
                trainer, monitor = found.trainer, AccuracyMonitor([found.stopping], held_out)
                state.save(trainer, monitor, seconds=clock())
            else:
                trainer = task.make([setting], task.train)
                monitor = AccuracyMonitor([EarlyStopping(self.theta, task.patience)], held_out)
                state.resume(trainer, monitor, pool=running.pool)
                clock = start_clock(state.seconds)
            run(
                trainer,
                rows,
                monitor,
                until=self.epochs,
                seed=self.seed,
                pool=running.pool,
                clock=clock,
                progress=running.progress,
                callback=self.callback,
                state=state,
            )
            weights, epochs = monitor.final_weights(trainer)
            state.save(trainer, monitor, seconds=clock())
            settings = setting.to_json() | self.options_json() | task.describe_rounds()
            model = task.model(*weights, setting)
        return Fitted(model, settings, epochs, monitor.history, state.facts["table"])

    def _fit_projected(
        self, train: Rows, val: Rows | None, lam: float, n_classes: int, context: Context
    ) -> Fitted:
        """Train on rows in the space of discriminant analysis; see `GaussianClasses.space`."""
        from myriad.training.discriminant.gaussian import find_space

        with context.open() as running:
            space = find_space(train, n_classes, lam, running)
            train, val = space.project(train), val and space.project(val)
        plain = replace(self, plda=None)
        fitted = plain._fit(train, val, n_classes=n_classes, context=context)
        settings = fitted.settings | {"plda": lam}
        return replace(fitted, model=space.expand(fitted.model), settings=settings)

    def _centred(self, mean: Float) -> Self:
        """Return the method that starts at the same scores on centred rows."""
        start = self.start
        return self if start is None else replace(self, start=start.centred(mean))

    def cost(self, n_classes: int, dim: int) -> EpochCost:
        """Return the cost of an epoch."""
        from myriad.training.sgd.fitting import UNSEARCHED_BETA
        from myriad.training.sgd.joint import Joint
        from myriad.training.sgd.one_vs_rest import OneVsRest

        if self.objective == "ovr":
            cost = OneVsRest.cost(n_classes, dim, self.beta or UNSEARCHED_BETA)
        else:
            cost = Joint.cost(self.objective, n_classes, dim, self.negatives)
        return cost.averaged() if self.optimiser.average else cost

    def options_json(self) -> dict[str, Any]:
        """Return the options that are not searched for and not at their default, as plain JSON."""
        found: dict[str, Any] = {"schedule": self.schedule.name}
        if self.schedule.name == "decay" and self.schedule.t0 is not None:
            found["t0"] = self.schedule.t0
        found |= {"loss": self.loss} if self.objective == "ovr" else {}
        values, known = flat_values(self), self.command_options(self.objective)
        changeable = (
            *options_of(OptimiserOptions),
            "balanced",
            "batch",
            "k",
            "negatives",
            *options_of(WarpOptions),
        )
        found |= {
            name: values[name]
            for name in changeable
            if name in known and values[name] != known[name].default
        }
        return found | ({"batch": "all"} if self.batch is None else {})

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with nothing left to search for or to stop early."""
        setting = Setting.from_json(fitted.settings)
        return replace(
            self,
            eta=setting.eta,
            beta=setting.beta,
            lam=setting.lam,
            scale=setting.scale,
            schedule=replace(self.schedule, t0=self.schedule.t0 or setting.t0),
            epochs=fitted.epochs,
        )
