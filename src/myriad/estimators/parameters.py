"""Checks of the parameters of the public classes, before any work is done.

The ranges of parameters that are options of a method are checked by `myriad.options`. Here the type
of every parameter is checked, as the constructor states it, so that a wrong value gives a sentence
with its name and not an error of a kernel.
"""

from __future__ import annotations

import inspect
import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.parallel import thread_count

MOST = 2**62
"""Whole numbers must be below it: kernels have integers of 64 bits."""
_NAMES = {"int": "a whole number", "float": "a number", "bool": "True or False", "str": "text"}


def check_parameters(estimator: Any) -> None:
    """Raise `InputError` for the first parameter whose value is not of a type that it may have.

    Parameters of other types than numbers, texts and truth values are left to their users.
    """
    parameters = inspect.signature(type(estimator).__init__).parameters
    for name, value in estimator.get_params(deep=False).items():
        kinds = [kind.strip() for kind in str(parameters[name].annotation).split("|")]
        if name == "threads":
            thread_count(value)
        elif name == "random_state":
            check_seed(value)
        elif all(kind in _NAMES or kind == "None" for kind in kinds):
            _check(name, value, kinds)


def check_seed(random_state: Any) -> None:
    """Raise `InputError` for an integer that cannot be a seed."""
    if isinstance(random_state, Integral) and 0 <= int(random_state) < MOST:
        return
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return
    raise InputError(
        f"random_state must be a whole number from 0 to below 2^62, not {random_state!r}."
    )


def _check(name: str, value: Any, kinds: list[str]) -> None:
    if any(_is_of(value, kind) for kind in kinds):
        return
    expected = " or ".join(_NAMES.get(kind, kind) for kind in kinds)
    raise InputError(f"{name} must be {expected}, not {value!r}.")


def _is_of(value: Any, kind: str) -> bool:
    """Return whether a value is of the type of an annotation; NaN is of none."""
    match kind:
        case "None":
            return value is None
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool | np.bool_) or (_is_of(value, "int") and value in (0, 1))
    if isinstance(value, bool | np.bool_):
        return False
    if kind == "int":
        return isinstance(value, Integral) and abs(int(value)) < MOST
    return isinstance(value, Real) and not math.isnan(value)
