"""Serialisation of learned objects as plain JSON settings and named arrays.

PCA, mixtures, encoders, codes and models are all serialisable: frozen dataclasses that `flatten`
converts to JSON settings and a flat dictionary of arrays. `restore` does the reverse; it executes
no code from a file. Objects can be nested: the arrays of a field ``pca`` are named ``pca.mean``,
those of the first object of a tuple ``parts`` are named ``parts.0.mean``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from typing import Any, ClassVar

import numpy as np

from myriad.errors import InputError, quote

_KINDS: dict[str, type[Serialisable]] = {}
_LATER = "myriad later field"


@dataclasses.dataclass(frozen=True, eq=False)
class Serialisable:
    """The base class of learned objects; a subclass names its `kind` in the class statement.

    A subclass checks its fields in ``__post_init__``, with `check_array` and the like, and raises
    `InputError` if they are not consistent, because they may come from a file.
    """

    kind: ClassVar[str]

    def __init_subclass__(cls, *, kind: str | None = None, **options: Any) -> None:
        """Register the class under its kind, so that `restore` finds it."""
        super().__init_subclass__(**options)
        if kind is not None:
            taken = _KINDS.get(kind)
            if taken is not None and taken.__qualname__ != cls.__qualname__:
                raise TypeError(f"{cls.__qualname__} and {taken.__qualname__} are both {kind!r}.")
            cls.kind = kind
            _KINDS[kind] = cls


def later_field(default: Any) -> Any:
    """Declare a field that was added later; `default` is how objects without it behave.

    It is left out of the settings if it has that value, so that the fingerprint of earlier objects
    does not change: the shards of a store record that of their code.
    """
    return dataclasses.field(default=default, metadata={_LATER: True})


def check_array(
    array: Any,
    name: str,
    shape: tuple[int | None, ...],
    *,
    dtype: type = np.float32,
    finite: bool = True,
    empty: bool = False,
) -> None:
    """Raise `InputError` unless a field is an array of a dtype and a shape.

    Parameters
    ----------
    name : what errors call the array, such as "The mean of a PCA".
    shape : its sizes; None for any.
    finite : whether NaN and infinite values are refused; all values are read for that.
    empty : whether a size of None may be 0.
    """
    kind = np.dtype(dtype)
    if not isinstance(array, np.ndarray) or array.dtype != kind:
        actual = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise InputError(f"{name} must be an array of {kind}, not {actual}.")
    fits = array.ndim == len(shape) and all(
        size == wanted or (wanted is None and (empty or size > 0))
        for size, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        free = "any" if empty else "at least 1"
        sizes = ", ".join(free if size is None else str(size) for size in shape)
        raise InputError(f"{name} must have the shape ({sizes}), not {array.shape}.")
    if finite and not np.isfinite(array).all():
        raise InputError(f"{name} must not have NaN or infinite values.")


def check_orthonormal(columns: Any, name: str) -> None:
    """Raise `InputError` unless the columns of a finite array are orthonormal, but for rounding."""
    n_rows, n_columns = columns.shape
    # More columns than rows never are, and their products may not fit into memory.
    right = n_columns <= n_rows and np.abs(columns).max() < 1.01
    if not right or np.abs(columns.T @ columns - np.eye(n_columns)).max() > 0.01:
        raise InputError(f"{name} must have orthonormal columns.")


def check_count(value: Any, name: str) -> None:
    """Raise `InputError` unless a field is a whole number of at least 1."""
    if type(value) is not int or value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, not {quote(value)}.")


def check_type(value: Any, kind: type, name: str) -> None:
    """Raise `InputError` unless a field is an instance of a class."""
    if not isinstance(value, kind):
        actual = type(value).__name__
        raise InputError(f"{name} must be of the type {kind.__name__}, not {actual}.")


def is_number(value: Any) -> bool:
    """Return whether a field is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def flatten(item: Serialisable) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the settings (plain JSON) and the arrays (by dotted name) of an object.

    Arrays are C-contiguous, because safetensors writes the memory of others in a wrong order.
    """
    settings: dict[str, Any] = {"kind": item.kind}
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        if _LATER in field.metadata and value is field.default:
            continue
        if isinstance(value, Serialisable):
            settings[field.name], nested = flatten(value)
            arrays.update({f"{field.name}.{name}": array for name, array in nested.items()})
        elif isinstance(value, np.ndarray):
            arrays[field.name] = np.ascontiguousarray(value)
        elif isinstance(value, tuple) and any(isinstance(one, Serialisable) for one in value):
            settings[field.name] = []
            for number, one in enumerate(value):
                stated, nested = flatten(one)
                settings[field.name].append(stated)
                start = f"{field.name}.{number}"
                arrays.update({f"{start}.{name}": array for name, array in nested.items()})
        else:
            settings[field.name] = list(value) if isinstance(value, tuple) else value
    return settings, arrays


def restore(
    settings: Any, arrays: dict[str, np.ndarray], expected: type[Serialisable] = Serialisable
) -> Any:
    """Return the object that `flatten` converted; `InputError` if it is not an `expected`."""
    kind = settings.get("kind") if isinstance(settings, dict) else None
    item_type = _KINDS.get(kind) if isinstance(kind, str) else None
    if item_type is None or not issubclass(item_type, expected):
        raise InputError(f"Settings of an unknown kind {kind!r}: the file is damaged or newer.")
    values: dict[str, Any] = {}
    for field in dataclasses.fields(item_type):
        if field.name in settings:
            value = settings[field.name]
            if isinstance(value, dict) and "kind" in value:
                value = restore(value, arrays_below(arrays, field.name))
            elif isinstance(value, list):
                value = [
                    restore(one, arrays_below(arrays, f"{field.name}.{number}"))
                    if isinstance(one, dict) and "kind" in one
                    else one
                    for number, one in enumerate(value)
                ]
            values[field.name] = tuple(value) if isinstance(value, list) else value
        elif field.name in arrays:
            values[field.name] = arrays[field.name]
    try:
        return item_type(**values)
    except TypeError as error:
        raise InputError(f"Settings or arrays of kind {kind!r} are not valid: {error}.") from None


def fingerprint(item: Serialisable) -> str:
    """Return a hash of the settings and arrays; objects with the same hash behave the same."""
    settings, arrays = flatten(item)
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def size_of(item: Serialisable) -> int:
    """Return the size of the arrays of an object in bytes."""
    return sum(array.nbytes for array in flatten(item)[1].values())


def arrays_below(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the arrays of the nested object `name`, by their names within it."""
    start = len(name) + 1
    return {key[start:]: array for key, array in arrays.items() if key.startswith(f"{name}.")}
