"""Checked access to a dictionary that may come from a damaged or malicious file."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, Self, TypeVar

from myriad.errors import InputError

LONGEST_TEXT = 300
LARGEST_COUNT = 2**53

Item = TypeVar("Item")


def clean_text(value: Any) -> str:
    """Return `value` as text that can be written and shown: control characters become visible.

    A newline shows as a bent arrow; other control characters and lone surrogates (undecodable
    file names) as U+FFFD. The text is cut after `LONGEST_TEXT` characters.
    """
    text = value if isinstance(value, str) else str(value)
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 1] + "…"
    return "".join(_show_character(character) for character in text)


def _show_character(character: str) -> str:
    if character in "\n\r":
        return "↵"
    if character == "\t":
        return "⇥"
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") else character


class Entry:
    """A dictionary of the evidence and its path in it, read value by value."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, Mapping):
            raise self.damage(where, "an object")
        self.content = content
        self.where = where

    @staticmethod
    def damage(where: str, expected: str) -> InputError:
        """Return the error of a value that is not what it must be."""
        return InputError(
            f"The evidence for the report is damaged: {where} must be {expected}. "
            "Evaluate the model again to renew it."
        )

    def number(self, key: str, largest: float) -> float | None:
        """Return a number from 0 to `largest`, or None."""
        value = self.content.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.damage(f"{self.where}.{key}", "a number")
        if not 0 <= value <= largest:  # false for NaN too
            raise self.damage(f"{self.where}.{key}", f"a number from 0 to {largest:g}")
        return value

    def percent(self, key: str) -> float | None:
        """Return a percentage, or None."""
        value = self.number(key, 100.001)
        return None if value is None else min(float(value), 100.0)

    def count(self, key: str) -> int:
        """Return a whole number, 0 where there is none."""
        return int(self.number(key, LARGEST_COUNT) or 0)

    def text(self, key: str) -> str:
        """Return a text that can be shown, empty where there is none."""
        value = self.content.get(key)
        return "" if value is None else clean_text(value)

    def path(self, key: str) -> str | None:
        """A path as it is, for the file system; it is never shown."""
        value = self.content.get(key)
        return value if isinstance(value, str) and value else None

    def entry(self, key: str) -> Entry:
        """Return a dictionary inside this one, empty where there is none."""
        value = self.content.get(key)
        return Entry({} if value is None else value, f"{self.where}.{key}")

    def items(self, key: str, read: Callable[[Entry], Item]) -> tuple[Item, ...]:
        """Return a list of dictionaries, each as `read` returns it."""
        value = self.content.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.damage(f"{self.where}.{key}", "a list")
        where = f"{self.where}.{key}"
        return tuple(read(Entry(item, f"{where}[{i}]")) for i, item in enumerate(value))


class Record:
    """The base class of dataclasses whose fields say how they are read from an entry::

    @dataclass(frozen=True)
    class Pair(Record):
        truth: str = text_field()
        count: int = count_field()
    """

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """Return the record of an entry; raise `InputError` where a value is damaged."""
        values = {}
        for one in fields(cls):  # type: ignore[arg-type]
            read, key = one.metadata["read"], one.metadata["key"]
            values[one.name] = read(entry, key or one.name)
        return cls(**values)


def read_as(read: Callable[[Entry, str], Any], key: str = "", *, default: Any = MISSING) -> Any:
    """Declare a field of a `Record`.

    Parameters
    ----------
    read : called with the entry and the key; returns the value.
    key : the key of the value; the name of the field if empty.
    default : of a record that is not read from an entry.
    """
    return field(default=default, metadata={"read": read, "key": key})


def number_to(largest: float) -> Callable[[Entry, str], float | None]:
    """Return the function that reads a number from 0 to `largest`, or None."""
    return lambda entry, key: entry.number(key, largest)


def records_of(kind: type[Record]) -> Callable[[Entry, str], tuple[Any, ...]]:
    """Return the function that reads a list of records."""
    return lambda entry, key: entry.items(key, kind.read)
