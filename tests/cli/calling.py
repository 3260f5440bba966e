"""Calls of the command: in this process, or in one of its own as a shell makes them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
from referencing import Registry, Resource

import myriad
from myriad.cli.main import VERBS
from tests.cli.schemas import load_schema
from tests.commands import run_command
from tests.signals import interruptible_python

TOY = str(Path(__file__).with_name("toy.py"))
REAL = "myriad.cli.main"
SMALL = ["--components", "8", "--regions", "1", "--step", "8", "--epochs", "10"]
"""Options of ``train`` that make it quick."""


def call(capsys, *words, status=0):
    capsys.readouterr()
    assert run_command([str(word) for word in words]) == status
    return capsys.readouterr()


def call_json(capsys, verb, *words, status=0):
    shown = call(capsys, verb, *words, "--json", "--quiet", status=status)
    found = json.loads(shown.out)
    schemas = [(f"urn:myriad:{name}", load_schema(name)) for name in [*VERBS, "error"]]
    registry = Registry().with_resources(
        [(name, Resource.from_contents(schema)) for name, schema in schemas]
    )
    schema = load_schema(verb if status == 0 else "error")
    jsonschema.Draft202012Validator(schema, registry=registry).validate(found)
    return found


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a plain shell in which myriad can be imported."""
    kept = {name: value for name, value in os.environ.items() if name != "MYRIAD_DEBUG"}
    paths = [str(Path(folder).parent) for folder in myriad.__path__]
    paths += [kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else []
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "80"} | more


def call_toy(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOY, *arguments],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def start_toy(*arguments: str, **streams: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        interruptible_python(TOY, *arguments),
        env=environment(),
        text=True,
        stdin=subprocess.DEVNULL,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )
