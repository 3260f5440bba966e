"""Options: each is stated once, on the dataclass field of the thing it configures.

A field declared with `option` carries its range, the words it accepts and one line of help. The
command line, the scikit-learn constructors, ``tune``, ``compare`` and the tables of the
documentation read them from there::

    @dataclass(frozen=True, kw_only=True)
    class TopK(Method):
        k: int = option(1, minimum=1, help="Number of guesses that the loss allows.")
        tol: float = option(1e-3, above=0, below=1, help="Relative duality gap to stop at.")

A field whose default is another dataclass with options, declared with `option_group`, contributes
the options of that dataclass, so that a caller sees one flat list.

This module imports nothing heavy: the help of the command is built from it.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

from myriad.errors import InputError

T = TypeVar("T")
_KEY, _GROUP = "myriad option", "myriad option group"


@dataclass(frozen=True)
class Option:
    """What is known of one option.

    Attributes
    ----------
    name : the name of the field and of the keyword argument; the flag has dashes instead.
    type : ``int``, ``float``, ``bool`` or ``str``.
    default : the value of the field where the option is not given.
    help : one line for the command and the documentation.
    choices : the words that a ``str`` option accepts; empty for any.
    words : words that stand for a value, such as ``{"auto": None}``.
    optional : whether None is accepted.
    minimum, maximum : the closed range of a number.
    above, below : the open range of a number.
    panel : the heading under which ``--help`` lists it.
    default_text : how the default is shown where the value itself says too little.
    """

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    words: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    optional: bool = False
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    panel: str = ""
    default_text: str | None = None

    @property
    def flag(self) -> str:
        """The option as the command spells it."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown_default(self) -> str:
        """The default as the help and the documentation show it."""
        if self.default_text is not None:
            return self.default_text
        for word, value in self.words.items():
            if _same(value, self.default):
                return word
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return "none" if self.default is None else f"{self.default}"

    def parse(self, value: Any, *, name: str | None = None) -> Any:
        """Return the value of text from the command line or of a Python argument, checked.

        Raises `InputError` where the value is of the wrong type or out of range.

        Parameters
        ----------
        name : what the error calls the option; by default its name.
        """
        name = name or self.name
        if isinstance(value, str) and value in self.words:
            return self.words[value]
        if value is None and self.optional:
            return None
        if any(_same(value, stood_for) for stood_for in self.words.values()):
            return value
        if self.type is bool:
            if not isinstance(value, bool) and value not in (0, 1):
                raise InputError(f"{name} must be True or False, not {value!r}.")
            return bool(value)
        if self.type is str:
            return self._parse_word(value, name)
        return self._parse_number(value, name)

    def _parse_word(self, value: Any, name: str) -> str:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise InputError(f"{name} must be one of {self.expected}, not {value!r}.")
        return value

    def _parse_number(self, value: Any, name: str) -> float | int:
        error = InputError(f"{name} must be {self.expected}, not {value!r}.")
        if isinstance(value, bool):
            raise error
        try:
            number = int(value) if self.type is int else float(value)
        except (TypeError, ValueError, OverflowError):
            raise error from None
        if isinstance(value, Real) and value != number:  # 2.5 is no whole number
            raise error
        if not self._contains(number):
            raise error
        return number

    def _contains(self, number: float) -> bool:
        return not (
            math.isnan(number)
            or (self.minimum is not None and number < self.minimum)
            or (self.maximum is not None and number > self.maximum)
            or (self.above is not None and number <= self.above)
            or (self.below is not None and number >= self.below)
        )

    @property
    def expected(self) -> str:
        """What is accepted, as an error says it: "a number above 0, all or auto"."""
        if self.type is bool:
            return " or ".join(["True", "False", *self.words])
        if self.type is str:
            return ", ".join([*self.choices, *self.words]) or "text"
        kind = "a whole number" if self.type is int else "a number"
        low = f" of at least {self.minimum:g}" if self.minimum is not None else ""
        low = f" above {self.above:g}" if self.above is not None else low
        high = f" of at most {self.maximum:g}" if self.maximum is not None else ""
        high = f" below {self.below:g}" if self.below is not None else high
        joined = f"{low} and{high}" if low and high else low + high
        return " or ".join([kind + joined, *self.words])


def option(
    default: Any,
    *,
    help: str,
    choices: typing.Iterable[str] = (),
    words: Mapping[str, Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    panel: str = "",
    default_text: str | None = None,
    name: str | None = None,
    repr: bool = True,
) -> Any:
    """Declare a dataclass field as an option; see `Option` for the parameters.

    Parameters
    ----------
    name : the name of the option, where it differs from that of the field.
    """
    stated = {
        "help": help,
        "choices": tuple(choices),
        "words": dict(words or {}),
        "minimum": minimum,
        "maximum": maximum,
        "above": above,
        "below": below,
        "panel": panel,
        "default_text": default_text,
    }
    return dataclasses.field(default=default, repr=repr, metadata={_KEY: (name, stated)})


def option_group(make: Callable[[], Any]) -> Any:
    """Declare a dataclass field that holds a dataclass with options of its own."""
    return dataclasses.field(default_factory=make, metadata={_GROUP: True})


def options_of(kind: type) -> dict[str, Option]:
    """Return the options of a dataclass by name, those of its groups among them."""
    return {found.name: found for _, found in _walk(kind)}


def make_from_options(kind: type[T], given: Mapping[str, Any], **rest: Any) -> T:
    """Return an instance of a dataclass from a flat list of options, each parsed and checked.

    Parameters
    ----------
    given : values by the name of the option; options that are left out keep their default.
    rest : fields that are not options.
    """
    unknown = given.keys() - options_of(kind).keys()
    if unknown:
        raise InputError(f"{kind.__name__} has no option {', '.join(sorted(unknown))}.")
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = dict(rest)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.metadata.get(_GROUP):
            group = hints[field.name]
            inner = {name: given[name] for name in options_of(group) if name in given}
            if inner:
                values[field.name] = make_from_options(group, inner)
        elif _KEY in field.metadata:
            found = _read(field, hints[field.name])
            if found.name in given:
                values[field.name] = found.parse(given[found.name])
    return kind(**values)


def check_options(instance: Any) -> None:
    """Raise `InputError` unless every option of a dataclass instance has a value in its range."""
    hints = typing.get_type_hints(type(instance))
    for field in dataclasses.fields(instance):
        if _KEY in field.metadata:
            found = _read(field, hints[field.name])
            found.parse(getattr(instance, field.name))


def flat_values(instance: Any) -> dict[str, Any]:
    """Return the options of a dataclass instance by name, those of its groups among them."""
    values: dict[str, Any] = {}
    for field, found in _walk(type(instance), groups=True):
        if found is None:
            values |= flat_values(getattr(instance, field.name))
        else:
            values[found.name] = getattr(instance, field.name)
    return values


def _walk(kind: type, *, groups: bool = False) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    """Yield each field with its option; with `groups`, a group once with None in its place."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if field.metadata.get(_GROUP):
            if groups:
                yield field, None
            else:
                yield from _walk(hints[field.name])
        elif _KEY in field.metadata:
            yield field, _read(field, hints[field.name])


def _read(field: dataclasses.Field[Any], hint: Any) -> Option:
    """Return the option of a field, its type taken from the annotation."""
    name, stated = field.metadata[_KEY]
    arguments = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    plain = [argument for argument in arguments if argument is not type(None)]
    kind = next((k for k in (str, float, int, bool) if k in plain), None)
    if kind is None:
        raise TypeError(f"{field.name}: an option is an int, a float, a bool or a str.")
    optional = type(None) in arguments
    return Option(
        name=name or field.name, type=kind, default=field.default, optional=optional, **stated
    )


def _same(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and bool(left == right))
