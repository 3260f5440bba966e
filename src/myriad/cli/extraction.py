"""Lists of options that several verbs share, built from the registries of signatures and codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.codes.registry import CODES, CodeOptions, code_options
from myriad.descriptors.registry import DESCRIPTORS
from myriad.options import Option, options_of
from myriad.pipelines.row_options import (
    default_ratios,
    extraction_options,
    make_extract_options,
)
from myriad.signatures.registry import SIGNATURES

if TYPE_CHECKING:
    from myriad.pipelines.row_options import ExtractOptions

Extraction = Callable[..., "ExtractOptions"]
"""What a verb calls to get its options of extraction, checked; arguments override them."""
Coding = Callable[..., CodeOptions]
"""The same for the options of a code."""


def make_parameter(known: Option) -> inspect.Parameter:
    """Return an option as a parameter from which typer makes the flag and its help."""
    settings: dict[str, Any] = {"help": known.help}
    if known.type in (int, float):
        settings |= {
            bound: known.type(value)
            for bound, value in (("min", known.minimum), ("max", known.maximum))
            if value is not None
        }
    if known.default is None:
        settings["show_default"] = known.default_text or False
    kind: Any = known.type | None if known.default is None else known.type
    return inspect.Parameter(
        known.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=known.default,
        annotation=Annotated[kind, typer.Option(known.flag, **settings)],
    )


def list_options(name: str, options: Mapping[str, Option], read: Callable[..., Any]) -> Any:
    """Return a function of the given options for the `lists` of a verb."""

    def call(**given: Any) -> Any:
        return read(given)

    call.__name__ = call.__qualname__ = name
    parameters = [make_parameter(known) for known in options.values()]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _describe(options: Mapping[str, Option]) -> dict[str, Option]:
    """Return options whose help lists what the registries offer."""
    offered: dict[str, Iterable[str]] = {
        "signature": [spec.word for spec in SIGNATURES.values()],
        "descriptor": DESCRIPTORS,
        "codes": CODES,
    }
    described = {
        name: replace(known, help=f"{known.help}: {', '.join(offered[name])}.")
        if name in offered
        else known
        for name, known in options.items()
    }
    if "components" in described:
        sizes = [f"{s.name} {s.components}" for s in SIGNATURES.values() if s.components]
        described["components"] = replace(described["components"], default_text=", ".join(sizes))
    if "ratio" in described:
        described["ratio"] = replace(described["ratio"], default_text=default_ratios())
    return described


def choose_extraction(*names: str) -> Any:
    """Return the list of some of the options of extraction, or of all if none are named."""
    every = _describe(extraction_options())
    chosen = {name: every[name] for name in names} if names else every
    return list_options("read_extraction", chosen, make_extract_options)


def _read_coding(given: dict[str, Any]) -> CodeOptions:
    return CodeOptions(**given)


read_extraction = choose_extraction()
"""The options of how images become rows, one list for all verbs that make rows."""
_CODE = options_of(CodeOptions)
read_coding = list_options("read_coding", _describe(_CODE | code_options()), _read_coding)
"""The options of a code, for the verb that learns one by itself."""
