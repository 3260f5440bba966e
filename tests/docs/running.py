"""Run a page of the documentation in a folder: its commands and its Python, in their order."""

import contextlib
import io
import os
import shlex
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.commands import run_command
from tests.docs.pages import Block, read_commands

SHELL = set("|<>&;*?$`(){}[]~#")


@dataclass
class Ended:
    """How a command ended, and what it printed."""

    status: int
    out: list[str]
    err: list[str]

    @property
    def lines(self) -> list[str]:
        """What a page shows: the result, or the sentence that says what went wrong."""
        return [*self.out, *(line for line in self.err if line.startswith("Error: "))]


class Reader:
    """A reader who types what a page says, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.status = 0

    def run_console(self, block: Block) -> list[tuple[str, list[str], Ended]]:
        """Run the commands of a block; return each with what the page shows and what it did."""
        commands = read_commands(block)
        results = []
        for command, following in zip(commands, [*commands[1:], None], strict=True):
            ended = self.run(command.text)
            stated = following is not None and following.text == "echo $?"
            assert stated or ended.status == 0, f"$ {command.text}\n" + "\n".join(ended.err)
            results.append((command.text, command.shown, ended))
        return results

    def run_python(self, block: Block) -> list[str]:
        """Run a block of Python; return the lines that it prints."""
        out = io.StringIO()
        source = compile("\n".join(block.lines), "<page>", "exec")
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            exec(source, self.names)
        return out.getvalue().splitlines()

    def run(self, text: str) -> Ended:
        """Run one line as a shell would."""
        first, _, rest = text.partition(" | ")
        if first.startswith("myriad ") and not SHELL & set(first):
            ended = self._run_myriad(shlex.split(first)[1:])
            if rest and ended.status == 0:
                ended = self._run_shell(rest, "\n".join([*ended.out, ""]))
        else:
            ended = self._run_shell(text, "")
        self.status = ended.status
        return ended

    def _run_myriad(self, arguments: list[str]) -> Ended:
        """Run myriad in this process: starting Python anew for each command takes too long."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # as the command itself does
            status = run_command(arguments)
        return Ended(status, out.getvalue().splitlines(), err.getvalue().splitlines())

    def _run_shell(self, text: str, given: str) -> Ended:
        search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        ended = subprocess.run(
            ["bash", "-c", f"(exit {self.status}); {text}"],
            cwd=self.folder,
            env=os.environ | {"PATH": search},
            input=given,
            capture_output=True,
            text=True,
            timeout=600,
        )
        return Ended(ended.returncode, ended.stdout.splitlines(), ended.stderr.splitlines())
