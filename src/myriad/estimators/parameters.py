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

from myriad.errors import InputError, quote
from myriad.parallel import thread_count

MOST = 2**62
"""Whole numbers must be below it: kernels have integers of 64 bits."""
_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "tuple[int, int]": "a pair of whole numbers",
}

_OBJECTS = {
    "progress": ("step", "an object with the methods of myriad.progress.Progress"),
    "client": ("submit", "a Dask client, its address, or local:N"),
    "callback": ("__call__", "a function of one argument"),
    "class_weight": ("keys", "a mapping from labels to weights, 'balanced'"),
}
"""Parameters that take objects: an attribute that these have, and their name in errors."""
_TEXTS = ("client", "class_weight")
_COUNTS = {"n_components": 65536, "n_words": 65536, "n_bits": 2**31 - 1}
"""Parameters that count something, and the most of it, as the options of the command have it."""


def check_parameters(estimator: Any) -> None:
    """Raise `InputError` for the first parameter whose value is not of a type that it may have.

    Parameters of other types than numbers, texts and truth values are left to their users.
    """
    parameters = inspect.signature(type(estimator).__init__).parameters
    for name, value in estimator.get_params(deep=False).items():
        kinds = [kind.strip() for kind in str(parameters[name].annotation).split("|")]
        if name in _OBJECTS:
            _check_object(name, value)
        elif name == "threads":
            thread_count(value)
        elif name == "random_state":
            check_seed(value, optional="int" not in kinds)
        elif name in _COUNTS and _is_of(value, "int"):
            if not 1 <= value <= _COUNTS[name]:
                raise InputError(f"{name} must be from 1 to {_COUNTS[name]}, not {quote(value)}.")
        elif all(kind in _NAMES or kind == "None" for kind in kinds):
            _check(name, value, kinds)


def _check_object(name: str, value: Any) -> None:
    """Raise `InputError` for a value that is neither None nor has what such an object has."""
    attribute, expected = _OBJECTS[name]
    if value is None or hasattr(value, attribute) or (name in _TEXTS and isinstance(value, str)):
        return
    raise InputError(f"{name} must be {expected} or None, not {quote(value)}.")


def check_seed(random_state: Any, *, optional: bool = True) -> None:
    """Raise `InputError` for an integer that cannot be a seed.

    Parameters
    ----------
    optional : whether None, a seed that is drawn, is accepted.
    """
    if isinstance(random_state, Integral) and 0 <= int(random_state) < MOST:
        return
    if optional and (random_state is None or isinstance(random_state, np.random.RandomState)):
        return
    raise InputError(
        f"random_state must be a whole number from 0 to below 2^62, not {quote(random_state)}."
    )


def _check(name: str, value: Any, kinds: list[str]) -> None:
    if any(_is_of(value, kind) for kind in kinds):
        return
    expected = " or ".join(_NAMES.get(kind, kind) for kind in kinds)
    raise InputError(f"{name} must be {expected}, not {quote(value)}.")


def _is_of(value: Any, kind: str) -> bool:
    """Return whether a value is of the type of an annotation; NaN is of none."""
    match kind:
        case "None":
            return value is None
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool | np.bool_) or (_is_of(value, "int") and value in (0, 1))
        case "tuple[int, int]":
            pair = isinstance(value, tuple | list) and len(value) == 2
            return pair and all(_is_of(one, "int") for one in value)
    if isinstance(value, bool | np.bool_):
        return False
    if kind == "int":
        return isinstance(value, Integral) and abs(int(value)) < MOST
    if not isinstance(value, Real):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # an integer that is not a float
        return False
