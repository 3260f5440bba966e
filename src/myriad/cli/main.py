"""The command ``myriad``: its verbs, one file each, and its entry point.

A new verb is one file beside this one and one line in `PANELS`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer

from myriad.cli.check import check
from myriad.cli.compare import compare
from myriad.cli.compress import compress
from myriad.cli.demo import demo
from myriad.cli.evaluate import evaluate
from myriad.cli.execution import INTERRUPTED, execute
from myriad.cli.explain import explain
from myriad.cli.export import export
from myriad.cli.extend import extend
from myriad.cli.extract import extract
from myriad.cli.forget import forget
from myriad.cli.import_ import import_
from myriad.cli.info import info
from myriad.cli.merge import merge
from myriad.cli.plan import plan
from myriad.cli.predict import predict
from myriad.cli.report import report
from myriad.cli.serve import serve
from myriad.cli.train import train
from myriad.cli.tune import tune

PANELS: dict[str, dict[str, Callable[..., Any]]] = {
    "Train and use a model": {
        "demo": demo,
        "check": check,
        "train": train,
        "predict": predict,
        "evaluate": evaluate,
        "explain": explain,
        "serve": serve,
    },
    "Change a model": {"extend": extend, "forget": forget, "merge": merge},
    "Stores of rows": {
        "extract": extract,
        "import": import_,
        "compress": compress,
        "export": export,
    },
    "Experiments": {"tune": tune, "compare": compare, "report": report, "plan": plan},
    "Help": {"info": info},
}
"""The verbs, in the panels of ``myriad --help``."""
VERBS = {name: verb for verbs in PANELS.values() for name, verb in verbs.items()}

COMPLETING = "_MYRIAD_COMPLETE"
"""Environment variable by which a shell asks for completions instead of running a verb."""

app = typer.Typer(
    name="myriad",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"myriad {version('myriad-learn')}")
        raise typer.Exit


@app.callback()
def myriad(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Classify images into thousands of classes with linear models, on ordinary machines."""


for _panel, _verbs in PANELS.items():
    for _name, _verb in _verbs.items():
        app.command(_name, rich_help_panel=_panel)(_verb)


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
        app(prog_name="myriad")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a label the locale cannot write
    status = execute(app, sys.argv[1:])
    if status == INTERRUPTED:
        # Python remembers an interruption that came while it ran generated code, as `dataclass`
        # does, and would end by a signal instead of with this status.
        sys.stdout.flush()
        sys.stderr.flush()
        _remove_temporary_folder()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    run()
