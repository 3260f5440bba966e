"""The options of training methods on the command line, made from the registry `METHODS`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from myriad.cli.shared_options import complete_words
from myriad.options import Option
from myriad.training import METHODS, Method, make_method

DEFAULT, WITH_OPTIONS = "auto", "ovr"
"""The objective of ``train`` where none is given, and where one of its own options is."""
Stated = Mapping[str, Option]
"""An option by the objectives that have it, in the order of the registry."""


class MethodReader:
    """The options of all registered methods, as a list for `verb`; called, it makes the method."""

    @property
    def __signature__(self) -> inspect.Signature:
        found = {name: describe_option(stated) for name, stated in collect_options().items()}
        parameters: dict[str, Any] = {"objective": (describe_objective(default=DEFAULT), None)}
        parameters |= {name: (annotation, None) for name, annotation in found.items()}
        return inspect.Signature(
            [
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
                )
                for name, (annotation, default) in parameters.items()
            ]
        )

    def __call__(self, *, objective: str | None, seed: int, **given: Any) -> Method:
        """Return the method for an objective; options that are None were not given.

        Without an objective it is ``auto`` or, where an option is given that ``auto`` chooses by
        itself, such as a learning rate, ``ovr``.
        """
        if objective is None:
            stated = {name for name, value in given.items() if value is not None}
            chooses = stated <= METHODS[DEFAULT].command_options(DEFAULT).keys()
            objective = DEFAULT if chooses else WITH_OPTIONS
        return make_method(METHODS, objective, seed=seed, **given)


def collect_options() -> dict[str, Stated]:
    """Return the options of all registered methods by name."""
    found: dict[str, Any] = {}
    for objective, kind in METHODS.items():
        for name, option in kind.command_options(objective).items():
            found.setdefault(name, {})[objective] = option
    return found


def describe_objective(default: str | None = None) -> Any:
    """Return the annotation of ``--objective``.

    Parameters
    ----------
    default : what the help shows as the default where the value itself is None.
    """
    named = []
    for name, kind in METHODS.items():
        title = kind.titles.get(name)
        named.append(f"{name} ({title})" if title else name)
    text = f"Training objective: {', '.join(named[:-1])} or {named[-1]}."
    shown: dict[str, Any] = {"help": text, "metavar": "NAME", "autocompletion": lambda: [*METHODS]}
    if default is None:
        return Annotated[str, typer.Option("--objective", **shown)]
    return Annotated[str | None, typer.Option("--objective", show_default=default, **shown)]


def describe_option(stated: Stated) -> Any:
    """Return the annotation from which typer makes an option that one or more objectives have.

    Typer parses flags and whole numbers; all else is text, which the option itself parses. Ranges
    are left to the option too, so that the help has more room.
    """
    options = list(stated.values())
    first = options[0]
    flags = [first.flag, *dict.fromkeys(alias for one in options for alias in one.aliases)]
    shown: dict[str, Any] = {"help": join_help(stated), "show_default": join_defaults(stated)}
    if first.panel:
        shown["rich_help_panel"] = first.panel
    if all(one.is_flag for one in options):
        if first.default:
            flags[0] = f"{first.flag}/--no-{first.flag[2:]}"
            shown["show_default"] = first.flag[2:]
        else:
            shown["show_default"] = False
        return Annotated[bool | None, typer.Option(*flags, **shown)]
    if all(one.type is int and not one.words for one in options):
        return Annotated[int | None, typer.Option(*flags, metavar="INTEGER", **shown)]
    metavar = "NAME" if first.type in (str, bool) else "NUMBER"
    shown["autocompletion"] = complete_words(*options)
    return Annotated[str | None, typer.Option(*flags, metavar=metavar, **shown)]


def join_help(stated: Stated) -> str:
    """Return the help of an option; where objectives differ, what holds for each of them."""
    if len({option.help for option in stated.values()}) > 1:
        sentences = {name: option.sentence.rstrip(".") for name, option in stated.items()}
        return f"{_join(sentences, always=True)}."
    values = {name: option.values_text for name, option in stated.items()}
    first = next(iter(stated.values()))
    if len(set(values.values())) == 1:
        return first.sentence
    return f"{first.help.rstrip('.')}: {_join(values)}."


def join_defaults(stated: Stated) -> str:
    """Return the default of an option; where objectives differ, that of each of them."""
    return _join({name: option.shown_default for name, option in stated.items()})


def _join(texts: Mapping[str, str], *, always: bool = False) -> str:
    """Return texts by objective as one: ``50; topk, dual: 300``.

    Parameters
    ----------
    always : whether the objectives of the first text are named as well.
    """
    grouped: dict[str, list[str]] = {}
    for objective, text in texts.items():
        grouped.setdefault(text, []).append(objective)
    parts = [f"{', '.join(names)}: {text}" for text, names in grouped.items()]
    if not always:
        parts[0] = next(iter(grouped))
    return "; ".join(parts)


Objective = describe_objective()
"""``--objective`` of verbs that take no other options of methods."""
Epochs = describe_option(collect_options()["epochs"])
"""``--epochs`` of verbs that train several methods."""
