"""The base class of training methods: a frozen dataclass of options that fits a model to rows.

Modules that define methods import nothing heavy at the top, because the help of the command is
built from their options.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError, did_you_mean
from myriad.options import Option, check_options, make_from_options, option, options_of
from myriad.training.context import DEFAULT_CONTEXT, Context

if TYPE_CHECKING:
    from myriad.arrays import Float
    from myriad.models import Calibration, HeldScores, LabelCalibration, Model
    from myriad.store import Rows

SGD_PANEL = "Gradient descent: ovr, multiclass, ranking, warp, auc, softmax, wsabie"
SCALING_PANEL = "Centring and scaling of rows"
CALIBRATION_PANEL = "Probabilities"
"""Headings of the options that methods of these kinds share."""
CALIBRATIONS = {
    "auto": "rows that are held out anyway",
    "split": "a fifth of the training rows, never trained on",
    "none": "no probabilities",
}


@dataclass(frozen=True)
class Fitted:
    """A trained model, with its settings and history.

    Attributes
    ----------
    model : what was learned.
    settings : the settings used, plain JSON; ``train`` prints them, the model folder stores them.
    epochs : number of epochs of the returned model.
    history : a row for each epoch, with at least ``epoch``, ``top1``, ``top5`` and ``seconds``.
    table : the candidates of the search, with the validation accuracy of each.
    held_scores : scores of held-out rows by a model of the same settings; None if
        there are none.
    miss_ratio : how many times as often that model misses the true class; see `Calibration`.
    calibration : maps scores to probabilities; None if the model is not calibrated.
    label_calibration : the same for rows with several labels each.
    """

    model: Model
    settings: dict[str, Any]
    epochs: int
    history: list[dict[str, Any]] = field(default_factory=list)
    table: list[dict[str, Any]] = field(default_factory=list)
    held_scores: HeldScores | None = field(default=None, kw_only=True)
    miss_ratio: float = field(default=1.0, kw_only=True)
    calibration: Calibration | None = field(default=None, kw_only=True)
    label_calibration: LabelCalibration | None = field(default=None, kw_only=True)

    def with_search_of(self, first: Fitted) -> Fitted:
        """Return this fit with the history, search table and calibration of an earlier fit."""
        kept = ("history", "table", "held_scores", "miss_ratio", "calibration", "label_calibration")
        return replace(self, **{name: getattr(first, name) for name in kept})


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A training method with its options; the base class of all.

    An option left at None is found on validation rows.

    Attributes
    ----------
    objective : the name by which the method is registered in `METHODS`.
    seed : seed of the order of the rows and of all random draws.
    calibration : rows to calibrate probabilities on; see `calibrating.add_calibration`.
    titles : for each objective that the class serves, a few words for the help of the command.
    """

    titles: ClassVar[Mapping[str, str]] = {}

    objective: str
    seed: int = 0
    calibration: str = option(
        "auto",
        choices=CALIBRATIONS,
        panel=CALIBRATION_PANEL,
        help="Rows to calibrate probabilities on.",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise InputError(f"The seed must be a number from 0 to 2^63 - 1, not {self.seed}.")
        check_options(self)

    @classmethod
    def command_options(cls, objective: str) -> dict[str, Option]:
        """Return the options that the command takes for an objective, by name."""
        return {
            name: found
            for name, found in options_of(cls).items()
            if found.command and (not found.only or objective in found.only)
        }

    @property
    def supports_workers(self) -> bool:
        """Whether workers can train shards; if not, `fit` ignores the workers of its context."""
        return False

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether an option must be searched on validation rows."""

    @abstractmethod
    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        context: Context = DEFAULT_CONTEXT,
    ) -> Fitted:
        """Train on rows.

        With validation rows, open options are searched and the best model is kept;
        without, defaults are used. With a checkpoint, an interrupted run resumes and
        ends with the same model.

        Parameters
        ----------
        train, val : the rows to train and to validate on.
        n_classes : number of classes; labels are below it.
        context : threads, progress, checkpoint and workers.
        """

    def needs_held_out(self, rows: Rows, n_classes: int) -> bool:
        """Return whether validation rows are needed to train on these rows."""
        return self.is_open

    @abstractmethod
    def settled(self, fitted: Fitted) -> Self:
        """Return the method with all options set to the values that `fitted` found."""

    def with_memory(self, size: int) -> Self:
        """Return the method with a memory limit in bytes for weights that are trained together.

        A method that trains one setting at a time ignores it.
        """
        return self

    def without_early_stopping(self, epochs: int) -> Self:
        """Return the method that trains for exactly this number of epochs.

        A method without early stopping ignores it.
        """
        return self


@dataclass(frozen=True, kw_only=True)
class CentringMethod(Method):
    """A method that can subtract the mean of the rows for training.

    The mean of non-negative features makes up much of their squared norm without separating the
    classes, and slows every solver down. The mean is folded into the biases, so that the fitted
    model takes uncentred rows.
    """

    center: bool = option(
        True, panel=SCALING_PANEL, help="Subtract the mean of the rows for training."
    )

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        context: Context = DEFAULT_CONTEXT,
    ) -> Fitted:
        """Train on rows, centred if `center` is set; see `Method.fit`."""
        if not self.center:
            return self._fit(train, val, n_classes=n_classes, context=context)
        import numpy as np

        from myriad.store import CentredRows, feature_means

        mean = feature_means(train).astype(np.float32)
        fitted = self._centred(mean)._fit(
            CentredRows(train, mean),
            val and CentredRows(val, mean),
            n_classes=n_classes,
            context=context,
        )
        settings = fitted.settings | {"center": True}
        return replace(fitted, model=fitted.model.uncentred(mean), settings=settings)

    @abstractmethod
    def _fit(self, train: Rows, val: Rows | None, *, n_classes: int, context: Context) -> Fitted:
        """Train on rows as they are."""

    def _centred(self, mean: Float) -> Self:
        """Return the method for rows from which the mean was subtracted."""
        return self


@dataclass(frozen=True, kw_only=True)
class GradientMethod(Method):
    """A method that trains by gradient steps, with early stopping on validation accuracy.

    See the `option` of each field. A `patience` of None depends on the number of validation rows.
    """

    eta: float | None = option(
        None,
        above=0,
        words={"auto": None},
        aliases=("--learning-rate",),
        help="Learning rate, or auto to search for it.",
    )
    epochs: int = option(50, minimum=1, help="Maximum number of epochs (passes over the rows).")
    theta: float = option(
        0.0,
        minimum=0,
        aliases=("--min-delta",),
        panel=SGD_PANEL,
        help="Early stopping: minimum increase of the validation accuracy, in percentage points.",
    )
    patience: int | None = option(
        None,
        minimum=1,
        command=False,
        help="Early stopping: number of epochs to wait for an increase.",
        default_text="8, or 4 with many validation rows",
    )
    memory: int = option(
        2 << 30,
        minimum=1,
        repr=False,
        command=False,
        help="Bytes that the weights trained together in a search may take.",
    )

    def with_memory(self, size: int) -> Self:
        """Return the method with a limit for the weights that are trained side by side."""
        return replace(self, memory=size)

    def without_early_stopping(self, epochs: int) -> Self:
        """Return the method that trains for exactly this number of epochs."""
        return replace(self, patience=epochs)


def rounds_option(*, panel: str, only: tuple[str, ...] = ()) -> Any:
    """Return the option of methods whose workers train on row shards and average their weights."""
    return option(
        8,
        minimum=1,
        maximum=10_000,
        panel=panel,
        only=only,
        help="With --cluster, how many times per epoch the weights of the workers are averaged.",
    )


def make_method(
    methods: Mapping[str, type[Method]], objective: str, *, seed: int = 0, **given: Any
) -> Method:
    """Return the method for an objective, with options parsed from the command line.

    Parameters
    ----------
    methods : the registry, `METHODS`.
    given : options by name, as text or as values; those that are None were not stated.
    """
    if objective not in methods:
        raise InputError(
            f"--objective must be one of {', '.join(methods)}, not {objective!r}."
            + did_you_mean(objective, methods)
        )
    kind = methods[objective]
    known = kind.command_options(objective)
    stated = {name: value for name, value in given.items() if value is not None}
    for name in stated:
        if name not in known:
            listed = ", ".join(one.flag for one in known.values())
            owners = ", ".join(one for one in methods if name in methods[one].command_options(one))
            raise InputError(
                f"--{name.replace('_', '-')} does not belong to --objective {objective}, which "
                f"takes {listed or 'no option'}."
                + (f" Objectives that have it: {owners}." if owners else "")
            )
        needed = known[name].needs
        if needed is not None:
            other, word = needed
            chosen = stated.get(other, known[other].default)
            if chosen != word:
                raise InputError(
                    f"{known[name].flag} belongs to {known[other].flag} {word}, not to {chosen}."
                )
    flags = {name: found.flag for name, found in known.items()}
    return make_from_options(kind, stated, names=flags, objective=objective, seed=seed)
