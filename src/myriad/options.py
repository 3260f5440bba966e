"""Options: each is stated once, on the dataclass field of the thing it configures.

A field declared with `option` carries its range, the words it accepts and one line of help. The
command line, the scikit-learn constructors, ``tune``, ``compare`` and the tables of the
documentation read them from there::

    @dataclass(frozen=True, kw_only=True)
    class TopK(Method):
        k: int = option(1, minimum=1, help="The k of the top-k loss.")
        tol: float = option(1e-3, above=0, below=1, help="Relative duality gap.")

A field whose default is another dataclass with options, declared with `option_group`, contributes
the options of that dataclass, so that a caller sees one flat list.

This module imports nothing heavy: the help of the command is built from it.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from myriad.errors import InputError, did_you_mean, quote

T = TypeVar("T")
_KEY, _GROUP = "myriad option", "myriad option group"
_TYPES = {"str": str, "float": float, "int": int, "bool": bool}


@dataclass(frozen=True)
class Option:
    """An option: its name, type, default, range and help.

    Attributes
    ----------
    name : the name of the field and of the keyword argument; the flag has dashes instead.
    type : ``int``, ``float``, ``bool`` or ``str``.
    default : the value of the field where the option is not given.
    help : one sentence for the command and the documentation.
    choices : the words that a ``str`` option accepts, each with its meaning (or an empty text).
    words : names of special values, such as ``{"auto": None}``. A ``str`` option without
        choices and words accepts any text.
    optional : whether None is accepted.
    minimum, maximum : the closed range of a number. Infinity is accepted only where `maximum` or
        one of the `words` says so.
    above, below : the open range of a number.
    hint : a sentence that follows the error of a wrong value.
    panel : the heading under which ``--help`` lists it; empty for the options used first.
    aliases : further flags of the command, such as ``--learning-rate``.
    only : the objectives (or other registered names) that it belongs to, where one class serves
        several; empty for all of them.
    needs : another option and the word that it must have for this one to have a meaning, such as
        ``("schedule", "decay")``.
    command : whether the command has it; otherwise it is for Python alone.
    default_text : how the default is shown where the value itself says too little.
    """

    name: str
    type: type
    default: Any
    help: str
    choices: Mapping[str, str] = dataclasses.field(default_factory=dict)
    words: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    optional: bool = False
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    hint: str = ""
    panel: str = ""
    aliases: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None
    command: bool = True
    default_text: str | None = None

    @property
    def flag(self) -> str:
        """The option as the command spells it."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_flag(self) -> bool:
        """Whether the command takes the option without a value."""
        return self.type is bool and not self.words

    @property
    def shown_default(self) -> str:
        """The default as the help and the documentation show it."""
        if self.default_text is not None:
            return self.default_text
        found = self.spell(self.default)
        if isinstance(found, bool):
            return "yes" if found else "no"
        if isinstance(found, float):
            return f"{found:g}"
        return "none" if found is None else f"{found}"

    @property
    def values_text(self) -> str:
        """The words that it accepts, with their meanings: "trace (low rank) or l1 (few weights)".

        Empty for numbers, whose help explains their words.
        """
        listed = {**self.choices, **dict.fromkeys(self.words, "")}
        if self.type not in (str, bool) or not listed:
            return ""
        shown = [f"{word} ({meaning})" if meaning else word for word, meaning in listed.items()]
        return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))

    @property
    def sentence(self) -> str:
        """The help with the words that are accepted."""
        text = self.help.rstrip(".")
        return f"{text}: {self.values_text}." if self.values_text else f"{text}."

    def spell(self, value: Any) -> Any:
        """Return a value as a user would write it: by its name in `words`, if it has one."""
        for word, special in self.words.items():
            if _equal(value, special):
                return word
        return value

    def parse(self, value: Any, *, name: str | None = None) -> Any:
        """Return the value of text from the command line or of a Python argument, checked.

        Raises `InputError` where the value is of the wrong type or out of range.

        Parameters
        ----------
        name : what the error calls the option; by default its name.
        """
        if isinstance(value, str) and value in self.words:
            return self.words[value]
        if value is None and self.optional:
            return None
        for special in self.words.values():
            if _equal(value, special):
                return special
        parse = {bool: self._parse_bool, str: self._parse_word}.get(self.type, self._parse_number)
        try:
            return parse(value)
        except (TypeError, ValueError, OverflowError):
            hint = f" {self.hint}" if self.hint else ""
            if isinstance(value, str):
                hint = did_you_mean(value, [*self.choices, *self.words]) or hint
            raise InputError(
                f"{name or self.name} must be {self.expected}, not {quote(value)}.{hint}"
            ) from None

    def _parse_bool(self, value: Any) -> bool:
        if isinstance(value, str) or value not in (0, 1):
            raise ValueError
        return bool(value)

    def _parse_word(self, value: Any) -> str:
        listed = bool(self.choices or self.words)
        if not isinstance(value, str) or (listed and value not in self.choices):
            raise ValueError
        return value

    def _parse_number(self, value: Any) -> float | int:
        if isinstance(value, bool):
            raise ValueError
        number = int(value) if self.type is int else float(value)
        whole = self.type is not int or isinstance(value, str) or value == number
        if not whole or not self._contains(number):
            raise ValueError
        return number

    def _contains(self, number: float) -> bool:
        if math.isinf(number) and number not in (self.maximum, *self.words.values()):
            return False
        return not (
            math.isnan(number)
            or (self.minimum is not None and number < self.minimum)
            or (self.maximum is not None and number > self.maximum)
            or (self.above is not None and number <= self.above)
            or (self.below is not None and number >= self.below)
        )

    @property
    def expected(self) -> str:
        """The accepted values in words, for errors: "a number above 0 or auto"."""
        if self.type is str or (self.type is bool and self.words):
            listed = ", ".join([*self.choices, *self.words])
            return f"one of {listed}" if listed else "text"
        if self.type is bool:
            return "True or False"
        kind = "a whole number" if self.type is int else "a number"
        low = f" of at least {self.minimum:g}" if self.minimum is not None else ""
        low = f" above {self.above:g}" if self.above is not None else low
        high = ""
        if self.maximum is not None and math.isfinite(self.maximum):
            high = f" at most {self.maximum:g}" if low else f" of at most {self.maximum:g}"
        high = f" below {self.below:g}" if self.below is not None else high
        joined = f"{low} and{high}" if low and high else low + high
        return " or ".join([kind + joined, *self.words])


def option(
    default: Any,
    *,
    help: str,
    choices: Iterable[str] | Mapping[str, str] = (),
    words: Mapping[str, Any] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    hint: str = "",
    panel: str = "",
    aliases: Iterable[str] = (),
    only: Iterable[str] = (),
    needs: tuple[str, str] | None = None,
    command: bool = True,
    default_text: str | None = None,
    name: str | None = None,
    repr: bool = True,
) -> Any:
    """Declare a dataclass field as an option; see `Option` for the parameters.

    Parameters
    ----------
    choices : the accepted words, or a mapping from them to their meanings.
    name : the name of the option, where it differs from that of the field.
    """
    stated = {
        "help": help,
        "choices": dict(choices) if isinstance(choices, Mapping) else dict.fromkeys(choices, ""),
        "words": dict(words or {}),
        "minimum": minimum,
        "maximum": maximum,
        "above": above,
        "below": below,
        "hint": hint,
        "panel": panel,
        "aliases": tuple(aliases),
        "only": tuple(only),
        "needs": needs,
        "command": command,
        "default_text": default_text,
    }
    return dataclasses.field(default=default, repr=repr, metadata={_KEY: (name, stated)})


def same_option(kind: type, name: str) -> Any:
    """Declare a dataclass field as the option of the same name of another dataclass."""
    field = {field.name: field for field in dataclasses.fields(kind)}[name]
    return dataclasses.field(default=field.default, metadata=field.metadata)


def option_group(kind: type, *, only: Iterable[str] = ()) -> Any:
    """Declare a dataclass field that holds another dataclass with options.

    Parameters
    ----------
    kind : that dataclass; its options with their defaults are the default of the field.
    only : as `Option.only`, of all options of the group.
    """
    return dataclasses.field(default_factory=kind, metadata={_GROUP: (kind, tuple(only))})


def options_of(kind: type) -> dict[str, Option]:
    """Return the options of a dataclass by name, those of its groups among them."""
    return dict(_options_of(kind))


@cache
def _options_of(kind: type) -> Mapping[str, Option]:
    options: dict[str, Option] = {}
    for field in dataclasses.fields(kind):
        group, only = _group_of(field)
        if group is not None:
            for inner in _options_of(group).values():
                options[inner.name] = dataclasses.replace(inner, only=only or inner.only)
        elif _KEY in field.metadata:
            options[_read(field).name] = _read(field)
    return options


def make_from_options(
    kind: type[T], given: Mapping[str, Any], *, names: Mapping[str, str] | None = None, **rest: Any
) -> T:
    """Return an instance of a dataclass from a flat list of options, each parsed and checked.

    Parameters
    ----------
    given : values by the name of the option; options that are left out keep their default.
    names : what errors call an option, where that is not its name.
    rest : fields that are not options.
    """
    names = names or {}
    unknown = given.keys() - options_of(kind).keys()
    if unknown:
        raise InputError(f"{kind.__name__} has no option {', '.join(sorted(unknown))}.")
    values: dict[str, Any] = dict(rest)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        group, _ = _group_of(field)
        if group is not None:
            inner = {name: given[name] for name in options_of(group) if name in given}
            if inner:
                values[field.name] = make_from_options(group, inner, names=names)
        elif _KEY in field.metadata:
            declared = _read(field)
            if declared.name in given:
                name = names.get(declared.name, declared.name)
                values[field.name] = declared.parse(given[declared.name], name=name)
    return kind(**values)


def select_options(
    kinds: Mapping[str, type], chosen: str, given: Mapping[str, Any], *, flag: str
) -> Any:
    """Return the options of one of several dataclasses, from a flat list of the options of all.

    Raises `InputError` where an option of another one has a value other than its default.

    Parameters
    ----------
    kinds : the dataclasses by the value of the option `flag` that chooses them.
    chosen : the value of `flag`, which names the one to make.
    given : values by the name of the option.
    """
    own, values = options_of(kinds[chosen]), {}
    for name, value in given.items():
        owners = {word: options_of(kind) for word, kind in kinds.items()}
        by_owner = {word: options[name] for word, options in owners.items() if name in options}
        if not by_owner:
            raise InputError(f"No {flag} has an option {name}.")
        known = own.get(name) or next(iter(by_owner.values()))
        values[name] = known.parse(value, name=known.flag)
        if name not in own and values.pop(name) != known.default:
            *first, last = by_owner
            listed = f"{', '.join(first)} and {last}" if first else last
            raise InputError(f"{known.flag} belongs to {flag} {listed}, not to {chosen}.")
    return make_from_options(kinds[chosen], values)


def check_options(instance: Any) -> None:
    """Parse every option of a dataclass instance in place, frozen or not.

    To be called by ``__post_init__``. Raises `InputError` where a value is out of range.
    """
    for field in dataclasses.fields(instance):
        if _KEY in field.metadata:
            value = _read(field).parse(getattr(instance, field.name))
            object.__setattr__(instance, field.name, value)


def flat_values(instance: Any) -> dict[str, Any]:
    """Return the options of a dataclass instance by name, those of its groups among them."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(instance):
        if _group_of(field)[0] is not None:
            values |= flat_values(getattr(instance, field.name))
        elif _KEY in field.metadata:
            values[_read(field).name] = getattr(instance, field.name)
    return values


def _group_of(field: dataclasses.Field[Any]) -> tuple[type | None, tuple[str, ...]]:
    return field.metadata.get(_GROUP, (None, ()))


@cache
def _read(field: dataclasses.Field[Any]) -> Option:
    """Return the option of a field, its type taken from the annotation.

    The annotation is read as text: names that are imported for type checkers only, which other
    fields of the same class may use, need not exist.
    """
    name, stated = field.metadata[_KEY]
    if isinstance(field.type, str):
        listed = [part.strip() for part in field.type.split("|")]
    else:
        listed = [kind.__name__ for kind in typing.get_args(field.type) or (field.type,)]
    kind = next((kind for word, kind in _TYPES.items() if word in listed), None)
    if kind is None:
        raise TypeError(f"{field.name}: an option is an int, a float, a bool or a str.")
    return Option(
        name=name or field.name,
        type=kind,
        default=field.default,
        optional="None" in listed or "NoneType" in listed,
        **stated,
    )


def _equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal; arrays never are."""
    try:
        return left is right or bool(left == right)
    except ValueError:
        return False
