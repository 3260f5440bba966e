"""The command ``myriad``: its verbs, one file each, and its entry point.

A new verb is one file beside this one and one line in `PANELS`.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from myriad.cli.execution import INTERRUPTED, execute
from myriad.lazy import import_name

PANELS = {
    "Train and use a model": {
        "demo": "demo",
        "check": "check",
        "train": "train",
        "predict": "predict",
        "evaluate": "evaluate",
        "explain": "explain",
        "serve": "serve",
    },
    "Change a model": {"extend": "extend", "forget": "forget", "merge": "merge"},
    "Stores of rows": {
        "extract": "extract",
        "import": "import_",
        "compress": "compress",
        "export": "export",
    },
    "Experiments": {"tune": "tune", "compare": "compare", "report": "report", "plan": "plan"},
    "Help": {"info": "info", "warm-up": "warm_up"},
}
"""The verbs in the panels of ``myriad --help``, each with its module here and its function."""
VERBS = {name: verb for verbs in PANELS.values() for name, verb in verbs.items()}

COMPLETING = "_MYRIAD_COMPLETE"
"""Environment variable by which a shell asks for completions instead of running a verb."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from myriad.version import __version__

        typer.echo(f"myriad {__version__}")
        raise typer.Exit


def myriad(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Classify images into thousands of classes with linear models, on ordinary machines."""


class _ShortHelp:
    """Mixin of commands whose help leaves more room for the texts on a narrow terminal.

    Flags have no type beside them, as they take no value, and all long names of an option share a
    column, in which they may be wrapped.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments, with those that Typer adds, such as ``--help``."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        names = {one: (one.opts, one.secondary_opts) for one in self.get_params(ctx)}
        for one, (first, second) in names.items():
            joined = ", ".join(name for name in (*first, *second) if name.startswith("--"))
            short = [name for name in first if not name.startswith("--")]
            one.opts, one.secondary_opts = [joined, *short] if joined else first, []
        try:
            super().format_help(ctx, formatter)  # type: ignore[misc]
        finally:  # the same objects parse the arguments of a later call
            for one, (first, second) in names.items():
                one.opts, one.secondary_opts = first, second


class VerbCommand(_ShortHelp, TyperCommand):
    """The command of one verb."""


class VerbGroup(_ShortHelp, TyperGroup):
    """The command ``myriad`` itself."""


def find_verb(name: str) -> Callable[..., Any]:
    """Return the function of a verb."""
    verb: Callable[..., Any] = import_name(f"myriad.cli.{VERBS[name]}", VERBS[name])
    return verb


def make_app(names: Iterable[str] = VERBS) -> typer.Typer:
    """Return the command with some verbs: one verb is imported sooner than all of them."""
    app = typer.Typer(
        name="myriad",
        cls=VerbGroup,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(myriad)
    panels = {name: panel for panel, verbs in PANELS.items() for name in verbs}
    for name in names:
        app.command(name, cls=VerbCommand, rich_help_panel=panels[name])(find_verb(name))
    return app


def choose_app(arguments: Sequence[str]) -> typer.Typer:
    """Return the command with the verb that the arguments name, or with all verbs for others."""
    return make_app(arguments[:1] if arguments and arguments[0] in VERBS else VERBS)


def __getattr__(name: str) -> Any:
    """Return `app`, the command with all verbs, which is built at first use."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = made = make_app()
    return made


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, to read and write nothing.

    Otherwise Python has None instead of a stream, and the next file that is opened has its
    descriptor, to which libraries may write messages.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                nowhere = os.open(os.devnull, os.O_RDWR)
                if nowhere != number:
                    os.dup2(nowhere, number)
                    os.close(nowhere)
                mode = "r" if name == "stdin" else "w"
                setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _remove_temporary_folder() -> None:
    """Remove the folder that `multiprocessing` made, as it does itself when Python ends."""
    if "multiprocessing.util" in sys.modules:
        import multiprocessing
        import shutil

        folder = multiprocessing.current_process()._config.get("tempdir")  # type: ignore[attr-defined]
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def run() -> None:
    """Run the command with the arguments of the process, and exit."""
    if not sys.warnoptions and os.environ.get("MYRIAD_DEBUG") != "1":
        warnings.simplefilter("ignore")  # for programmers; users get sentences
    _open_closed_streams()
    if COMPLETING in os.environ:  # set by the script of ``--show-completion`` at each press of Tab
        make_app()(prog_name="myriad")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a label the locale cannot write
    arguments = sys.argv[1:]
    status = execute(choose_app(arguments), arguments)
    if status == INTERRUPTED:
        # Python remembers an interruption that came while it ran generated code, as `dataclass`
        # does, and would end by a signal instead of with this status.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # of a terminal that was closed
                stream.flush()
        _remove_temporary_folder()
        os._exit(status)
    gc.freeze()  # else Python looks for garbage as it ends: 0.3 s, where Numba was imported
    sys.exit(status)


if __name__ == "__main__":
    run()
