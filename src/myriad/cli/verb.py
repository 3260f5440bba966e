"""What all verbs share: their common options, and what becomes of their result.

A verb is a function that takes its own options and `run`, does its work by one call of
`myriad.pipelines`, and returns a result with ``to_json() -> dict``::

    @verb(show=show, writes=True, resumes=True)
    def train(data: Annotated[Path, typer.Argument(...)], *, out: ..., run: Run) -> Trained:
        "Train a model."
        from myriad.pipelines.train import train_model

        return train_model(data, out=out, seed=run.seed, progress=run.progress)

Its file imports nothing heavy at the top, so that ``--help`` is quick.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from myriad.cli.objects import to_line
from myriad.cli.progress import choose_progress
from myriad.errors import InputError, WorkError
from myriad.kernel_cache import report_to
from myriad.locks import locked
from myriad.progress import Progress
from myriad.urls import as_path

Lists = Mapping[str, Callable[..., Any]]
"""For each of some parameters of a verb, a function whose parameters are the options that make it.
"""

INTERRUPTED = "Interrupted. What was finished is kept; run the same command again with --resume"


class Result(Protocol):
    """What a verb returns."""

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""


@dataclass(frozen=True)
class Run:
    """The common options of one call, as a verb sees them."""

    progress: Progress
    seed: int = 0
    threads: int | None = None
    quiet: bool = False
    overwrite: bool = False
    resume: bool = False


@dataclass(frozen=True)
class Outcome:
    """A verb's result and how it is to be printed."""

    result: Result
    run: Run
    as_json: bool
    show: Callable[[Any, Run], None]

    def print(self) -> None:
        """Print the result on stdout: one JSON object, or tables for people."""
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


_SEED = _option("seed", int, 0, "--seed", min=0, help="The number that all draws follow.")
_THREADS = _option(
    "threads",
    int | None,
    None,
    "--threads",
    min=1,
    help="Threads to use; one for each core if not given.",
)
_JSON = _option("as_json", bool, False, "--json", help="Print one JSON object and nothing else.")
_QUIET = _option("quiet", bool, False, "--quiet", "-q", help="Show no progress and no notes.")
_OVERWRITE = _option("overwrite", bool, False, "--overwrite", help="Replace what is already there.")
_RESUME = _option(
    "resume", bool, False, "--resume", help="Go on after what an earlier run finished."
)


def verb(
    *,
    show: Callable[[Any, Run], None],
    writes: bool = False,
    resumes: bool = False,
    lists: Lists | None = None,
    locks: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Outcome]]:
    """Make a function of its own options and `run` into a verb with the common options.

    Parameters
    ----------
    show : prints the result for people; called with the result and `run`.
    writes : whether it writes somewhere, and so has ``--overwrite``.
    resumes : whether it can go on after an interruption, and so has ``--resume``.
    lists : lists of options that several verbs share. Such a parameter of the verb is called
        without arguments to read its options; one that the verb states itself is told to both.
    locks : options whose folders are locked while the verb runs. The jobs of `myriad.pipelines`
        lock what they write; this is for verbs that add a page to the folder afterwards.
    """
    shared = lists or {}
    common = [_SEED, _THREADS, _JSON, _QUIET]
    common += [_OVERWRITE] if writes else []
    common += [_RESUME] if resumes else []

    def decorate(function: Callable[..., Any]) -> Callable[..., Outcome]:
        @functools.wraps(function)
        def call(**given: Any) -> Outcome:
            options = {option.name: given.pop(option.name) for option in common}
            as_json = options.pop("as_json")
            run = _begin(**options)
            given = {name: _read_place(value) for name, value in given.items()}
            given = _gather(given, function, shared)
            outputs = [given[name] for name in locks]
            with (
                _guarded(run, resumes=resumes),
                redirect_stdout(sys.stderr),
                report_to(run.progress.note),
                locked(*outputs, progress=run.progress),
            ):
                result = function(**given, run=run)
            return Outcome(result, run, as_json, show)

        _offer(call, function, common, shared)
        return call

    return decorate


def _begin(
    *, overwrite: bool = False, resume: bool = False, seed: int, quiet: bool, **rest: Any
) -> Run:
    if overwrite and resume:
        raise InputError("--overwrite and --resume contradict each other: give one of them.")
    if seed >= 2**63:
        raise InputError(f"--seed must be below 2 to the power of 63, not {seed}.")
    progress = choose_progress(sys.stderr, quiet=quiet)
    return Run(progress, seed=seed, quiet=quiet, overwrite=overwrite, resume=resume, **rest)


@contextmanager
def _guarded(run: Run, *, resumes: bool) -> Iterator[None]:
    """Say in an interruption how to go on, and tell a pipe of the work from stdout."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        how = f"{INTERRUPTED} in place of --overwrite." if run.overwrite else f"{INTERRUPTED}."
        raise KeyboardInterrupt(how if resumes else "Interrupted.") from interruption
    except BrokenPipeError as error:
        raise WorkError("A process that took part in the work ended too early.") from error


def _read_place(value: Any) -> Any:
    """Return what was given, a path that is written as a URL as one."""
    return as_path(value) if isinstance(value, Path) else value


def _gather(given: dict[str, Any], function: Callable[..., Any], lists: Lists) -> dict[str, Any]:
    """Return what a verb is called with: the options of a list bound to what reads them."""
    own = inspect.signature(function).parameters
    bound: dict[str, Any] = {}
    for name, read in lists.items():
        options = inspect.signature(read).parameters
        bound[name] = functools.partial(read, **{option: given[option] for option in options})
    return {name: value for name, value in given.items() if name in own} | bound


def _offer(
    call: Callable[..., Outcome],
    function: Callable[..., Any],
    common: list[inspect.Parameter],
    lists: Lists,
) -> None:
    """Give `call` the signature that typer reads: the function's own options, then the common ones.

    The options of a list stand where its parameter does. What a function returns is left out, as
    its type need not be imported when the file is.
    """
    own = _parameters(function)
    offered: list[inspect.Parameter] = []
    for name, option in own.items():
        if name in lists:
            offered += [o for o in _parameters(lists[name]).values() if o.name not in own]
        elif name != "run":
            offered.append(option)
    offered = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in offered]
    offered += common
    del call.__wrapped__  # type: ignore[attr-defined]
    call.__signature__ = inspect.Signature(offered)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in offered}


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    function.__annotations__.pop("return", None)
    return inspect.signature(function, eval_str=True).parameters
