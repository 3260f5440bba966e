"""A part: something learned once and then frozen, kept as plain settings and named arrays.

PCA, mixtures, encoders, codes and models are all parts. A part is a frozen dataclass; `flatten`
turns it into JSON settings and a flat dictionary of arrays, `restore` does the reverse, and neither
runs anything that a file says. Parts nest: the arrays of a field ``pca`` are named ``pca.mean``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any, ClassVar

import numpy as np

from myriad.errors import InputError

_KINDS: dict[str, type[Serialisable]] = {}


@dataclasses.dataclass(frozen=True, eq=False)
class Serialisable:
    """The base of all parts; a subclass names its `kind` in the class statement.

    A subclass checks its own fields in ``__post_init__`` and raises `InputError` if they do not fit
    together, because fields may come from a file.
    """

    kind: ClassVar[str]

    def __init_subclass__(cls, *, kind: str | None = None, **options: Any) -> None:
        """Enter the class under its kind, so that `restore` finds it."""
        super().__init_subclass__(**options)
        if kind is not None:
            taken = _KINDS.get(kind)
            if taken is not None and taken.__qualname__ != cls.__qualname__:
                raise TypeError(f"{cls.__qualname__} and {taken.__qualname__} are both {kind!r}.")
            cls.kind = kind
            _KINDS[kind] = cls


def flatten(part: Serialisable) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a part's settings (safe for JSON) and arrays (by dotted name).

    Arrays are C-contiguous: safetensors writes the memory of any other as if it were.
    """
    settings: dict[str, Any] = {"kind": part.kind}
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Serialisable):
            settings[field.name], nested = flatten(value)
            arrays.update({f"{field.name}.{name}": array for name, array in nested.items()})
        elif isinstance(value, np.ndarray):
            arrays[field.name] = np.ascontiguousarray(value)
        else:
            settings[field.name] = list(value) if isinstance(value, tuple) else value
    return settings, arrays


def restore(
    settings: Any, arrays: dict[str, np.ndarray], expected: type[Serialisable] = Serialisable
) -> Any:
    """Rebuild the part that `flatten` took apart; `expected` is what the caller can use."""
    kind = settings.get("kind") if isinstance(settings, dict) else None
    part = _KINDS.get(kind) if isinstance(kind, str) else None
    if part is None or not issubclass(part, expected):
        raise InputError(f"Settings of an unknown kind {kind!r}: the file is damaged or newer.")
    values: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        if field.name in settings:
            value = settings[field.name]
            if isinstance(value, dict) and "kind" in value:
                value = restore(value, arrays_below(arrays, field.name))
            values[field.name] = tuple(value) if isinstance(value, list) else value
        elif field.name in arrays:
            values[field.name] = arrays[field.name]
    try:
        return part(**values)
    except TypeError as error:
        raise InputError(f"Settings or arrays of the {kind!r} part do not fit: {error}.") from None


def fingerprint(part: Serialisable) -> str:
    """Return a hash of all that a part is; two parts with the same one do the same."""
    settings, arrays = flatten(part)
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def size_of(part: Serialisable) -> int:
    """Return the bytes of a part's arrays."""
    return sum(array.nbytes for array in flatten(part)[1].values())


def arrays_below(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the arrays of the part that is called `name`, by their names within it."""
    start = len(name) + 1
    return {key[start:]: array for key, array in arrays.items() if key.startswith(f"{name}.")}
