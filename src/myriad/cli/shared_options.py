"""Options that several verbs share, some of them made from registries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.verb import OptionPanel
from myriad.codes.registry import CODES, CodeOptions, code_options
from myriad.descriptors.registry import DESCRIPTORS
from myriad.options import Option, make_from_options, options_of
from myriad.pipelines.describing.options import (
    default_ratios,
    extraction_options,
    make_extract_options,
)
from myriad.pipelines.predicting.decision_options import DecisionOptions
from myriad.signatures.registry import AUTO, SIGNATURES

if TYPE_CHECKING:
    from myriad.pipelines.describing.options import ExtractOptions

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A folder with one sub-folder of images per class, a CSV manifest, an archive or a "
        "store.",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model folder.", show_default=False)
]
ImagesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="IMAGES",
        help="A folder with one sub-folder of images per class, a CSV manifest or an archive.",
        show_default=False,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Run on a Dask cluster: the address of its scheduler, or local:N for N processes.",
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory limit of training, such as 4GB; larger weights are trained one class shard "
        "at a time.",
        show_default="as needed",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        help="Labels of rows: a column or array, a file with one per row (.txt, .csv, .npy, "
        ".parquet; may be repeated), or the word folder; by default the column label.",
        show_default=False,
    ),
]
RowsColumn = Annotated[
    str | None,
    typer.Option(help="Column or array that holds the rows, if a file has several."),
]
StudyStore = Annotated[
    Path | None,
    typer.Option(help="Store for the rows extracted from images; by default OUT.store."),
]
Extraction = Callable[..., "ExtractOptions"]
"""Returns the checked extraction options of a verb; its arguments override single ones."""
Coding = Callable[..., CodeOptions]
"""The same for the options of a code."""


def split_list(text: str | None) -> list[str] | None:
    """Return the words of a list that is separated by commas, or None if there is no list."""
    if text is None:
        return None
    return [word for part in text.split(",") if (word := part.strip())]


def complete_words(*options: Option) -> Callable[[], list[str]]:
    """Return what lists the words of options, for the completion of a shell."""
    words = dict.fromkeys(word for one in options for word in (*one.choices, *one.words))
    return lambda: list(words)


def make_parameter(known: Option) -> inspect.Parameter:
    """Return an option as a parameter from which typer makes the flag and its help.

    Ranges are checked where the options are read, so that the help has more room.
    """
    settings: dict[str, Any] = {"help": known.help}
    if known.choices or known.words:
        settings["autocompletion"] = complete_words(known)
    if known.default is None:
        settings["show_default"] = known.default_text or False
    kind: Any = known.type | None if known.default is None else known.type
    flag = known.flag
    if known.is_flag and known.default is True:
        flag = f"{flag}/--no-{flag[2:]}"
        settings["show_default"] = known.name
    return inspect.Parameter(
        known.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=known.default,
        annotation=Annotated[kind, typer.Option(flag, *known.aliases, **settings)],
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
        "signature": [AUTO, *(spec.word for spec in SIGNATURES.values())],
        "descriptor": DESCRIPTORS,
        "codes": [word for word in (AUTO, *CODES) if word in CODES or "signature" in options],
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


_DECISIONS = options_of(DecisionOptions)


def _read_decisions(given: dict[str, Any]) -> DecisionOptions:
    flags = {name: known.flag for name, known in _DECISIONS.items()}
    return make_from_options(DecisionOptions, given, names=flags)


read_decisions = list_options("read_decisions", _DECISIONS, _read_decisions)
"""The options of what is decided for a row."""
Deciding = Callable[[], DecisionOptions]


def _read_coding(given: dict[str, Any]) -> CodeOptions:
    return CodeOptions(**given)


read_extraction = OptionPanel(
    choose_extraction(), "From images to vectors", first=("signature", "codes")
)
"""The options of how images become rows, one list for all verbs that make rows."""
_CODE = options_of(CodeOptions)
read_coding = list_options("read_coding", _describe(_CODE | code_options()), _read_coding)
"""The options of a code, for the verb that learns one by itself."""
