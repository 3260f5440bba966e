"""The decorator of verbs: common options, and how results are printed.

A verb is a function that takes its own options and `run`, does its work by one call of
`myriad.pipelines`, and returns a result with ``to_json() -> dict``::

    @verb(show=show, writes=["out"], resumes=True)
    def train(data: Annotated[Path, typer.Argument(...)], *, out: ..., run: Run) -> Trained:
        "Train a model."
        from myriad.pipelines.training.train import train_model

        return train_model(data, out, run=run)

Its file imports nothing heavy at the top, so that ``--help`` is quick.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, get_args

import typer
from typer.models import OptionInfo

from myriad.cli.progress import choose_progress
from myriad.cli.text import to_line
from myriad.errors import InputError, WorkError
from myriad.kernel_cache import report_to
from myriad.locks import locked
from myriad.pipelines.run import Run
from myriad.urls import as_path

Lists = Mapping[str, Callable[..., Any]]
"""For some parameters of a verb, a callable whose parameters are their options.
"""

INTERRUPTED = "Interrupted. What was finished is kept; run the same command again with --resume"


class Result(Protocol):
    """The result of a verb."""

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""


@dataclass(frozen=True)
class Outcome:
    """The result of a verb, and how to print it."""

    result: Result
    run: Run
    as_json: bool
    show: Callable[[Any, Run], None]

    @property
    def status(self) -> int:
        """The exit status: 0, unless the result has another `exit_status`."""
        return int(getattr(self.result, "exit_status", 0))

    def print(self) -> None:
        """Print the result on stdout: one JSON object, or tables."""
        if self.as_json:
            print(to_line(self.result.to_json()))
        else:
            self.show(self.result, self.run)


def _option(
    name: str, annotation: Any, default: Any, *flags: str, **rest: Any
) -> inspect.Parameter:
    described = typer.Option(*flags, rich_help_panel="Common options", **rest)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[annotation, described],
    )


_SEED = _option("seed", int, 0, "--seed", min=0, help="Seed of all random draws.")
_THREADS = _option(
    "threads",
    int | None,
    None,
    "--threads",
    min=1,
    help="Number of threads; by default one per core.",
)
_JSON = _option("as_json", bool, False, "--json", help="Print one JSON object and nothing else.")
_QUIET = _option("quiet", bool, False, "--quiet", "-q", help="Show no progress and no notes.")
_OVERWRITE = _option("overwrite", bool, False, "--overwrite", help="Replace existing output.")
_RESUME = _option("resume", bool, False, "--resume", help="Resume an earlier run.")


class Verb:
    """A verb: a function of its options and `run`, called with the common options as well.

    Typer reads options from the signature, which is made when it is read: a training method that is
    registered later has its options on the command too. See `verb` for the parameters.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        show: Callable[[Any, Run], None],
        lists: Lists,
        *,
        writes: Sequence[str],
        resumes: bool,
        locks: Sequence[str],
    ) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._function, self._show, self._lists, self._resumes = function, show, lists, resumes
        self._writes, self._locks = writes, locks
        self._common = [_SEED, _THREADS, _JSON, _QUIET]
        self._common += [_OVERWRITE] if writes else []
        self._common += [_RESUME] if resumes else []

    def __call__(self, **given: Any) -> Outcome:
        """Run the verb with all options, its own and the common ones."""
        common = {option.name: given.pop(option.name) for option in self._common}
        as_json = common.pop("as_json")
        run = _begin(**common)
        _refuse_huge(given | common)
        given = {name: _read_location(value) for name, value in given.items()}
        self._refuse_inputs_as_outputs(given)
        given = self._gather(given)
        with (
            _guarded(run, resumes=self._resumes),
            redirect_stdout(sys.stderr),
            report_to(run.progress.note),
            locked(*(given[name] for name in self._locks), progress=run.progress),
        ):
            result = self._function(**given, run=run)
        return Outcome(result, run, as_json, self._show)

    def _refuse_inputs_as_outputs(self, given: Mapping[str, Any]) -> None:
        """Raise `InputError` if an output would replace a file that the verb reads."""
        outputs = {name: path for name in self._writes if (path := given.get(name)) is not None}
        if not any(os.path.lexists(path) for path in outputs.values()):
            return
        from myriad.pipelines.outputs import refuse_input

        read = (value for name, value in given.items() if name not in outputs)
        inputs = [path for value in read for path in _list_paths(value)]
        for name, path in outputs.items():
            refuse_input(path, option=f"--{name.replace('_', '-')}", inputs=inputs)

    @property
    def __signature__(self) -> inspect.Signature:
        """The options: those of the function, with those of a list instead of it, then the common.

        What the function returns is left out, as its type need not be imported.
        """
        own = _parameters(self._function)
        options: list[inspect.Parameter] = []
        for name, option in own.items():
            if name in self._lists:
                listed = _parameters(self._lists[name]).values()
                options += [one for one in listed if one.name not in own]
            elif name != "run":
                options.append(option)
        options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
        return inspect.Signature([_name_value(option) for option in options + self._common])

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: one.annotation for name, one in self.__signature__.parameters.items()}

    def _gather(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function: for a list, its callable bound to its options."""
        own = _parameters(self._function)
        bound: dict[str, Any] = {}
        for name, read in self._lists.items():
            options = {option: given[option] for option in _parameters(read)}
            bound[name] = functools.partial(read, **options)
        return {name: value for name, value in given.items() if name in own} | bound


def verb(
    *,
    show: Callable[[Any, Run], None],
    writes: Sequence[str] = (),
    resumes: bool = False,
    lists: Lists | None = None,
    locks: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Verb]:
    """Return a decorator that turns a function of options and `run` into a verb.

    Parameters
    ----------
    show : prints the result as text; called with the result and `run`.
    writes : options that name what it writes. It then has ``--overwrite``, which never replaces
        an input.
    resumes : whether it can resume after an interruption, and so has ``--resume``.
    lists : lists of options that several verbs share or that a registry gives. The verb calls such
        a parameter to get the value of its options; an option that the verb has itself goes to
        both.
    locks : options whose folders are locked while the verb runs. The jobs of `myriad.pipelines`
        lock what they write; this is for verbs that add a page to the folder afterwards.
    """

    def decorate(function: Callable[..., Any]) -> Verb:
        return Verb(function, show, lists or {}, writes=writes, resumes=resumes, locks=locks)

    return decorate


class OptionPanel:
    """A list of options that the help shows under a heading of their own.

    Parameters
    ----------
    read : the callable whose parameters are the options.
    heading : the title of the panel.
    first : options that stay in the first panel.
    """

    def __init__(self, read: Callable[..., Any], heading: str, *, first: Collection[str]) -> None:
        self.read, self.heading, self.first = read, heading, first

    def __call__(self, **given: Any) -> Any:
        """Return the object that the options define."""
        return self.read(**given)

    @property
    def __signature__(self) -> inspect.Signature:
        parameters = _parameters(self.read).values()
        moved = [one if one.name in self.first else self._move(one) for one in parameters]
        return inspect.Signature(
            [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in moved]
        )

    def _move(self, parameter: inspect.Parameter) -> inspect.Parameter:
        kind, *described = get_args(parameter.annotation)
        moved = [copy.copy(info) for info in described]
        for info in moved:
            info.rich_help_panel = self.heading
        return parameter.replace(annotation=Annotated[(kind, *moved)])


_VALUES = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}
"""Names of types of values in the help."""


def _name_value(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return an option whose help names its value: Typer names types, and long ones for ranges."""
    kind, *described = get_args(parameter.annotation)
    plain = next((one for one in _list_types(kind) if one in _VALUES), None)
    if plain is None:
        return parameter
    named = [copy.copy(info) for info in described]
    for info in named:
        if isinstance(info, OptionInfo) and info.metavar is None:
            info.metavar = _VALUES[plain]
    return parameter.replace(annotation=Annotated[(kind, *named)])


def _list_types(annotation: Any) -> Iterator[Any]:
    """Yield a type and those inside it, such as int and None of ``int | None``."""
    yield annotation
    for inner in get_args(annotation):
        yield from _list_types(inner)


def _begin(*, overwrite: bool = False, resume: bool = False, quiet: bool, **rest: Any) -> Run:
    if overwrite and resume:
        raise InputError("--overwrite and --resume contradict each other: give one of them.")
    progress = choose_progress(sys.stderr, quiet=quiet)
    return Run(progress=progress, overwrite=overwrite, resume=resume, **rest)


@contextmanager
def _guarded(run: Run, *, resumes: bool) -> Iterator[None]:
    """Print how to resume after an interruption; report a broken pipe of a worker as a failure."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        how = f"{INTERRUPTED} in place of --overwrite." if run.overwrite else f"{INTERRUPTED}."
        raise KeyboardInterrupt(how if resumes else "Interrupted.") from interruption
    except BrokenPipeError as error:
        raise WorkError("A worker process ended unexpectedly.") from error


def _refuse_huge(given: Mapping[str, Any]) -> None:
    """Raise `InputError` for a whole number that no processor has: Python's have no end."""
    for name, value in given.items():
        if isinstance(value, int) and value >= 2**63:
            option = "-" * min(2, len(name)) + name.strip("_").replace("_", "-")
            raise InputError(f"{option} must be below 2 to the power of 63, not {value}.")


def _read_location(value: Any) -> Any:
    """Return a value; a path that is written as a URL becomes a `UrlPath`."""
    return as_path(value) if isinstance(value, Path) else value


def _list_paths(value: Any) -> list[Path]:
    """Return the paths that an option may name: a text may be one too."""
    values = value if isinstance(value, list) else [value]
    return [as_path(one) for one in values if isinstance(one, str | Path)]


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    getattr(function, "__annotations__", {}).pop("return", None)
    return inspect.signature(function, eval_str=True).parameters
