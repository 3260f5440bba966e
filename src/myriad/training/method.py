"""What every way of training is: a method with its options, from rows to a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from myriad.errors import InputError
from myriad.models import Model
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint


@dataclass(frozen=True)
class Fitted:
    """A trained model, and how it came about.

    Attributes
    ----------
    model : what was learned.
    settings : the numbers used, plain JSON; what ``train`` prints and the model folder keeps.
    epochs : passes after which the model is as returned.
    history : a row for each epoch, at least ``epoch``, ``top1``, ``top5`` and ``seconds``.
    table : settings tried, with the validation accuracy of each.
    """

    model: Model
    settings: dict[str, Any]
    epochs: int
    history: list[dict[str, Any]] = field(default_factory=list)
    table: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way of training with its options; the base of all.

    Options are numbers; one left at None is found on validation rows.

    Attributes
    ----------
    objective : the name by which the method is known.
    seed : what order and draws follow.
    """

    objective: str
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise InputError(f"The seed must be a number from 0 to 2^63 - 1, not {self.seed}.")

    @property
    def spreads(self) -> bool:
        """Whether `fit` takes a workers, whose workers do pieces of the training."""
        return False

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether validation rows are needed to find a number."""

    @abstractmethod
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
        """Train on rows.

        With validation rows, what is left open is searched on them and the best model is kept;
        without, modest numbers stand in. A run with a checkpoint goes on from where another one
        with the same checkpoint was broken off, to the same model.
        """

    @abstractmethod
    def settled(self, fitted: Fitted) -> Self:
        """Return the method with nothing left to find, as `fitted` found it."""


@dataclass(frozen=True)
class MethodSpec:
    """How a method is asked for by words, as the command does.

    Attributes
    ----------
    make : makes the method from its seed and options.
    options : for each option's name, what turns a word into its value.
    """

    make: Callable[..., Method]
    options: Mapping[str, Callable[[str, Any], Any]]


def make_method(
    methods: Mapping[str, MethodSpec], objective: str, *, seed: int = 0, **given: Any
) -> Method:
    """Return the method for an objective; options that are None were not given."""
    if objective not in methods:
        raise InputError(f"--objective must be one of {', '.join(methods)}, not {objective!r}.")
    spec = methods[objective]
    stated = {name: value for name, value in given.items() if value is not None}
    for name in stated:
        if name not in spec.options:
            known = ", ".join(f"--{option.replace('_', '-')}" for option in spec.options)
            raise InputError(
                f"--{name.replace('_', '-')} does not belong to --objective {objective}, which "
                f"takes {known or 'no option'}."
            )
    parsed = {
        name: spec.options[name](f"--{name.replace('_', '-')}", value)
        for name, value in stated.items()
    }
    return spec.make(seed=seed, **parsed)


def number_or(**words: float | None) -> Callable[[str, Any], float | None]:
    """Return what reads a number, or a word that stands for one."""

    def parse(name: str, value: Any) -> float | None:
        if isinstance(value, str) and value in words:
            return words[value]
        try:
            return float(value)
        except (TypeError, ValueError):
            expected = " or ".join(["a number", *words])
            raise InputError(f"{name} must be {expected}, not {value!r}.") from None

    return parse


def one_of(choices: Mapping[Any, Any]) -> Callable[[str, Any], Any]:
    """Return what reads one of some words as what it stands for."""

    def parse(name: str, value: Any) -> Any:
        if not isinstance(value, Hashable) or value not in choices:
            raise InputError(
                f"{name} must be one of {', '.join(str(word) for word in choices)}, not {value!r}."
            )
        return choices[value]

    return parse


def whole_number(name: str, value: Any) -> int:
    """Read a whole number."""
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or (isinstance(value, float) and value != found):
        raise InputError(f"{name} must be a whole number, not {value!r}.")
    return found


def yes_or_no(name: str, value: Any) -> bool:
    """Read a switch."""
    return bool(value)
